"""Reading a JSON document, or one document a line, with errors that name the line."""

from __future__ import annotations

import json
from collections.abc import Mapping

from command import Problem, count, fitting, regular_file, shown, table

LARGEST_FILE = 200_000_000  # bytes; a document needs several times its size in memory
LARGEST_RESULT = 100_000  # characters of the result; the host keeps 256 KiB of output
MOST_LINES = 60
MOST_TABLE_COLUMNS = 8

Json = object


def words_of(text: str) -> frozenset[str]:
    """Return the words of a list written as one text."""
    return frozenset(text.split())


def load(name: str) -> Json:
    """Return the document of a JSON file; a file of JSON lines is a list."""
    path = regular_file(name)
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise Problem(f"{name} has {size / 1e6:,.0f} MB; at most {LARGEST_FILE / 1e6:,.0f} MB are read")
    data = path.read_bytes()
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Problem(f"{name} is not text: byte {error.start} is not {error.encoding}") from None
    if not text.strip():
        raise Problem(f"{name} is empty")
    try:
        return _parse(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and (lines := _json_lines(text)) is not None:
            return lines
        raise Problem(f"{name}, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise Problem(f"{name} is too deeply nested") from None
    except ValueError as error:
        raise Problem(f"{name}: {error}") from None


def _parse(text: str) -> Json:
    result: Json = json.loads(text, parse_constant=lambda _: None)  # NaN and Infinity are no JSON
    return result


def _json_lines(text: str) -> list[Json] | None:
    try:
        return [_parse(line) for line in text.split("\n") if line.strip()]
    except json.JSONDecodeError:
        return None


def kind(value: Json) -> str:
    """Return the JSON name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "object"


def described(value: Json) -> str:
    """Return "list of 3", "object with 2 keys", or the type of a simple value."""
    if isinstance(value, list):
        kinds = sorted({kind(item) for item in value})
        of = " (" + ", ".join(kinds) + ")" if kinds else ""
        return f"list of {len(value):,}{of}"
    return f"object with {count(len(value), 'key')}" if isinstance(value, dict) else kind(value)


def readable(value: Json) -> str:
    """Return the value for people: plain text, one item a line, a table of flat objects, or indented JSON."""
    if isinstance(value, list) and value and all(_scalar(item) for item in value):
        lines = [written(item) for item in value]
    elif isinstance(value, list) and value and all(_flat(item) for item in value):
        lines = _table(value).splitlines()
    elif _scalar(value):
        return written(value)
    else:
        lines = [shown(line) for line in json.dumps(value, ensure_ascii=False, indent=2).splitlines()]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES:,} more lines"]
    return "\n".join(lines)


def written(value: Json) -> str:
    """Return a simple value as it is read aloud: text without quotes, else JSON."""
    return shown(value) if isinstance(value, str) else json.dumps(value)


def _scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)


def _flat(value: Json) -> bool:
    return isinstance(value, dict) and 0 < len(value) <= MOST_TABLE_COLUMNS and all(map(_scalar, value.values()))


def _table(items: list[Mapping[str, Json]]) -> str:
    keys = list(dict.fromkeys(key for item in items for key in item))
    if len(keys) > MOST_TABLE_COLUMNS:
        return "\n".join(shown(json.dumps(item, ensure_ascii=False)) for item in items)
    numeric = [key for key in keys if all(kind(item.get(key)) in ("integer", "number", "null") for item in items)]
    rows = [
        [written(item[key]) if item.get(key) is not None else "" for key in keys] for item in items[: MOST_LINES + 1]
    ]
    return table(keys, rows, numeric=numeric)


def bounded(value: Json) -> tuple[Json, bool]:
    """Return as much of the value as fits into an action's output, and whether something was left out."""
    if len(json.dumps(value)) <= LARGEST_RESULT:
        return value, False
    if isinstance(value, list):
        return fitting(value, LARGEST_RESULT), True
    if isinstance(value, str):
        return value[: LARGEST_RESULT // 6], True
    return None, True
