"""The section ``export`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

from .bookmarks import BOOKMARKS

__all__ = ["ExportConfig"]


@dataclass(frozen=True, slots=True)
class ExportConfig:
    """Where addresses are kept, and the font of PDF files."""

    bookmarks: str = setting(BOOKMARKS, "file of bookmarks, relative to the workspace", min_length=1)
    font: str | None = setting(
        None, "TrueType font for PDF files whose text is not Latin; default: one of this machine"
    )
