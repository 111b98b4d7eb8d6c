"""Printing what models and people wrote: the core's tables and lines, without what a terminal would obey."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from skillkit_core.cli.output import echo, printable, table

__all__ = ["cut", "print_table", "print_text", "time_of"]


def print_text(text: str) -> None:
    """Text that may come from a model."""
    echo(printable(text))


def print_table(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], colours: Mapping[str, str] | None = None
) -> None:
    """Rows as aligned columns; what is missing is a dash. ``colours``: the colour of a column by its name."""
    colours = colours or {}
    cells = [["-" if row.get(c) is None else printable(str(row[c])) for c in columns] for row in rows]
    table(columns, cells, styles=lambda i, _: {"fg": colours[columns[i]]} if columns[i] in colours else {})


def time_of(seconds: float | None) -> str | None:
    """A time for people, in their zone."""
    return None if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def cut(text: str, columns: int) -> str:
    """``text`` on one line of at most ``columns``; a wide character (CJK, emoji) takes two of them."""
    text = " ".join(text.split())
    if sum(map(_columns, text)) <= columns:
        return text
    kept, used = "", 1  # the ellipsis takes one
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept += character
    return kept.rstrip() + "…"


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
