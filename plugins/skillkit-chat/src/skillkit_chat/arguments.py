"""Arguments of an action as they are typed on a command line, turned into the values that its schema wants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from skillkit_core import ActionArg, SkillAction, UsageError
from skillkit_core.errors import close_matches
from skillkit_core.host.json_schema import validate
from skillkit_core.program import as_typed

__all__ = ["parse_action_args", "usage_line"]

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
