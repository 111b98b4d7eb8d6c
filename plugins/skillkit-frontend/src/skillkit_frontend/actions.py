"""An action of a skill that a person typed: its arguments as its schema wants them, and the call that runs it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import (
    ActionArg,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    LLMAdapter,
    LLMRequest,
    Outcome,
    SkillAction,
    StopReason,
    StreamEvent,
    TokenUsage,
    ToolResultMessage,
    UnknownName,
    UsageError,
)
from skillkit_core.errors import close_matches
from skillkit_core.host.json_schema import validate
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["DirectCall", "TypedByAPerson", "action_named", "parse_action_args", "tool_of_action", "usage_line"]

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def usage_line(skill: str, action: SkillAction) -> str:
    """How to call the action: ``skillkit run --skill S ACTION FILE [--column VALUE]``."""
    positional = sorted((a for a in action.args if a.position is not None), key=lambda a: a.position or 0)
    words = [f"<{a.name}>" if a.required else f"[<{a.name}>]" for a in positional if not a.secret]
    for arg in action.args:
        if arg.position is None and not arg.secret:
            flag = f"--{arg.name.replace('_', '-')}"
            shown = flag if arg.type == "boolean" else f"{flag} <{arg.type}>"
            words.append(shown if arg.required else f"[{shown}]")
    return " ".join([as_typed("skillkit run --skill"), skill, action.name, *words])


def _convert(arg: ActionArg, text: str, where: str) -> Any:
    def wrong(what: str) -> UsageError:
        return UsageError(f"argument {arg.name!r} must be {what}, not {text!r}", where=where)

    if arg.type == "integer":
        try:
            return int(text)
        except ValueError:
            raise wrong("a whole number") from None
    if arg.type == "number":
        try:
            number = float(text)
        except ValueError:
            raise wrong("a number") from None
        if number != number or number in (float("inf"), float("-inf")):
            raise wrong("a finite number")
        return number
    if arg.type == "boolean":
        if text.casefold() in _TRUE:
            return True
        if text.casefold() in _FALSE:
            return False
        raise wrong("true or false")
    if arg.type == "json":
        try:
            return json.loads(text)
        except ValueError as error:
            raise wrong(f"JSON ({error})") from None
    return text


def parse_action_args(skill: str, action: SkillAction, words: Sequence[str]) -> dict[str, Any]:
    """The arguments in ``words``: positional ones in order, ``--name VALUE``, ``--name=VALUE``, bare ``--flag``.

    Underscores and hyphens in names are the same. After ``--`` everything is positional.

    Raises:
        UsageError: an argument is unknown, missing, given twice, or does not fit; says how to call the action.
    """
    where = f"action {skill} {action.name}"
    by_flag = {a.name.replace("_", "-"): a for a in action.args} | {
        a.flag.lstrip("-"): a for a in action.args if a.flag
    }
    positional = sorted((a for a in action.args if a.position is not None), key=lambda a: a.position or 0)
    values: dict[str, Any] = {}
    rest: list[str] = []
    queue = list(words)
    only_positional = False
    while queue:
        word = queue.pop(0)
        if word == "--" and not only_positional:
            only_positional = True
        elif word.startswith("--") and not only_positional:
            name, sep, value = word[2:].partition("=")
            arg = by_flag.get(name.replace("_", "-"))
            if arg is None:
                close = close_matches(name, by_flag, 2)
                hint = f"did you mean --{close[0]}?" if close else usage_line(skill, action)
                raise UsageError(f"unknown argument --{name}", where=where, hint=hint)
            if arg.secret:
                hint = f"set the variable {arg.name.upper()}, or leave --{name} out and be asked"
                raise UsageError(
                    f"--{name} is a secret, which everybody could read on a command line", where=where, hint=hint
                )
            if not sep:
                if arg.type == "boolean" and (not queue or queue[0].casefold() not in _TRUE | _FALSE):
                    value = "true"
                elif queue:
                    value = queue.pop(0)
                else:
                    raise UsageError(f"--{name} needs a value", where=where, hint=usage_line(skill, action))
            _put(values, arg, _convert(arg, value, where), where)
        else:
            rest.append(word)
    # a secret comes from its variable, the keyring or a prompt: on a command line everybody could read it
    free = [a for a in positional if a.name not in values and not a.secret] or [
        a for a in action.args if a.name not in values and a.required and not a.secret
    ]
    for i, word in enumerate(rest):
        if i < len(free):
            _put(values, free[i], _convert(free[i], word, where), where)
        elif free and free[-1].type == "array":
            values[free[-1].name].append(word)
        else:
            raise UsageError(f"one argument too many: {word!r}", where=where, hint=usage_line(skill, action))
    missing = [a.name for a in action.args if a.required and a.name not in values and not a.secret]
    if missing:
        raise UsageError(f"argument {missing[0]!r} is missing", where=where, hint=usage_line(skill, action))
    for arg in action.args:
        if arg.name in values:
            _check(arg, values[arg.name], where)
    return values


def _check(arg: ActionArg, value: Any, where: str) -> None:
    """Refuse here, in the user's words, what the tool of the action would refuse in a run."""
    problem = validate(arg.schema(), value)
    if problem is not None:
        close = close_matches(str(value), map(str, arg.enum), 1)
        hint = f"did you mean {close[0]!r}?" if close else None
        raise UsageError(f"argument {arg.name!r} {problem}", where=where, hint=hint)


def _put(values: dict[str, Any], arg: ActionArg, value: Any, where: str) -> None:
    if arg.type == "array":
        values.setdefault(arg.name, []).append(value)
    elif arg.name in values:
        raise UsageError(f"argument {arg.name!r} is given twice", where=where)
    else:
        values[arg.name] = value


def action_named(host: Host, skill_name: str | None, words: Sequence[str]) -> SkillAction | None:
    """Return the action of a skill that the first word names; ``None``: no skill is named, or the words are a request.

    Raises:
        UsageError: there is no such skill or action.
    """
    if skill_name is None:
        return None
    if skill_name not in host.skills:
        raise host.skills.unknown(skill_name)
    skill = host.skills.get(skill_name)
    first = words[0] if words else None
    names = [a.name for a in skill.actions if a.user_callable]
    if first is None:
        listed = ", ".join(names) or "none"
        raise UsageError(f"skill {skill.name!r} needs an action or a request", hint=f"its actions: {listed}")
    if " " in first.strip():
        return None  # a request in quotes
    action = skill.action(first)
    if action is None or not action.user_callable:
        hint = UnknownName("action", first, names).hint
        raise UsageError(f"skill {skill.name!r} has no action {first!r}", hint=hint)
    return action


def tool_of_action(agent: AgentRunner, skill: str, action: str) -> str:
    """Return the name of the tool that an action of a skill is.

    Raises:
        UsageError: the action cannot run here.
    """
    for tool in agent.tools:
        if tool.annotations.get("skill") == skill and tool.annotations.get("action") == action:
            return tool.name
    raise UsageError(
        f"action {action!r} of skill {skill!r} cannot run here", hint=f"'skillkit skills show {skill}' says why"
    )


class DirectCall(LLMAdapter):
    """Calls one tool with the given arguments and repeats its result as the answer.

    The call passes the same guards, runtime, events and session log as one that a model makes.
    """

    api = "direct"
    provider = "direct"

    def __init__(self, tool_name: str, args: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._args = dict(args)

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """First the call, then its result."""
        last = request.messages[-1] if request.messages else None
        if isinstance(last, ToolResultMessage):
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", _answer(last), index=0)
            yield StreamEvent("text_end", index=0)
            stop = StopReason.stop if last.outcome is Outcome.ok else StopReason.refusal
            yield StreamEvent("done", usage=TokenUsage(), stop_reason=stop)
            return
        name, call_id = self._tool_name, f"direct_{len(request.messages)}"
        yield StreamEvent("tool_call_start", index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("tool_call_delta", json.dumps(self._args), index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("tool_call_end", index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("done", usage=TokenUsage(), stop_reason=StopReason.tool_calls)


class TypedByAPerson(Approver):
    """Agrees to the one action that a person typed with its arguments: typing it was the answer. Nothing else."""

    def __init__(self) -> None:
        self.tool_name: str | None = None  # set once the tool of the action is known

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Allow that call, deny any other."""
        if request.tool_name == self.tool_name:
            return ApprovalDecision("allow", "typed by a person")
        return ApprovalDecision("deny", "nobody can be asked")


def _answer(result: ToolResultMessage) -> str:
    """What a person wants to read of a result: the action's own answer where it gives one, else the text."""
    details = result.details
    answer = details.get("answer") if isinstance(details, Mapping) and not result.is_error else None
    return answer if isinstance(answer, str) else result.text
