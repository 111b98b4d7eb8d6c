"""The formats: each writer makes the bytes of a file of a Markdown text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, TypeAlias

from skillkit_core import ToolError

from .pieces import Piece, Run, parser, pieces_of, plain

__all__ = ["WRITERS", "Writer"]

Writer: TypeAlias = Callable[[str, str, "str | None"], bytes]
"""``(text, title, font) -> bytes``; ``font`` is a file, and only a PDF needs it."""

_LOOK = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 system-ui,sans-serif;color:#222;background:#fff}"
    "table{border-collapse:collapse}th,td{border:1px solid #bbb;padding:.3rem .6rem;text-align:left}"
    "pre{overflow:auto;background:#f4f4f4;padding:.8rem}blockquote{margin-left:0;padding-left:1rem;border-left:3px solid #bbb}"
)


def as_html(text: str, title: str, font: str | None = None) -> bytes:
    """Return a page that stands alone: without programs, without HTML of the text, and without pictures from elsewhere."""
    pieces = pieces_of(text)
    name = title or next((plain(piece.runs) for piece in pieces if piece.kind == "heading"), "Document")
    head = f"<h1>{escape(title)}</h1>\n" if title and not _begins_with(pieces, title) else ""
    return (
        f'<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(name)}</title>\n<style>{_LOOK}</style>\n</head>\n<body>\n{head}{parser().render(text)}</body>\n</html>\n"
    ).encode()


def as_text(text: str, title: str, font: str | None = None) -> bytes:
    """Return the text without marks: tables in columns, links with their addresses."""
    pieces = pieces_of(text)
    lines: list[str] = []
    if title and not _begins_with(pieces, title):
        pieces.insert(0, Piece("heading", (Run(title),), 1))
    for piece in pieces:
        if (
            piece.kind == "item"
            and lines
            and lines[-1] == ""
            and len(lines) > 1
            and lines[-2].lstrip()[:1] in "-0123456789"
        ):
            lines.pop()
        lines += [*_text_of(piece), ""]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _text_of(piece: Piece) -> list[str]:
    text = "".join(f"{run.text} <{run.link}>" if run.link and run.link != run.text else run.text for run in piece.runs)
    if piece.kind == "heading":
        return [text, ("=" if piece.level == 1 else "-") * len(text)] if piece.level < 3 else [text]
    if piece.kind == "rule":
        return ["-" * 40]
    if piece.kind == "table":
        rows = [[plain(cell) for cell in row] for row in piece.rows]
        wide = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
    if piece.kind == "item":
        gap = "  " * piece.level
        head = f"{piece.marker} " if piece.marker else "  "
        return [f"{gap}{head if n == 0 else ' ' * len(head)}{line}" for n, line in enumerate(text.split("\n"))]
    mark = {"quote": "> ", "code": "    "}.get(piece.kind, "")
    return [f"{mark}{line}" for line in text.split("\n")]


def as_markdown(text: str, title: str, font: str | None = None) -> bytes:
    """Return the text itself, below its title."""
    head = f"# {title}\n\n" if title and not _begins_with(pieces_of(text), title) else ""
    return f"{head}{text.strip()}\n".encode()


def as_csv(text: str, title: str, font: str | None = None) -> bytes:
    """Return the rows of the text."""
    rows = _rows(text)
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, names, restval="", lineterminator="\r\n")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue().encode()


def as_json(text: str, title: str, font: str | None = None) -> bytes:
    """Return the JSON that the text is, else its first table as a list of objects."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = _rows(text)
    return (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode()


def as_docx(text: str, title: str, font: str | None = None) -> bytes:
    """Return a document of a word processor."""
    from .office import docx_of

    pieces = pieces_of(text)
    return docx_of(pieces, title if not _begins_with(pieces, title) else "", title)


def as_pdf(text: str, title: str, font: str | None = None) -> bytes:
    """Return a PDF."""
    from .paper import pdf_of

    pieces = pieces_of(text)
    return pdf_of(pieces, title if not _begins_with(pieces, title) else "", title, font)


def _begins_with(pieces: list[Piece], title: str) -> bool:
    return bool(pieces) and pieces[0].kind == "heading" and plain(pieces[0].runs).strip() == title


def _rows(text: str) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    table = next((piece.rows for piece in pieces_of(text) if piece.kind == "table"), None)
    if table is None:
        raise ToolError("there is no table in the text, and it is no JSON list of objects")
    names = [plain(cell) or f"column {n}" for n, cell in enumerate(table[0], 1)]
    return [dict(zip(names, (plain(cell) for cell in row), strict=True)) for row in table[1:]]


def _cell(value: Any) -> Any:
    return (
        value
        if isinstance(value, (str, int, float)) and not isinstance(value, bool)
        else json.dumps(value, ensure_ascii=False)
    )


WRITERS: Mapping[str, Writer] = {
    "html": as_html, "docx": as_docx, "pdf": as_pdf, "txt": as_text, "md": as_markdown, "csv": as_csv, "json": as_json,
}  # fmt: skip
