"""What steps hand on to those that need them: declared values, names, where they come from, and what is too long."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from skillkit_core.frozen import thaw
from skillkit_core.host.json_schema import validate

from .models import PlanStep

__all__ = ["asked", "context_for", "fenced", "read", "shortened"]

_FENCE = re.compile(r"\n*```(?:json)?[ \t]*\n(\{.*?\})\s*\n?```\s*\Z", re.S)


# --- values that a step leaves, by the schema that its skill declares ---------------------------------------------------


def asked(query: str, schemas: Mapping[str, Any]) -> str:
    """Return the words of a step with the values that its skill declares, which the answer is to end with."""
    if not schemas:
        return query
    shape = json.dumps({"type": "object", "properties": thaw(schemas)}, ensure_ascii=False)
    return f"{query}\n\nEnd the answer with one JSON object in a fenced block, which has these values: {shape}"


def read(text: str, schemas: Mapping[str, Any]) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Return the text without the object at its end, the values that fit their schemas, and what is wrong with others."""
    found = _FENCE.search(text)
    body = found[1] if found else text.strip()
    try:
        given = json.loads(body)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not (given.keys() & schemas.keys()):
        return text, {}, tuple(f"{name} is missing" for name in schemas)
    values, wrong = {}, []
    for name, schema in schemas.items():
        if name not in given:
            wrong.append(f"{name} is missing")
        elif (problem := _problem(schema, given[name])) is not None:
            wrong.append(f"{name}: {problem}")
        else:
            values[name] = given[name]
    return (text[: found.start()].rstrip() if found else text), values, tuple(wrong)


def _problem(schema: Any, value: Any) -> str | None:
    """Return what is wrong with a value; a schema that is no mapping allows everything."""
    if not isinstance(schema, Mapping):
        return None
    return validate({"type": "object", "properties": {"value": schema}}, {"value": value})


# --- what a step gets ---------------------------------------------------------------------------------------------------


def context_for(step: PlanStep, results: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values that a step gets: ``prior_step_1_response`` always, ``step_1_KEY`` for each key that it names.

    Args:
        step: the step.
        results: what the steps that it depends on have left, by their number: ``response_text`` and further values.
    """
    found: dict[str, Any] = {}
    for one in dict.fromkeys(step.depends_on):
        result = results.get(one, {})
        for key in step.context_keys:
            if key in result:
                found[f"step_{one}_{key}"] = result[key]
        found[f"prior_step_{one}_response"] = result.get("response_text", "")
    return found


def fenced(
    step: PlanStep,
    results: Mapping[int, Mapping[str, Any]],
    mark: Callable[..., str],
    *,
    chars: int,
    keep: Callable[[str], str],
) -> tuple[str, bool]:
    """Return what a step gets as marked text for a model, and whether something of it was shortened.

    Args:
        step: the step.
        results: as for :func:`context_for`.
        mark: ``(source, text, *, step) -> text`` marks a text as data.
        chars: most characters of one value.
        keep: keeps a long text, and returns the handle by which it is read.
    """
    parts, cut = [], False
    for number, name, value in _values(step, results):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
        if len(text) > chars:
            text, cut = shortened(text, chars, keep(text)), True
        source = str(results[number].get("skill_name") or "")
        parts.append(mark(f"{name} of {source}" if source else name, text, step=str(number)))
    return "\n\n".join(parts), cut


def _values(step: PlanStep, results: Mapping[int, Mapping[str, Any]]) -> Iterator[tuple[int, str, Any]]:
    for one in dict.fromkeys(step.depends_on):
        alone = step.model_copy(update={"depends_on": (one,)})
        yield from ((one, name, value) for name, value in context_for(alone, results).items())


def shortened(text: str, chars: int, handle: str) -> str:
    """Return the beginning and the end of a long text, with what is left out said, and the handle of the whole."""
    note = f"[Shortened: {chars:,} of {len(text):,} characters. get_step_output_tool reads the whole by its handle {handle}.]"
    room = max(0, chars - len(note) - 40)
    head, tail = _whole_lines(text[: room * 3 // 4]), text[-(room // 4) :] if room // 4 else ""
    left = len(text) - len(head) - len(tail)
    return f"{note}\n{head}\n[... {left:,} characters are left out here ...]\n{tail}"


def _whole_lines(text: str) -> str:
    """Return a text up to its last end of a line or sentence, if that is not far from its end."""
    ends: Sequence[int] = [text.rfind(mark) + len(mark) for mark in ("\n", ". ", "! ", "? ")]
    last = max(ends)
    return text[:last].rstrip() if last > len(text) * 0.8 else text
