"""Values that a step leaves for later ones, by the schema that its skill declares: how they are asked for, and read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from skillkit_core.frozen import thaw
from skillkit_core.host.json_schema import validate

__all__ = ["asked", "read"]

_FENCE = re.compile(r"\n*```(?:json)?[ \t]*\n(\{.*?\})\s*\n?```\s*\Z", re.S)


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
