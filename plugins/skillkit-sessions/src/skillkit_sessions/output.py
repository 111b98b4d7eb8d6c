"""How the commands print: the one place that knows about JSON, tables and terminals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

__all__ = ["print_json", "print_table", "print_text"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _safe(text: str) -> str:
    """``text`` without what a terminal would obey."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.encode("utf-8", "replace").decode())


def print_json(value: Any) -> None:
    """``value`` as one JSON document."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_text(text: str) -> None:
    """Text that may come from a model."""
    click.echo(_safe(text))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Rows as columns that line up, the last one as wide as it is; no decoration, so that pipes can use it."""
    cells = [
        [_safe(str(row.get(c) if row.get(c) is not None else "-")).replace("\n", " ") for c in columns] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in [[c.upper() for c in columns], *cells]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
