"""The section ``files`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["FilesConfig"]


@dataclass(frozen=True, slots=True)
class FilesConfig:
    """How files are searched, and how much of what was changed is kept."""

    ripgrep: bool = setting(True, "let an installed ripgrep find the files for grep; the answers are the same")
    keep_file: int = setting(8_000_000, "most bytes of a content that is kept for rewind; 0: keep nothing", ge=0)
    keep_total: int = setting(500_000_000, "most bytes of all contents that are kept; the oldest go first", ge=0)
