"""JSON Schemas of strangers, rebuilt from what the core checks and providers take.

Left out and named are: keywords that nobody checks, values that do not fit their keyword, patterns (a stranger's pattern on a
model's argument can take for ever), references out of the document, and what is too large. The server checks its arguments
itself, so what is left out here is its affair alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .text import shortened

__all__ = ["offered_schema"]

_TYPES = frozenset({"object", "array", "string", "boolean", "null", "integer", "number"})
_ONE = frozenset({"not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems"})
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_STRICT = frozenset({"not", "if", "oneOf"})  # leaving a keyword out inside of these makes them refuse more
_MAX_DEPTH = 24
_MAX_NODES = 4000
_MAX_ENUM = 250
_MAX_CHARACTERS = 60_000


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _kinds(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


_PLAIN: Mapping[str, Callable[[Any], bool]] = {
    "type": _kinds,
    "required": _names,
    "enum": lambda v: isinstance(v, list) and 0 < len(v) <= _MAX_ENUM,
    "const": lambda v: True,
    "default": lambda v: True,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
    "multipleOf": lambda v: _number(v) and v > 0,
    **dict.fromkeys(
        (
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ),
        _count,
    ),
    **dict.fromkeys(("uniqueItems", "nullable", "deprecated", "readOnly", "writeOnly"), lambda v: isinstance(v, bool)),
    "format": lambda v: isinstance(v, str) and len(v) <= 64,
    "x-mcp-header": lambda v: isinstance(v, str) and len(v) <= 200,
    "dependentRequired": lambda v: isinstance(v, dict) and all(_names(one) for one in v.values()),
}
_SILENT = frozenset({"$schema", "$id", "$comment", "examples", "example"})


def offered_schema(schema: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the schema as models get it, and the keywords that nobody checks.

    Raises:
        ValueError: the schema is no object schema; the text says why.
    """
    if not isinstance(schema, dict):
        raise ValueError("its input schema is no object" if schema is not None else "it has no input schema")
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError(f"its arguments are of type {shortened(str(kind), 40)}, not an object")
    builder = _Builder()
    # providers refuse these at the root
    root = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf", "not", "if")}
    builder.left_out.update(key for key in schema if key not in root)
    found = {**builder.schema(root, 0), "type": "object"}
    _drop_dangling(found, found, builder.left_out)
    if len(json.dumps(found)) > _MAX_CHARACTERS:
        builder.left_out.add("everything: it is too large")
        found = {"type": "object", "description": "Its schema is too large to be shown."}
    return found, tuple(sorted(builder.left_out))


class _Builder:
    """Rebuilds one schema.

    Attributes:
        left_out: keywords that were left out.
    """

    def __init__(self) -> None:
        self.left_out: set[str] = set()
        self._nodes = self._times = 0

    def _leave_out(self, what: str) -> None:
        self._times += 1
        self.left_out.add(what)

    def schema(self, given: Any, depth: int) -> dict[str, Any]:
        self._nodes += 1
        if given is True or given is None:
            return {}
        if given is False:
            return {"not": {}}
        if not isinstance(given, dict) or depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            self._leave_out("what is nested too deeply" if isinstance(given, dict) else "what is no schema")
            return {}
        found: dict[str, Any] = {}
        for key, value in given.items():
            before = self._times
            built = self._keyword(key, value, depth) if isinstance(key, str) else None
            if key in _STRICT and self._times > before:
                self._leave_out(str(key))
            elif built is not None:
                found[key] = built[0]
            elif key not in _SILENT:
                self._leave_out(shortened(str(key), 60))
        if "if" not in found:
            for key in ("then", "else"):
                if found.pop(key, None) is not None:
                    self._leave_out(key)
        if isinstance(pattern := given.get("pattern"), str) and len(pattern) <= 120:
            found["description"] = f"{found.get('description', '')} (pattern: {shortened(pattern, 120)})".strip()
        return found

    def _keyword(self, key: str, value: Any, depth: int) -> tuple[Any] | None:
        """Return the value of a keyword in a tuple; ``None``: leave the keyword out."""
        if key in ("title", "description"):
            return (shortened(value, 2000 if key == "description" else 200),) if isinstance(value, str) else None
        if key == "$ref":
            return (value,) if isinstance(value, str) and value.startswith("#") and len(value) < 500 else None
        if key in _PLAIN:
            return (_cleaned(value),) if _PLAIN[key](value) else None
        if key == "items" and isinstance(value, list):
            return ([self.schema(one, depth + 1) for one in value],)
        if key == "items" or key in _ONE:
            return (value if isinstance(value, bool) else self.schema(value, depth + 1),)
        if key in _MANY and isinstance(value, list) and value:
            return ([self.schema(one, depth + 1) for one in value],)
        if key in _NAMED and isinstance(value, dict):
            return ({shortened(str(name), 200): self.schema(one, depth + 1) for name, one in value.items()},)
        return None


def _cleaned(value: Any) -> Any:
    """Return a JSON value with harmless texts. What is nested deeply becomes text."""
    if isinstance(value, str):
        return shortened(value, 1000)
    if isinstance(value, (list, dict)):
        try:
            text = json.dumps(value)
        except (ValueError, RecursionError):
            return None
        if len(text) > 20_000:
            return None
        if isinstance(value, list):
            return [_cleaned(one) for one in value]
        return {shortened(str(name), 200): _cleaned(one) for name, one in value.items()}
    return value


def _drop_dangling(node: Any, root: Any, left_out: set[str]) -> None:
    """Remove references to what is not there: the core refuses every value for such a schema."""
    if isinstance(node, list):
        for one in node:
            _drop_dangling(one, root, left_out)
    elif isinstance(node, dict):
        if isinstance(ref := node.get("$ref"), str) and not _is_there(ref, root):
            del node["$ref"]
            left_out.add("$ref")
        for one in list(node.values()):
            _drop_dangling(one, root, left_out)


def _is_there(ref: str, root: Any) -> bool:
    """Return whether a reference leads to a schema without leading back to itself."""
    seen: set[str] = set()
    while ref not in seen:
        seen.add(ref)
        node = root
        for part in ref.removeprefix("#").strip("/").split("/"):
            if part:
                node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        if not isinstance(node, dict):
            return False
        if not isinstance(following := node.get("$ref"), str):
            return True
        ref = following
    return False
