"""A new heading at the end of an org file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from skillkit_core import ToolError

__all__ = ["FOLDER", "INBOX", "TODO", "append", "heading"]

INBOX, FOLDER, TODO = "inbox.org", ".", ("TODO", "NEXT", "WAITING")
"""What counts where the configuration says nothing: the inbox, the folder that is read, words of open tasks."""
_TAG = re.compile(r"[\w@#%]+\Z")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def heading(
    title: str,
    *,
    todo: str = "",
    tags: Sequence[str] = (),
    body: str = "",
    scheduled: date | None = None,
    deadline: date | None = None,
) -> str:
    """Return a heading of the first level, as Org's manual writes it.

    Lines of the body are indented, so that none of them becomes a heading.

    Raises:
        ToolError: the title is empty, or a tag is none.
    """
    title = " ".join(title.split())
    if not title:
        raise ToolError("a heading needs a title")
    bad = [tag for tag in tags if not _TAG.match(tag)]
    if bad:
        raise ToolError(f"no tag of org: {', '.join(map(repr, bad))}; letters, digits, _, @, # and % make one")
    marks = f" :{':'.join(dict.fromkeys(tags))}:" if tags else ""
    lines = [f"* {todo + ' ' if todo else ''}{title}{marks}"]
    plans = [f"{name}: <{day.isoformat()} {_DAYS[day.weekday()]}>"
             for name, day in (("SCHEDULED", scheduled), ("DEADLINE", deadline)) if day]  # fmt: skip
    lines += [f"  {' '.join(plans)}"] if plans else []
    lines += [f"  {line}".rstrip() for line in body.strip().splitlines()]
    return "\n".join(lines) + "\n"


def append(file: Path, text: str) -> None:
    """Append a text to a file in one write, on a line of its own; the file is made where it is not there.

    Raises:
        ToolError: it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab+") as out:
            size = out.seek(0, os.SEEK_END)
            if size:
                out.seek(size - 1)
                text = text if out.read(1) == b"\n" else f"\n{text}"
            out.write(text.encode("utf-8"))
    except OSError as error:
        raise ToolError(f"{file.name} could not be written: {error.strerror or error}") from None
