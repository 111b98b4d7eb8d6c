"""What one handler says: exit status, stdout and stderr, read as the documents of the other hosts say, and closed for guards."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .definitions import Hook
from .events import ABOUT, About

__all__ = ["LONGEST", "UNSAID", "Answer", "Decision", "Ended", "failed", "read_answer", "tidy"]

Decision = Literal["none", "allow", "ask", "deny"]
LONGEST = 10_000
"""Characters of a text that reach a person or a model."""
UNSAID: Any = object()
_BLOCKS = 2  # exit status
_ODD = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b.?|[\x00-\x08\x0b-\x1f\x7f-\x9f]",
    re.S,
)
_PRE: Mapping[str, Decision] = {"allow": "allow", "deny": "deny", "ask": "ask", "defer": "ask"}
_OLD: Mapping[str, Decision] = {"approve": "allow", "allow": "allow", "block": "deny", "deny": "deny", "ask": "ask"}


class Nonsense(ValueError):
    """An answer that does not fit its schema; the text says how."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a handler ended that answers by text.

    Attributes:
        code: exit status; ``None``: it did not end by itself.
        problem: why it gave no answer; empty: it did.
    """

    code: int | None = 0
    stdout: str = ""
    stderr: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one handler says.

    Attributes:
        decision: ``deny`` also stands for ``block``.
        reason: why.
        input: the input that it wants instead; ``UNSAID``: it wants none.
        output: the output of the tool that it wants instead; ``UNSAID``: it wants none.
        context: texts for the model.
        messages: texts for the person.
        stop: the run ends, for this reason; ``None``: it goes on.
        failure: why the handler failed; empty: it did not.
        seconds: what it took.
    """

    decision: Decision = "none"
    reason: str = ""
    input: Any = UNSAID
    output: Any = UNSAID
    context: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    stop: str | None = None
    failure: str = ""
    hook: Hook | None = field(default=None, compare=False)
    seconds: float = field(default=0.0, compare=False)


def tidy(text: str, most: int = LONGEST) -> str:
    """Return a text without control characters and escape sequences, cut where it is long."""
    text = _ODD.sub("", text.encode("utf-8", "replace").decode("utf-8")).strip()
    return text if len(text) <= most else f"{text[: most - 40].rstrip()} ... ({len(text):,} characters)"


def failed(hook: Hook, why: str, *, closed: bool) -> Answer:
    """Return the answer of a handler that failed: a guard denies, what observes is reported. A Stop hook never traps."""
    about = ABOUT.get(hook.event, About())
    why = tidy(why, 1000)
    wanted = hook.blocks_on_failure and about.blocks and hook.event not in ("Stop", "SubagentStop")
    wanted = wanted or hook.event == "WorktreeCreate"  # which makes what it is about
    if wanted or (closed and about.guard):
        return Answer("deny", f"{hook.label} failed, so it is blocked: {why}", failure=why, hook=hook)
    return Answer(failure=why, hook=hook)


def read_answer(hook: Hook, ended: Ended, *, closed: bool = True, tool: str = "") -> Answer:
    """Return what a handler says.

    Exit status 2 blocks what can be blocked, whatever the JSON on stdout says. JSON counts on every other status, too; where a
    guard ended with such a status only its ``deny`` does.

    Args:
        closed: a guard whose answer cannot be understood, or that failed, denies.
        tool: name of the tool that the event is about.
    """
    about = ABOUT.get(hook.event, About())
    if ended.problem:
        return failed(hook, ended.problem, closed=closed)
    try:
        said = _said(hook, ended.stdout, tool)
        problem = ""
    except Nonsense as error:
        said, problem = None, str(error)
    if ended.code == _BLOCKS:
        return _blocked(hook, about, said or Answer(hook=hook), ended)
    if problem:
        end = f" (exit status {ended.code})" if ended.code else ""
        return failed(hook, f"it answered nonsense{end}: {problem}", closed=closed)
    if ended.code == 0:
        return said or _text(hook, about, ended.stdout)
    how = f"it ended with status {ended.code}" if ended.code is not None and ended.code > 0 else "it was killed"
    how = f"{how}: {tidy(ended.stderr, 500)}" if ended.stderr.strip() else how
    if said is None:
        return failed(hook, how, closed=closed)
    guards = closed and about.guard
    if said.decision == "deny" or not (guards or (hook.event == "PermissionRequest" and closed)):
        return said
    lost = failed(hook, how, closed=closed)
    return replace(lost, context=said.context, messages=said.messages, stop=said.stop)


def _blocked(hook: Hook, about: About, said: Answer, ended: Ended) -> Answer:
    """Return the answer of a handler that ended with status 2."""
    stderr = tidy(ended.stderr)
    said = replace(said, input=UNSAID, output=UNSAID)
    if about.blocks:
        mine = said.reason if said.decision == "deny" else ""
        return replace(said, decision="deny", reason=mine or stderr or f"{hook.label} blocks it")
    said = replace(said, decision="none" if said.decision in ("allow", "ask") else said.decision)
    if about.tells == "model":
        return replace(said, context=(*said.context, stderr)) if stderr else said
    if hook.event == "PermissionRequest":
        return replace(said, failure=stderr or "it ended with status 2, which answers no question")
    return replace(said, messages=(*said.messages, stderr)) if stderr else said


def _text(hook: Hook, about: About, stdout: str) -> Answer:
    text = tidy(stdout)
    return Answer(context=(text,) if about.text and text else (), hook=hook)


def _said(hook: Hook, stdout: str, tool: str) -> Answer | None:
    """Return what JSON on stdout says; ``None``: stdout is plain text.

    Raises:
        Nonsense: it begins as an object and is none, or a field does not fit.
    """
    text = stdout.lstrip("\ufeff \t\r\n")
    if not text.startswith("{"):
        return None
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Nonsense(f"stdout begins with {{ and is no JSON object ({error})") from None
    return _fields(hook, data, tool)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _fields(hook: Hook, data: Mapping[str, Any], tool: str) -> Answer:
    goes_on = data.get("continue", True)
    if not isinstance(goes_on, bool):
        raise Nonsense("continue is neither true nor false")
    message = _string(data, "systemMessage")
    answer = Answer(
        reason=_string(data, "reason"),
        messages=(message,) if message else (),
        stop=None if goes_on else _string(data, "stopReason") or f"{hook.label} ends the run",
        hook=hook,
    )
    inner = data.get("hookSpecificOutput", {})
    if not isinstance(inner, Mapping):
        raise Nonsense("hookSpecificOutput is no object")
    if inner and inner.get("hookEventName") != hook.event:
        named = inner.get("hookEventName")
        raise Nonsense(f"hookSpecificOutput.hookEventName is {str(named)[:60]!r} instead of {hook.event!r}")
    if hook.dialect == "copilot":
        inner = {**_flat(hook, data), **inner}
    if not tool.startswith("mcp__"):
        inner = {key: value for key, value in inner.items() if key != "updatedMCPToolOutput"}
    context = _string(inner, "additionalContext")
    answer = replace(answer, context=(context,) if context else ())
    return _READERS.get(hook.event, _plain)(hook, answer, data, inner)


def _flat(hook: Hook, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of Copilot's flat form under the names of Claude Code."""
    names = {
        "permissionDecision": "permissionDecision", "permissionDecisionReason": "permissionDecisionReason",
        "modifiedArgs": "updatedInput", "modifiedResult": "updatedToolOutput", "additionalContext": "additionalContext",
    }  # fmt: skip
    return {ours: data[theirs] for theirs, ours in names.items() if theirs in data}


def _before(hook: Hook, answer: Answer, data: Mapping[str, Any], inner: Mapping[str, Any]) -> Answer:
    old = _word(data, "decision", _OLD)
    new = _word(inner, "permissionDecision", _PRE)
    decision: Decision = "deny" if old == "deny" else new or old or "none"
    reason = _string(inner, "permissionDecisionReason") or answer.reason
    if decision == "deny" and not reason:
        reason = f"{hook.label} denies it"
    return replace(answer, decision=decision, reason=reason, input=_object(inner, "updatedInput"))


def _asked(hook: Hook, answer: Answer, data: Mapping[str, Any], inner: Mapping[str, Any]) -> Answer:
    decided = inner.get("decision")
    if decided is None:
        return answer
    if not isinstance(decided, Mapping):
        raise Nonsense("decision is no object")
    behaviour = _word(decided, "behavior", {"allow": "allow", "deny": "deny"})
    reason = _string(decided, "message") or answer.reason
    if behaviour == "deny":
        stop = reason or f"{hook.label} ends the run" if decided.get("interrupt") is True else answer.stop
        return replace(answer, decision="deny", reason=reason or f"{hook.label} denies it", stop=stop)
    # updatedPermissions would lift the guards for good, which no hook does
    return replace(answer, decision=behaviour or "none", reason=reason, input=_object(decided, "updatedInput"))


def _after(hook: Hook, answer: Answer, data: Mapping[str, Any], inner: Mapping[str, Any]) -> Answer:
    output = inner.get("updatedToolOutput", inner.get("updatedMCPToolOutput", UNSAID))
    blocked = _word(data, "decision", {"block": "deny"})
    reason = answer.reason or (f"{hook.label} objects" if blocked else "")
    context = (*answer.context, reason) if blocked else answer.context
    return replace(answer, decision=blocked or "none", reason=reason, output=output, context=context)


def _plain(hook: Hook, answer: Answer, data: Mapping[str, Any], inner: Mapping[str, Any]) -> Answer:
    if not ABOUT.get(hook.event, About()).blocks:
        return answer
    blocked = _word(data, "decision", {"block": "deny"})
    if blocked is None:
        return answer
    if hook.event in ("Stop", "SubagentStop") and not answer.reason:
        raise Nonsense("decision is block, and there is no reason")
    return replace(answer, decision="deny", reason=answer.reason or f"{hook.label} blocks it")


_READERS = {
    "PreToolUse": _before,
    "PermissionRequest": _asked,
    "PostToolUse": _after,
    "PostToolUseFailure": _after,
}


def _string(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise Nonsense(f"{name} is no text")
    return tidy(value or "")


def _word(data: Mapping[str, Any], name: str, words: Mapping[str, Decision]) -> Decision | None:
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or value not in words:
        raise Nonsense(f"{name} is {str(value)[:60]!r}; it is one of {', '.join(words)}")
    return words[value]


def _object(data: Mapping[str, Any], name: str) -> Any:
    value = data.get(name, UNSAID)
    if value is None:
        return UNSAID
    if value is not UNSAID and not isinstance(value, Mapping):
        raise Nonsense(f"{name} is no object")
    return value
