"""Printing what models and people wrote: the core's tables and lines, without what a terminal would obey."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit_core.cli.output import echo, table

__all__ = ["print_table", "print_text"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _safe(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def print_text(text: str) -> None:
    """Text that may come from a model."""
    echo(_safe(text))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Rows as aligned columns; what is missing is a dash."""
    table(columns, [["-" if row.get(c) is None else _safe(str(row[c])) for c in columns] for row in rows])
