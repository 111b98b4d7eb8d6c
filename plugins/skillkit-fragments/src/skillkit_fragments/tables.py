"""Rows of data, from what steps leave: JSON, Markdown tables, CSV, lists, lines with a name and a number. No model."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit_core.frozen import thaw

__all__ = ["markdown_table", "number_in", "rows_of"]

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PAIR = re.compile(r"\s*(?:[-*+•]|\d+[.)])?\s*(.+?)\s*(?::|=|\t|\s[-–—]\s)\s*(.*\d.*?)\s*\Z")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*\Z")
Row = dict[str, Any]


def rows_of(data: Any) -> list[Row]:
    """Return the rows of some data, each by column; an empty list: it has no rows that code can read.

    A mapping of names to values is a row for each name; lists of values are rows of one column.
    """
    if isinstance(data, str):
        return _of_text(data)
    if isinstance(data, Mapping):
        given: Any = thaw(data)
        if lists := [value for value in given.values() if _is_rows(value)]:
            return rows_of(lists[0])
        return [{"name": str(name), "value": value} for name, value in given.items()]
    if isinstance(data, (list, tuple)):
        if _is_rows(data):
            return [dict(thaw(row)) for row in data]
        if data and all(isinstance(row, (list, tuple)) for row in data):
            return _with_head([[str(cell) for cell in row] for row in data])
        return [{"value": value} for value in data]
    return []


def _is_rows(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _of_text(text: str) -> list[Row]:
    bare = text.strip()
    if bare[:1] in "[{":
        try:
            return rows_of(json.loads(bare))
        except ValueError:
            pass
    lines = [line for line in bare.splitlines() if line.strip()]
    marks = [n for n, line in enumerate(lines) if _RULE.match(line) and n > 0 and "|" in lines[n - 1]]
    if marks:
        body = [line for line in lines[marks[0] + 1 :] if "|" in line]
        return _with_head([_cells(line) for line in (lines[marks[0] - 1], *body)])
    if len(lines) > 1 and all(line.count(",") == lines[0].count(",") > 0 for line in lines):
        return _with_head(list(csv.reader(io.StringIO("\n".join(lines)))))
    pairs = [found for line in lines if (found := _PAIR.match(line))]
    if pairs and len(pairs) >= len(lines) / 2:
        return [{"name": found[1].strip("*_` "), "value": found[2].strip("*_` ")} for found in pairs]
    return []


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _with_head(rows: Sequence[Sequence[str]]) -> list[Row]:
    head = [name.strip() or f"column {n}" for n, name in enumerate(rows[0], 1)] if rows else []
    return [dict(zip(head, [cell.strip() for cell in row], strict=False)) for row in rows[1:]]


def number_in(value: Any) -> float | None:
    """Return the number that a value is, or that its text holds alone beside units; ``None``: none, or several."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    found = _NUMBER.findall(str(value))
    return float(found[0].replace(",", "")) if len(found) == 1 else None


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a Markdown table with all their columns."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names), *([row.get(name, "") for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: Any) -> str:
    text = (
        value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    )
    return " ".join(text.split()).replace("|", "\\|")
