"""Answers: what the user reads when nothing ran, and what of a result is the answer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit_core.messages import ToolResultMessage
from skillkit_core.program import as_typed
from skillkit_core.tools import Tool

from .choice import Choice, Verdict, choose
from .descriptors import action_of, arguments_of, examples_of, is_action, label, skill_of
from .request import visible

__all__ = ["answer_of", "refusal_of"]

_MOST_LISTED = 8


def refusal_of(choice: Choice, tools: Sequence[Tool]) -> str:
    """Why nothing ran, and what to say instead."""
    if choice.verdict is Verdict.incomplete:
        return _incomplete(choice)
    if choice.verdict is Verdict.tie:
        first = "Several skills fit this request alike, so nothing ran. Say which one, or use one of its own words:"
        return "\n".join([first, *_listed([c.tool for c in choice.candidates], tools)]).rstrip()
    first = f"No skill fits this request, so nothing ran{_not_understood(choice)}."
    actions = [t for t in tools if is_action(t)]
    if not actions:
        return f"{first} No skill with a deterministic action is installed (`{as_typed('skillkit skills list')}`)."
    near = [c.tool for c in choice.candidates]
    heading = "The nearest are:" if near else "Offline, these can be asked for:"
    shown = near or list({skill_of(t): t for t in reversed(actions)}.values())[::-1]  # the first of each skill
    more = "Offline, skills are chosen by their words; a model (`--model`, `--provider`) understands more."
    return "\n".join([first, heading, *_listed(shown, tools), more])


def _not_understood(choice: Choice) -> str:
    """The words that were not understood, and by which action."""
    words = ", ".join(f'"{visible(word, 40)}"' for word in dict.fromkeys(choice.unused[:_MOST_LISTED]))
    by = f" by {visible(label(choice.candidate.tool))}" if choice.candidate else ""
    return f": not understood{by}: {words}" if words else ""


def _listed(tools: Sequence[Tool], among: Sequence[Tool]) -> list[str]:
    """Return a list that reads as well as Markdown, which a conversation shows. ``among``: all that can be called."""
    lines = [""]
    for tool in tools[:_MOST_LISTED]:
        purpose = visible(tool.description.split(". ")[0].strip().rstrip("."), 160) or "(no description)"
        lines.append(f"- {visible(label(tool))}: {purpose}.")
        lines += [f"  For example: {visible(example)}" for example in _example(tool, among)]
    if len(tools) > _MOST_LISTED:
        lines.append(f"- and {len(tools) - _MOST_LISTED} more: {as_typed('skillkit skills list')}")
    return [*lines, ""]


def _example(tool: Tool, among: Sequence[Tool]) -> list[str]:
    """Return an example of the skill that this action answers; none where other actions answer them all."""
    for example in examples_of(tool):
        choice = choose(example, among)
        if choice.verdict is Verdict.run and choice.candidate is not None and choice.candidate.tool is tool:
            return [example]
    return []


def _incomplete(choice: Choice) -> str:
    assert choice.candidate is not None and choice.filled is not None
    tool, filled, given = choice.candidate.tool, choice.filled, choice.filled.args
    name = visible(label(tool))
    lines = [f"{name} fits, but did not run: {problem}" for problem in filled.problems]
    described = {a.name: a.description for a in arguments_of(tool)}
    for missing in filled.missing:
        what = visible(described.get(missing, ""), 100)
        why = f" ({what})" if what else ""
        lines.append(f"{name} fits, but did not run: the request does not state {missing}{why}")
    if filled.missing:
        texts = [a.name for a in arguments_of(tool) if a.type == "string" and a.fill != "request"]
        lines[-1] += "".join(f', where "{visible(str(given[n]), 80)}" would be looked up' for n in texts if n in given)
        lines.append(f"State it in the request, or run: {_command(tool, filled.args, filled.missing)}")
    return "\n".join(lines)


def _command(tool: Tool, args: Mapping[str, Any], missing: Sequence[str]) -> str:
    words = ["skillkit", "run", "--skill", skill_of(tool), action_of(tool)]
    given = {a.name: args[a.name] for a in arguments_of(tool) if a.name in args and a.fill != "request"}
    for name, value in given.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        words += [f"--{name}"] if value is True else [f"--{name}", shown]
    line = " ".join(shlex.quote(visible(word, 200)) for word in words)
    return " ".join([line, *(f"--{visible(name, 64)} {name.upper().replace('-', '_')}" for name in missing)])


def answer_of(results: Sequence[ToolResultMessage]) -> str:
    """What the results say to a person, in order; structured data behind an answer is left to programs.

    Of joined requests all are answered or none: where one failed, only what failed is said.
    """
    said = [r for r in results if r.is_error] or results
    return "\n\n".join(part for part in map(_answer, said) if part)


def _answer(result: ToolResultMessage) -> str:
    text, details = result.text.strip(), result.details
    if result.is_error:
        return text or "the action failed and said nothing"
    if isinstance(details, Mapping) and isinstance(details.get("answer"), str):
        return str(details["answer"])
    for place in (0, *(found.start() + 1 for found in re.finditer(r"\n(?=\{)", text))):
        data = _object(text[place:])
        if data is not None:
            answer = data.get("answer")
            before = text[:place].rstrip().removeprefix("answer:").lstrip()
            return before or (answer if isinstance(answer, str) else text)
    return text


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text) if text.startswith("{") and text.endswith("}") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
