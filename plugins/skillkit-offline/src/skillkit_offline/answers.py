"""Answers: what the user reads when nothing ran, and what of a result is the answer."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit_core.messages import ToolResultMessage
from skillkit_core.tools import Tool

from .choice import Choice, Verdict
from .descriptors import action_of, arguments_of, examples_of, is_action, label, skill_of
from .request import visible

__all__ = ["answer_of", "refusal_of"]

_MOST_LISTED = 8


def refusal_of(choice: Choice, tools: Sequence[Tool]) -> str:
    """Why nothing ran, and what to say instead."""
    if choice.verdict is Verdict.incomplete:
        return _incomplete(choice)
    if choice.verdict is Verdict.several:
        lines = [
            "Offline, one request at a time is understood; this one asks for several, so nothing ran. Ask for each alone:"
        ]
        return "\n".join([*lines, *_listed([c.tool for c in choice.candidates])])
    if choice.verdict is Verdict.tie:
        lines = ["Several skills fit this request alike, so nothing ran. Say which one, or use one of its own words:"]
        return "\n".join([*lines, *_listed([c.tool for c in choice.candidates])])
    against = next((c.against for c in choice.candidates if c.against), "")
    first = "No skill fits this request, so nothing ran" + (f" ({visible(against)})." if against else ".")
    actions = [t for t in tools if is_action(t)]
    if not actions:
        return f"{first} No skill with a deterministic action is installed (`skillkit skills list`)."
    near = [c.tool for c in choice.candidates]
    heading = "The nearest are:" if near else "Offline, these can be asked for:"
    more = "Offline, skills are chosen by their words; a model (`--model`, `--provider`) understands more."
    return "\n".join([first, heading, *_listed(near or _one_per_skill(actions)), more])


def _one_per_skill(actions: Sequence[Tool]) -> list[Tool]:
    first: dict[str, Tool] = {}
    for tool in actions:
        first.setdefault(skill_of(tool), tool)
    return list(first.values())


def _listed(tools: Sequence[Tool]) -> list[str]:
    lines = []
    for tool in tools[:_MOST_LISTED]:
        lines.append(f"  {visible(label(tool))}: {_purpose(tool)}")
        examples = examples_of(tool)
        if examples:
            lines.append(f"    for example: {visible(examples[0])}")
    if len(tools) > _MOST_LISTED:
        lines.append(f"  and {len(tools) - _MOST_LISTED} more: skillkit skills list")
    return lines


def _purpose(tool: Tool) -> str:
    """The first sentence of what the action does."""
    return visible(tool.description.split(". ")[0].strip().rstrip("."), 160) or "(no description)"


def _incomplete(choice: Choice) -> str:
    assert choice.candidate is not None and choice.filled is not None
    tool, filled = choice.candidate.tool, choice.filled
    name = visible(label(tool))
    lines = [f"{name} fits, but did not run: {problem}" for problem in filled.problems]
    described = {a.name: a.description for a in arguments_of(tool)}
    for missing in filled.missing:
        what = visible(described.get(missing, ""), 100)
        lines.append(
            f"{name} fits, but did not run: the request does not state {missing}" + (f" ({what})" if what else "")
        )
    if filled.missing:
        lines.append(f"State it in the request, or run: {_command(tool, filled.args, filled.missing)}")
    return "\n".join(lines)


def _command(tool: Tool, args: Mapping[str, Any], missing: Sequence[str]) -> str:
    words = ["skillkit", "run", "--skill", skill_of(tool), action_of(tool)]
    given = {a.name: args[a.name] for a in arguments_of(tool) if a.name in args and not a.whole}
    for name, value in given.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        words += [f"--{name}"] if value is True else [f"--{name}", shown]
    line = " ".join(shlex.quote(visible(word, 200)) for word in words)
    return " ".join([line, *(f"--{visible(name, 64)} {name.upper().replace('-', '_')}" for name in missing)])


def answer_of(results: Sequence[ToolResultMessage]) -> str:
    """What the results say to a person, in order; structured data behind an answer is left to programs."""
    return "\n\n".join(part for part in map(_answer, results) if part)


def _answer(result: ToolResultMessage) -> str:
    text = result.text.strip()
    details = result.details
    if not result.is_error and isinstance(details, Mapping) and isinstance(details.get("answer"), str):
        return str(details["answer"])
    if result.is_error:
        return text or "the action failed and said nothing"
    whole = _object(text)
    if whole is not None:
        return str(whole["answer"]) if isinstance(whole.get("answer"), str) else text
    place = text.find("\n{")
    while place >= 0:
        data = _object(text[place:])
        if data is not None:
            before = text[:place].rstrip()
            answer = data.get("answer")
            before = before.removeprefix("answer:").lstrip()
            return before or (answer if isinstance(answer, str) else text)
        place = text.find("\n{", place + 1)
    return text


def _object(text: str) -> Mapping[str, Any] | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
