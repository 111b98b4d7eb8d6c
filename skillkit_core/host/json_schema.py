"""The check of tool arguments against the JSON Schema of the tool, with errors that a model and a person can act on.

None of the core's four dependencies validates JSON Schema, so this module checks the keywords that tool schemas use.
:func:`unchecked` names the keywords that are neither in :data:`CHECKED` nor in :data:`IGNORED`. The host reports a tool
that uses one when the tool is registered or first offered, so that nobody relies on a check that is not made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

CHECKED = frozenset(
    {
        "type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties", "items",
        "prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties", "maxProperties", "propertyNames",
        "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "additionalItems", "contains", "minContains",
        "maxContains", "dependentRequired", "dependentSchemas", "dependencies",
    }
)  # fmt: skip
IGNORED = frozenset(
    {
        "$schema", "$id", "$defs", "definitions", "$comment", "title", "description", "default", "examples", "format",
        "deprecated", "readOnly", "writeOnly", "nullable", "$anchor", "contentEncoding", "contentMediaType",
        "contentSchema", "discriminator", "example",
    }
)  # fmt: skip
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_VALUES = frozenset({"enum", "const", "default", "example", "examples", "dependentRequired", "discriminator"})
MAX_DEPTH = 64
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, (dict, Mapping)),
    "array": lambda v: isinstance(v, (list, tuple)),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
_WORDS = {"object": "an object", "array": "an array", "integer": "an integer", "null": "null"}


def validate(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return the first problem of ``value``, as ``path: problem``, or ``None`` when ``value`` fits."""
    return next(_check(schema, value, "", schema, 0), None)


def unchecked(schema: Any) -> set[str]:
    """Return the keywords in ``schema`` that :func:`validate` does not check."""
    found: set[str] = set()
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in _NAMED:
                for inner in value.values() if isinstance(value, Mapping) else ():
                    found |= unchecked(inner)
            elif key in _VALUES:
                continue
            elif key not in CHECKED and key not in IGNORED and not key.startswith("x-"):
                found.add(key)
            else:
                found |= unchecked(value)
    elif isinstance(schema, (list, tuple)):
        for inner in schema:
            found |= unchecked(inner)
    return found


def _at(path: str, text: str) -> str:
    return f"{path}: {text}" if path else text


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _key(value: Any) -> Any:
    """Return a hashable value, equal for values that are equal in JSON Schema: ``1`` and ``1.0``, but not ``1`` and ``true``."""
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, Mapping):
        return (dict, frozenset((k, _key(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return (list, tuple(_key(v) for v in value))
    return value


def _same(a: Any, b: Any) -> bool:
    return bool(_key(a) == _key(b))


def _search(pattern: str, value: str, path: str) -> bool | str:
    """Return whether the pattern is found, or what is wrong with the pattern."""
    try:
        return re.search(pattern, value) is not None
    except re.error as error:
        return _at(path, f"the schema's pattern {pattern!r} is not valid: {error}")


def _resolve(ref: str, root: Any) -> Any:
    node = root
    for part in ref.removeprefix("#").strip("/").split("/"):
        if part:
            part = part.replace("~1", "/").replace("~0", "~")
            node = node[int(part)] if isinstance(node, (list, tuple)) else node[part]
    return node


def _check(schema: Any, value: Any, path: str, root: Any, depth: int) -> Iterator[str]:
    if schema is True or schema is None:
        return
    if schema is False:
        yield _at(path, "is not allowed")
        return
    if depth > MAX_DEPTH:
        yield _at(path, "is nested too deeply")
        return
    if (ref := schema.get("$ref")) is not None:
        try:
            target = _resolve(ref, root)
        except (KeyError, IndexError, ValueError, TypeError):
            yield _at(path, f"the schema refers to {ref!r}, which is not there")
            return
        yield from _check(target, value, path, root, depth + 1)
    yield from _check_type(schema, value, path)
    yield from _check_combined(schema, value, path, root, depth)
    if isinstance(value, (dict, Mapping)):
        yield from _check_object(schema, value, path, root, depth)
    elif isinstance(value, str):
        yield from _check_string(schema, value, path)
    elif isinstance(value, (list, tuple)):
        yield from _check_array(schema, value, path, root, depth)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(schema, value, path)


def _check_type(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    kinds = schema.get("type")
    if kinds is not None:
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        if schema.get("nullable"):
            names.append("null")
        if not any(name not in _TYPES or _TYPES[name](value) for name in names):
            yield _at(path, f"must be {' or '.join(_WORDS.get(n, f'a {n}') for n in names)}, not {_short(value)}")
            return
    if "enum" in schema and not any(_same(value, e) for e in schema["enum"]):
        yield _at(path, f"must be one of {', '.join(_short(e) for e in schema['enum'])}, not {_short(value)}")
    if "const" in schema and not _same(value, schema["const"]):
        yield _at(path, f"must be {_short(schema['const'])}, not {_short(value)}")


def _check_combined(schema: Mapping[str, Any], value: Any, path: str, root: Any, depth: int) -> Iterator[str]:
    for inner in schema.get("allOf", ()):
        yield from _check(inner, value, path, root, depth + 1)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            problems = [next(_check(inner, value, path, root, depth + 1), None) for inner in schema[key]]
            fits = problems.count(None)
            if fits == 0:
                yield _at(path, "fits none of the allowed forms: " + "; ".join(p for p in problems if p))
            elif key == "oneOf" and fits > 1:
                yield _at(path, f"fits {fits} of the allowed forms, but must fit exactly one")
    if "not" in schema and next(_check(schema["not"], value, path, root, depth + 1), None) is None:
        yield _at(path, "has a form that is not allowed")
    if "if" in schema:
        fits_if = next(_check(schema["if"], value, path, root, depth + 1), None) is None
        yield from _check(schema.get("then" if fits_if else "else"), value, path, root, depth + 1)


def _check_object(
    schema: Mapping[str, Any], value: Mapping[str, Any], path: str, root: Any, depth: int
) -> Iterator[str]:
    properties = schema.get("properties") or {}
    patterns = schema.get("patternProperties") or {}
    for name in schema.get("required", ()):
        if name not in value:
            yield _at(path, f"{name!r} is missing")
    extra = schema.get("additionalProperties", True)
    for name, inner in value.items():
        where = f"{path}.{name}" if path else str(name)
        known = False
        if name in properties:
            known = True
            yield from _check(properties[name], inner, where, root, depth + 1)
        for pattern, sub in patterns.items():
            found = _search(pattern, str(name), where)
            if isinstance(found, str):
                yield found
            elif found:
                known = True
                yield from _check(sub, inner, where, root, depth + 1)
        if not known and extra is False:
            names = ", ".join(sorted(properties)) or "none"
            yield _at(path, f"{name!r} is not an argument; known: {names}")
        elif not known and isinstance(extra, Mapping):
            yield from _check(extra, inner, where, root, depth + 1)
        if "propertyNames" in schema:
            yield from _check(schema["propertyNames"], name, where, root, depth + 1)
    yield from _check_length(schema, len(value), path, "Properties", "properties")
    yield from _check_dependent(schema, value, path, root, depth)


def _check_dependent(
    schema: Mapping[str, Any], value: Mapping[str, Any], path: str, root: Any, depth: int
) -> Iterator[str]:
    for key in ("dependentRequired", "dependentSchemas", "dependencies"):  # the last one is the older way to write both
        for name, needs in (schema[key] or {}).items() if key in schema else ():
            if name in value and isinstance(needs, (list, tuple)):
                for missing in [other for other in needs if other not in value]:
                    yield _at(path, f"{missing!r} is missing, which {name!r} needs")
            elif name in value:
                yield from _check(needs, value, path, root, depth + 1)


def _check_string(schema: Mapping[str, Any], value: str, path: str) -> Iterator[str]:
    yield from _check_length(schema, len(value), path, "Length", "characters")
    if (pattern := schema.get("pattern")) is not None:
        found = _search(pattern, value, path)
        if isinstance(found, str):
            yield found
        elif not found:
            yield _at(path, f"must match {pattern!r}, not {_short(value)}")


def _check_array(schema: Mapping[str, Any], value: Any, path: str, root: Any, depth: int) -> Iterator[str]:
    first, rest = schema.get("prefixItems") or (), schema.get("items")
    if isinstance(rest, (list, tuple)):  # the older way to write prefixItems
        first, rest = rest, schema.get("additionalItems")
    for i, inner in enumerate(value):
        sub = first[i] if i < len(first) else rest
        yield from _check(sub, inner, f"{path}[{i}]", root, depth + 1)
    yield from _check_length(schema, len(value), path, "Items", "items")
    if "contains" in schema:
        found = sum(next(_check(schema["contains"], v, path, root, depth + 1), None) is None for v in value)
        low, high = schema.get("minContains", 1), schema.get("maxContains")
        if found < low:
            yield _at(path, f"must have at least {low} of the items that 'contains' wants, not {found}")
        if high is not None and found > high:
            yield _at(path, f"must have at most {high} of the items that 'contains' wants, not {found}")
    if schema.get("uniqueItems") and len({_key(v) for v in value}) < len(value):
        yield _at(path, "has an item twice")


def _check_length(schema: Mapping[str, Any], size: int, path: str, key: str, unit: str) -> Iterator[str]:
    low, high = schema.get(f"min{key}"), schema.get(f"max{key}")
    if low is not None and size < low:
        yield _at(path, f"must have at least {low} {unit}, not {size}")
    if high is not None and size > high:
        yield _at(path, f"must have at most {high} {unit}, not {size}")


def _check_number(schema: Mapping[str, Any], value: float, path: str) -> Iterator[str]:
    rules: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
        ("minimum", lambda b: value >= b, "at least"),
        ("maximum", lambda b: value <= b, "at most"),
        ("exclusiveMinimum", lambda b: value > b, "more than"),
        ("exclusiveMaximum", lambda b: value < b, "less than"),
    )
    for key, holds, words in rules:
        bound = schema.get(key)
        if bound is not None and not isinstance(bound, bool) and not holds(bound):
            yield _at(path, f"must be {words} {bound}, not {value}")
    step = schema.get("multipleOf")
    if step and not _multiple(value, step):
        yield _at(path, f"must be a multiple of {step}, not {value}")


def _multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        times = value / step
        return abs(times - round(times)) <= 1e-9 * max(1.0, abs(times))
    except (OverflowError, ValueError):  # infinite, or not a number
        return False
