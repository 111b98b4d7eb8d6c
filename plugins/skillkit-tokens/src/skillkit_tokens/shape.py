"""What a request is made of besides its texts: messages, calls, tools and schemas, as counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from skillkit_core.frozen import thaw

from .pieces import PIECES, pieces

__all__ = ["PARTS", "described", "parts_of_schema", "parts_of_text", "parts_of_tools"]

# `structure` and `schema_structure`: the JSON around the words, in units of four characters
PARTS = (
    "base", "messages", "calls", "tooled", "tools", "properties", "described", "structure", "schemed", "schema_structure",
)  # fmt: skip


def parts_of_text(text: str) -> Counter[str]:
    """Return the pieces of a text by name."""
    return Counter(dict(zip(PIECES, pieces(text), strict=True)))


def parts_of_tools(tools: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return the parts of tools, each the JSON object that a wire sends (``name``, ``description``, ``parameters``)."""
    found: Counter[str] = Counter()
    for tool in tools:
        words = [str(tool.get("name", "")), str(tool.get("description") or "")]
        schema = tool.get("parameters") or tool.get("input_schema") or {}
        properties, with_words = described(schema, words)
        found += parts_of_text("\n".join(filter(None, words)))
        found["properties"] += properties
        found["described"] += with_words
        found["structure"] += _around(tool, words)
        found["tools"] += 1
    found["tooled"] = int(found["tools"] > 0)
    return found


def parts_of_schema(schema: Mapping[str, Any]) -> Counter[str]:
    """Return the parts of the schema that an answer must fit."""
    words: list[str] = []
    described(schema, words)
    found = parts_of_text("\n".join(words))
    found["schemed"] = 1
    found["schema_structure"] = _around(schema, words)
    return found


def _around(value: Any, words: Iterable[str]) -> int:
    return (len(json.dumps(thaw(value), ensure_ascii=False)) - sum(map(len, words))) // 4


def described(schema: Any, words: list[str]) -> tuple[int, int]:
    """Append the names, descriptions and choices of a JSON Schema to ``words``; return its properties and descriptions."""
    properties = with_words = 0
    inner: list[Any] = []
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("properties", "$defs") and isinstance(value, Mapping):
                words.extend(map(str, value))
                properties += len(value) if key == "properties" else 0
                inner.extend(value.values())
            elif key == "description" and isinstance(value, str) and value:
                words.append(value)
                with_words += 1
            elif key == "enum" and isinstance(value, (list, tuple)):
                words.extend(map(str, value))
            elif key == "const":
                words.append(str(value))
            elif key not in ("title", "required", "type", "enum", "description"):
                inner.append(value)
    elif isinstance(schema, (list, tuple)):
        inner.extend(schema)
    for one in inner:
        more = described(one, words)
        properties, with_words = properties + more[0], with_words + more[1]
    return properties, with_words
