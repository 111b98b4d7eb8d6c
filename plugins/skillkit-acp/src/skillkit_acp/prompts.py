"""What a person says in the editor, as an agent takes it: text with mentions, images, documents, texts that are embedded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from acp import schema as s
from skillkit_frontend import as_mention, images_in

from skillkit_core import Block, DocumentBlock, ImageBlock, UsageError

__all__ = ["Said", "said", "without_context"]

_CONTEXT = re.compile(r'\n\n<context ref="[^"\n]*">\n.*?\n</context>(?=\n\n<context ref=|\Z)', re.S)


class Said(NamedTuple):
    """A message of a person.

    Attributes:
        text: the text, with ``@path`` for files that are mentioned, and what is embedded at its end.
        blocks: images and documents.
    """

    text: str
    blocks: list[Block]


def said(prompt: Iterable[Any], folder: Path) -> Said:
    """Return what the blocks of a prompt say.

    A file that follows a blank, or begins the text, is mentioned there; one that is attached behind a text stands before it.

    Args:
        folder: the workspace; mentions of files in it are relative.

    Raises:
        UsageError: a block is of a kind that no agent here takes, or an image that is mentioned cannot be read.
    """
    text, behind = "", ""
    attached: list[str] = []
    blocks: list[Block] = []
    for block in prompt:
        match block:
            case s.TextContentBlock():
                text += block.text
            case s.ImageContentBlock():
                blocks.append(ImageBlock(data=block.data, mime_type=block.mime_type))
            case s.ResourceContentBlock():
                text = _joined(text, _mention(block.uri, folder), attached)
            case s.EmbeddedResourceContentBlock(resource=s.TextResourceContents() as found):
                text = _joined(text, _mention(found.uri, folder), attached)
                behind += f'\n\n<context ref="{_quoted(found.uri)}">\n{found.text}\n</context>'
            case s.EmbeddedResourceContentBlock(resource=s.BlobResourceContents() as found):
                blocks.append(_attached(found))
            case _:
                raise UsageError(f"a prompt cannot hold {getattr(block, 'type', 'such a block')!r} here")
    named = " ".join(attached)
    if named:
        text = f"{text} {named}" if text.startswith("/") else f"{named}\n\n{text}"
    return Said(text + behind, [*blocks, *images_in(text, folder)])


def without_context(text: str) -> str:
    """Return a message without what was embedded, as the person wrote it."""
    return _CONTEXT.sub("", text)


def _joined(text: str, mention: str, attached: list[str]) -> str:
    """Return a text that goes on with a mention, unless the file is attached to what was said before."""
    if text and not text[-1].isspace():
        attached.append(mention)
        return text
    return f"{text}{mention} "


def _mention(uri: str, folder: Path) -> str:
    """Return how a file is mentioned; of other addresses the address."""
    parts = urlsplit(uri)
    if parts.scheme not in ("file", ""):
        return uri
    path = Path(unquote(parts.path))
    if path.is_absolute() and path.is_relative_to(folder):
        path = path.relative_to(folder)
    lines = re.fullmatch(r"L(\d+)(?:[:-]L?(\d+))?", parts.fragment)
    where = f" (line{'s' if lines[2] else ''} {lines[1]}{f'-{lines[2]}' if lines[2] else ''})" if lines else ""
    return as_mention(str(path)) + where


def _quoted(uri: str) -> str:
    return uri.replace('"', "%22").replace("\n", "%0A")


def _attached(found: s.BlobResourceContents) -> Block:
    kind = found.mime_type or ""
    if kind.startswith("image/"):
        return ImageBlock(data=found.blob, mime_type=kind)
    if kind == "application/pdf":
        return DocumentBlock(data=found.blob, mime_type=kind, title=Path(unquote(urlsplit(found.uri).path)).name)
    raise UsageError(f"{found.uri} is of type {kind or 'unknown'}", hint="images and PDF can be attached")
