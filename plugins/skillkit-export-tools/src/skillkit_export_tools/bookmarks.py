"""Bookmarks: a Markdown list, a line for each address, which people read and edit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from skillkit_core import ToolError

__all__ = ["BOOKMARKS", "Bookmark", "keep"]

BOOKMARKS = "bookmarks.md"
"""The file of bookmarks where the configuration names none."""

_SPECIAL = re.compile(r"([\\\[\]])")


class Bookmark(NamedTuple):
    """An address that is kept."""

    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    day: str = ""

    def line(self) -> str:
        """Return the line of the list."""
        name = _SPECIAL.sub(r"\\\1", self.title or self.url)
        tags = "".join(f" #{tag}" for tag in self.tags)
        return f"- [{name}](<{self.url}>){tags}{f' ({self.day})' if self.day else ''}{f': {self.note}' if self.note else ''}"


def keep(file: Path, mark: Bookmark) -> bool:
    """Write a bookmark at the end, in place of an older one of the address; return whether there was one.

    Raises:
        ToolError: the file cannot be read or written.
    """
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else "# Bookmarks\n"
        lines = text.splitlines()
        left = [line for line in lines if f"](<{mark.url}>)" not in line or not line.startswith("- [")]
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_name(f".{file.name[:50]}.new")
        made.write_text(
            "\n".join([*left, *([""] if left and left[-1].startswith("#") else []), mark.line(), ""]), encoding="utf-8"
        )
        made.replace(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(f"{file.name} could not be written: {error}") from None
    return len(left) < len(lines)
