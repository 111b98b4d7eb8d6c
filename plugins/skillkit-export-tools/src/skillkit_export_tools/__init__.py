"""Export for agents: Markdown as HTML, DOCX, PDF, text, CSV and JSON, and bookmarks."""

from __future__ import annotations

__all__ = ["export"]

__version__ = "0.2.0"


def export(text: str, kind: str, title: str = "", font: str | None = None) -> bytes:
    """Return the file that is made of a Markdown text.

    Args:
        text: the text; for ``csv`` and ``json`` also a JSON list of objects.
        kind: ``html``, ``docx``, ``pdf``, ``txt``, ``md``, ``csv`` or ``json``.
        title: above the text, and of the file.
        font: a TrueType font for a PDF whose text is not Latin; ``None``: one of this machine.

    Raises:
        ToolError: it cannot be made of the text, or a library for it is not installed.
    """
    from .writing import WRITERS

    return WRITERS[kind](text, title, font)
