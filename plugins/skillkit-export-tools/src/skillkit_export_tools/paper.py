"""PDF, which fpdf2 writes. Nothing is loaded: of a picture only its words are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from skillkit_core import ToolError

from .pieces import Piece, Run, plain

__all__ = ["pdf_of"]

_FONTS = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf", "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
    "/Library/Fonts/Arial Unicode.ttf", "/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
)  # fmt: skip


def pdf_of(pieces: Sequence[Piece], heading: str, title: str, font: str | None) -> bytes:
    """Return a PDF of A4 pages.

    Args:
        pieces: the text.
        heading: above it; may be empty.
        title: of the file.
        font: a TrueType font; ``None``: the PDF's own where the text is Latin, else one of this machine.

    Raises:
        ToolError: the library for it is not installed, or no font has the signs of the text.
    """
    try:
        from fpdf import FPDF
        from fpdf.errors import FPDFException
    except ImportError:
        raise ToolError("PDF needs another package: pip install 'skillkit-export-tools[pdf]'") from None
    shown = [*([Piece("heading", (Run(heading),), 1)] if heading else []), *pieces]
    made = FPDF(format="A4")
    made.set_title(title)
    made.set_margin(20)
    made.add_page()
    try:
        family = _family(made, shown, font)
        made.set_font(family, size=11)
        made.write_html("".join(_html(shown)), tag_styles=_styles(family), table_line_separators=True)
        return bytes(made.output())
    except (FPDFException, UnicodeError, OSError) as error:
        raise ToolError(f"no PDF could be made of the text: {' '.join(str(error).split())[:200]}") from None


def _family(made: Any, pieces: Sequence[Piece], font: str | None) -> str:
    """Return the name of the font, which is added where it is a file."""
    text = "".join(
        plain(runs) for piece in pieces for runs in (piece.runs, *(cell for row in piece.rows for cell in row))
    )
    if font is None:
        try:
            text.encode("latin-1")
            return "helvetica"
        except UnicodeEncodeError:
            font = next((name for name in _FONTS if Path(name).is_file()), None)
    if font is None:
        raise ToolError("the text has signs that are not Latin: set export.font to a TrueType font that has them")
    file = Path(font).expanduser()
    if not file.is_file():
        raise ToolError(f"there is no font {font} (export.font)")
    for style, ending in {"": "", "b": "-Bold", "i": "-Oblique", "bi": "-BoldOblique"}.items():
        own = file.with_name(f"{file.stem}{ending}{file.suffix}")
        made.add_font("body", style, own if own.is_file() else file)
    lacks = {sign for sign in text if ord(sign) > 32 and ord(sign) not in made.fonts["body"].cmap}
    if lacks:
        raise ToolError(
            f"{file.name} has no sign for {' '.join(sorted(lacks)[:5])}: set export.font to a font that has it"
        )
    return "body"


def _styles(family: str) -> dict[str, Any]:
    from fpdf import FontFace, TextStyle

    sizes = {"h1": 20, "h2": 16, "h3": 13, "h4": 12, "h5": 11, "h6": 11}
    headings = {
        tag: TextStyle(font_family=family, font_style="B", font_size_pt=size, color="#222222", t_margin=3, b_margin=1)
        for tag, size in sizes.items()
    }
    mono = "courier" if family == "helvetica" else family
    code = {"code": FontFace(family=mono), "pre": TextStyle(font_family=mono, font_size_pt=9, t_margin=2)}
    return {**headings, **code}


def _html(pieces: Sequence[Piece]) -> Iterator[str]:
    for piece in pieces:
        inner = _inline(piece.runs)
        if piece.kind == "heading":
            yield f"<h{piece.level}>{inner}</h{piece.level}>"
        elif piece.kind == "table":
            head, *rows = piece.rows
            yield (
                '<table width="100%"><thead><tr>'
                + "".join(f"<th>{_inline(cell)}</th>" for cell in head)
                + "</tr></thead><tbody>"
            )
            yield from ("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            yield "</tbody></table>"
        elif piece.kind == "rule":
            yield "<hr>"
        elif piece.kind == "code":
            yield f"<pre>{inner}</pre>"
        elif piece.kind == "item":
            gap = "\u00a0" * (4 * piece.level)
            mark = {"-": "\u00b7", "": "\u00a0"}.get(piece.marker, piece.marker)
            yield f"<p>{gap}{mark}\u00a0{inner}</p>"
        else:
            yield f"<blockquote>{inner}</blockquote>" if piece.kind == "quote" else f"<p>{inner}</p>"


def _inline(runs: Sequence[Run]) -> str:
    parts = []
    for run in runs:
        text = escape(run.text).replace("\n", "<br>") if not run.code else escape(run.text)
        for wanted, tag in ((run.code, "code"), (run.bold, "b"), (run.italic, "i"), (run.strike, "s")):
            text = f"<{tag}>{text}</{tag}>" if wanted else text
        if run.link.startswith(("http://", "https://", "mailto:")):
            text = f'<a href="{escape(run.link)}">{text}</a>'
        parts.append(text)
    return "".join(parts)
