"""What a model answers to the question which skill it is, however badly it says so."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from skillkit_core.frozen import freeze

__all__ = ["SCHEMA", "Choice", "fold", "read", "schema_of"]

_STEP = {
    "type": "object",
    "properties": {
        "skill_name": {"type": "string"},
        "sub_query": {"type": "string"},
        "depends_on": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["skill_name", "sub_query", "depends_on"],
    "additionalProperties": False,
}


def schema_of(step: Mapping[str, Any] = _STEP) -> Mapping[str, Any]:
    """Return the JSON Schema of an answer.

    Args:
        step: the schema of a step of a compound request.
    """
    properties = {
        "skill": {"type": "string"},
        "confidence": {"type": "number"},
        "reason": {"type": "string"},
        "steps": {"type": "array", "items": step},
    }
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


SCHEMA: Mapping[str, Any] = freeze(schema_of())


class Choice(NamedTuple):
    """An answer.

    Attributes:
        skill: the name as the model wrote it; empty: it named none.
        confidence: from 0 to 1.
        reason: what it says of it.
        steps: the steps of a compound request; fewer than two: a single one.
        clamped: what the model gave for the confidence, if that was no number from 0 to 1.
    """

    skill: str
    confidence: float
    reason: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    clamped: str = ""


def fold(name: str) -> str:
    """Return a name as names are compared: without case, blanks at its ends, and the difference of ``_`` and ``-``."""
    return name.strip().casefold().replace("_", "-")


def read(text: str) -> Choice | None:
    """Return the first JSON object of an answer, in a fence or among words; ``None``: there is none."""
    found = _first_object(text)
    if found is None:
        return None
    skill, reason, steps = found.get("skill"), found.get("reason"), found.get("steps")
    confidence, clamped = _number(found.get("confidence"), "confidence" in found)
    return Choice(
        skill.strip() if isinstance(skill, str) else "",
        confidence,
        reason if isinstance(reason, str) else "",
        tuple(step for step in steps if isinstance(step, Mapping)) if isinstance(steps, list) else (),
        clamped,
    )


def _first_object(text: str) -> Mapping[str, Any] | None:
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            found, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
        else:
            return found if isinstance(found, Mapping) else None
    return None


def _number(value: Any, given: bool) -> tuple[float, str]:
    """Return a confidence from 0 to 1, and what was given if it was none; what is no number counts as 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return 0.0, json.dumps(value, default=str) if given and value is not None else ""
    clamped = min(1.0, max(0.0, float(value) if abs(value) < 10 else math.copysign(10.0, value)))
    return clamped, "" if 0 <= value <= 1 else json.dumps(value)
