"""One document: its front matter, its text, and how both are written."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkit_markdown import read_front_matter

from skillkit_core import ToolError

from .folder import MOST_BYTES

__all__ = ["Document", "composed", "read", "replace", "retagged", "slug", "write_new"]

_TITLE = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.M)


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    Attributes:
        raw: the file.
        head: its front matter.
        block: the text of its front matter; ``None``: there is none.
        body: the text below.
    """

    raw: str
    head: Mapping[str, Any]
    block: str | None
    body: str

    @property
    def title(self) -> str:
        """The title of the front matter, else the first heading."""
        found = _TITLE.search(self.body)
        return str(self.head.get("title") or (found[1] if found else ""))

    @property
    def kind(self) -> str:
        """The type of the front matter; may be empty."""
        return str(self.head.get("type") or "")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the front matter, a list or words between commas."""
        given = self.head.get("tags")
        listed = given if isinstance(given, (list, tuple)) else str(given or "").split(",")
        return tuple(str(tag).strip() for tag in listed if str(tag).strip())


def read(file: Path) -> Document:
    """Return a document.

    Raises:
        ToolError: it cannot be read as text.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ToolError(f"{file.name} is larger than {MOST_BYTES} bytes")
        data = file.read_bytes()
        raw = data.decode("utf-8")
    except OSError as error:
        raise ToolError(f"{file.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ToolError(f"{file.name} is no text in UTF-8") from None
    found = read_front_matter(data)
    return Document(raw, found.natural(), found.block if found.values is not None else None, found.body)


def composed(head: Mapping[str, Any], text: str) -> str:
    """Return the file of a new document."""
    import yaml

    fence = "-" * 3
    block = yaml.safe_dump(dict(head), allow_unicode=True, sort_keys=False, width=120)
    return f"{fence}\n{block}{fence}\n\n{text.strip()}\n"


def retagged(document: Document, tags: Sequence[str]) -> str:
    """Return the file with other tags; every other line stays as it is."""
    import yaml

    line = yaml.safe_dump({"tags": list(tags)}, allow_unicode=True, default_flow_style=None, width=10_000)
    if document.block is None:
        fence = "-" * 3
        return f"{fence}\n{line}{fence}\n\n{document.raw}"
    block = document.block.rstrip("\n") + "\n"
    bare = re.sub(r"^tags[ \t]*:.*\n(?:[ \t]+.*\n|-[ \t].*\n|\n(?=[ \t]))*", "", block, flags=re.M)
    old = document.block
    at = document.raw.index(old)
    behind = document.raw[at + len(old) :]
    new = bare + line
    return document.raw[:at] + (new if old.endswith("\n") else new.rstrip("\n")) + behind


def write_new(file: Path, text: str) -> None:
    """Write a file that is not there yet; its folders are made.

    Raises:
        ToolError: it is there, or cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="") as out:
            out.write(text)
    except FileExistsError:
        raise ToolError(f"{file.name} is there already; append_to_document_tool adds to it") from None
    except OSError as error:
        raise ToolError(f"{file.name} could not be written: {error.strerror}") from None


def replace(file: Path, text: str) -> None:
    """Write a file in place of another; readers see the old one or the new one.

    Raises:
        ToolError: it cannot be written.
    """
    made = None
    try:
        mode = file.stat().st_mode & 0o777
        handle, made = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:50]}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        Path(made).chmod(mode)
        Path(made).replace(file)
    except OSError as error:
        if made is not None:
            Path(made).unlink(missing_ok=True)
        raise ToolError(f"{file.name} could not be written: {error.strerror}") from None


def slug(title: str) -> str:
    """Return a name for a file: small letters, digits and hyphens."""
    return "-".join(re.findall(r"\w+", title.lower().replace("_", " ")))[:80].strip("-")
