"""DOCX, which python-docx writes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from skillkit_core import ToolError

from .pieces import Piece, Run

__all__ = ["docx_of"]


def docx_of(pieces: Sequence[Piece], heading: str, title: str) -> bytes:
    """Return a document with the styles of the word processor, so that its look can be changed there.

    Raises:
        ToolError: the library for it is not installed.
    """
    try:
        from docx import Document
    except ImportError:
        raise ToolError("DOCX needs another package: pip install 'skillkit-export-tools[docx]'") from None
    made = Document()
    made.core_properties.title, made.core_properties.author = title, ""
    if heading:
        made.add_heading(_clean(heading), 0)
    for piece in pieces:
        _add(made, piece)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def _add(made: Any, piece: Piece) -> None:
    if piece.kind == "heading":
        _write(made.add_heading("", piece.level), piece.runs)
    elif piece.kind == "table":
        table = made.add_table(len(piece.rows), len(piece.rows[0]), style="Table Grid")
        for row, cells in zip(table.rows, piece.rows, strict=True):
            for cell, runs in zip(row.cells, cells, strict=True):
                _write(cell.paragraphs[0], runs, bold=row is table.rows[0])
    elif piece.kind == "rule":
        made.add_paragraph("* * *").alignment = 1
    else:
        _write(made.add_paragraph(style=_style(piece)), piece.runs)


def _style(piece: Piece) -> str:
    if piece.kind != "item":
        return {"quote": "Quote", "code": "No Spacing"}.get(piece.kind, "Normal")
    name = "List Continue" if not piece.marker else "List Bullet" if piece.marker == "-" else "List Number"
    return name if piece.level == 0 else f"{name} {min(piece.level + 1, 3)}"


def _write(paragraph: Any, runs: Sequence[Run], *, bold: bool = False) -> None:
    for run in runs:
        made = paragraph.add_run(_clean(run.text))
        made.bold, made.italic, made.font.strike = run.bold or bold or None, run.italic or None, run.strike or None
        if run.code:
            made.font.name = "Courier New"
        if run.link and run.link != run.text:
            paragraph.add_run(f" ({_clean(run.link)})")


def _clean(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(sign for sign in text if sign in "\t\n" or (ord(sign) >= 32 and not 0xD800 <= ord(sign) <= 0xDFFF))
