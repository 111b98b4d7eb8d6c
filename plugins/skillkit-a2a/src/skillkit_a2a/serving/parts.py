"""What callers send as what an agent reads, and what an agent makes as what callers get."""

from __future__ import annotations

import base64
import json
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from a2a.types import Message, Part
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value

from skillkit_core import Block, DocumentBlock, ImageBlock, thaw

if TYPE_CHECKING:
    from skillkit_core import Host, Tool

__all__ = ["INPUT_MODES", "OUTPUT_MODES", "Made", "Said", "data_part", "made_by", "said_in", "text_part"]

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF = "application/pdf"
TEXT, JSON = "text/plain", "application/json"
INPUT_MODES = [TEXT, JSON, "text/markdown", "text/csv", *IMAGES, PDF]
OUTPUT_MODES = [TEXT, JSON, "application/octet-stream"]
_LARGEST = 8 * 1024 * 1024  # bytes of a file that is handed over


class Said(NamedTuple):
    """What a message says.

    Attributes:
        text: its texts, with data as JSON, and files of text marked by their names.
        blocks: images and documents.
        data: its data parts.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    data: tuple[Any, ...] = ()


def text_part(text: str) -> Part:
    """Return a text as a part."""
    return Part(text=text, media_type=TEXT)


def data_part(value: Any) -> Part:
    """Return a JSON value as a part."""
    return Part(data=json_format.Parse(json.dumps(value, default=thaw), Value()), media_type=JSON)


# --- what callers send ----------------------------------------------------------------------------------------------


def said_in(message: Message) -> Said:
    """Return what a message says.

    Raises:
        ContentTypeNotSupportedError: a part is of a kind that no agent here reads. InvalidParamsError: it says nothing.
    """
    texts: list[str] = []
    blocks: list[Block] = []
    data: list[Any] = []
    for part in message.parts:
        kind = part.WhichOneof("content")
        media = part.media_type.partition(";")[0].strip().lower()
        if kind == "text":
            texts.append(part.text)
        elif kind == "data":
            data.append(json_format.MessageToDict(part.data))
            texts.append(json.dumps(data[-1], ensure_ascii=False))
        elif kind == "url":
            texts.append(f"{part.filename or 'file'}: {part.url}")
        elif kind == "raw":
            _file(part.raw, media, part.filename, texts, blocks)
    text = "\n".join(texts)
    if not text.strip() and not blocks:
        raise InvalidParamsError(message="the message says nothing")
    return Said(text, tuple(blocks), tuple(data))


def _file(raw: bytes, media: str, name: str, texts: list[str], blocks: list[Block]) -> None:
    media = media or mimetypes.guess_type(name)[0] or TEXT
    if media in IMAGES:
        blocks.append(ImageBlock(data=base64.b64encode(raw).decode(), mime_type=media))
    elif media == PDF:
        blocks.append(DocumentBlock(data=base64.b64encode(raw).decode(), mime_type=media))
    elif media.startswith("text/") or media == JSON:
        texts.append(f"{name or 'file'}:\n{raw.decode('utf-8', 'replace')}")
    else:
        raise ContentTypeNotSupportedError(message=f"{media} is not read here; read are {', '.join(INPUT_MODES)}")


# --- what agents make -----------------------------------------------------------------------------------------------


class Made(NamedTuple):
    """Something that a tool hands over.

    Attributes:
        name: its name.
        parts: what it is.
    """

    name: str
    parts: list[Part]


def made_by(host: Host, tool: Tool | None, content: Sequence[Block], details: Any, folder: Path) -> Iterator[Made]:
    """Yield what the result of a tool hands over to the caller.

    These are the images and documents of the result, the file or the JSON that the action of a skill leaves, and what any
    tool names in its details: ``{"artifacts": [{"name": ..., "text" | "data" | "url" | "path": ..., "media_type": ...}]}``.

    Args:
        host: the host, which knows the actions.
        tool: the tool; ``None``: it is not known.
        content: the blocks of the result.
        details: its details.
        folder: the workspace, outside of which no file is handed over.
    """
    facts = details if isinstance(details, Mapping) else {}
    for block in content:
        if isinstance(block, (ImageBlock, DocumentBlock)) and block.data:
            yield Made("file", [Part(raw=base64.b64decode(block.data), media_type=block.mime_type)])
    output = _output_of(host, tool)
    if output == "json" and details is not None:
        yield Made(tool.name if tool is not None else "data", [data_part(details)])
    elif output == "file" and isinstance(facts.get("file"), str):
        yield from _handed({"path": facts["file"]}, folder)
    named = facts.get("artifacts")
    for one in named if isinstance(named, Sequence) and not isinstance(named, str) and output is None else ():
        if isinstance(one, Mapping):
            yield from _handed(one, folder)


def _output_of(host: Host, tool: Tool | None) -> str | None:
    """Return how the action behind a tool answers: ``json``, ``file``, ``text``; ``None``: it is no action of a skill."""
    facts = tool.annotations if tool is not None else {}
    name, action = facts.get("skill"), facts.get("action")
    if not action or not host.skills.has(str(name)):
        return None
    return next((one.output for one in host.skills.get(str(name)).actions if one.name == action), None)


def _handed(one: Mapping[str, Any], folder: Path) -> Iterator[Made]:
    name, media = str(one.get("name") or ""), str(one.get("media_type") or "")
    if isinstance(one.get("text"), str):
        yield Made(name or "text", [Part(text=one["text"], media_type=media or TEXT, filename=name)])
    elif "data" in one:
        yield Made(name or "data", [data_part(one["data"])])
    elif isinstance(one.get("url"), str):
        yield Made(name or "file", [Part(url=one["url"], media_type=media, filename=name)])
    elif isinstance(one.get("path"), str):
        path = (folder / one["path"]).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size <= _LARGEST:
            media = media or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            part = Part(raw=path.read_bytes(), media_type=media, filename=name or path.name)
            yield Made(name or path.name, [part])
