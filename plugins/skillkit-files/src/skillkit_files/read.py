"""Reads a file for a model: numbered lines of a text, an image, the cells of a notebook."""

from __future__ import annotations

import base64
import codecs
import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate
from typing import Any

from skillkit_core import ImageBlock

from .folder import FileError, Folder, read_all, shown
from .text import binary, decode, sendable

__all__ = ["Reading", "read_file"]

LINES = 2_000
_WIDTH = 2_000  # characters of a line
_ROOM = 60_000  # characters of an answer
_LARGEST = 512 << 20  # bytes of a text
_IMAGE = 5 << 20  # bytes that providers take
_NOTEBOOK = 16 << 20
_OUTPUT = 4_000  # characters of one output of a notebook
_CHUNK = 1 << 20
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(slots=True)
class Reading:
    """What was read.

    Attributes:
        text: the text for the model.
        digest: the digest of the whole file; ``None``: the file was not read to its end.
        image: the file as an image.
        details: facts for people and programs.
    """

    text: str
    digest: str | None = None
    image: ImageBlock | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Unreadable(FileError):
    """A file that is no text; ``digest`` is that of the whole file, if it was read to its end."""

    def __init__(self, error: FileError, digest: str | None) -> None:
        super().__init__(error.code, error.text)
        self.digest = digest


def read_file(folder: Folder, rel: str, path: str, offset: int, limit: int) -> Reading:
    """Read a file.

    Args:
        folder: where it is.
        rel: its place there.
        path: the path as it was given.
        offset: the first line, from 1.
        limit: most lines.

    Raises:
        FileError: there is no such file, it is no text, or the range is not in it.
    """
    with folder.open(rel) as (fd, info):
        head = os.pread(fd, 32, 0)
        media_type = _image_type(head)
        if media_type is not None:
            return _image(fd, info.st_size, media_type, path)
        if rel.endswith(".ipynb") and info.st_size <= _NOTEBOOK and offset == 1:
            data = read_all(fd, _NOTEBOOK + 1)
            cells = _notebook(data)
            if cells is not None:
                return Reading(cells, sha256(data).hexdigest(), details={"path": rel, "kind": "notebook"})
            os.lseek(fd, 0, os.SEEK_SET)
        if info.st_size > _LARGEST and b"\0" not in os.pread(fd, _CHUNK, 0):
            raise FileError(
                "too_large", f"{shown(path)} has {info.st_size:,} bytes; use grep to find the lines that matter"
            )
        return _lines(fd, info.st_size, rel, path, offset, limit)


def _image_type(head: bytes) -> str | None:
    """Return the media type of an image that models take, by its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def _image(fd: int, size: int, media_type: str, path: str) -> Reading:
    if size > _IMAGE:
        raise FileError("too_large", f"{shown(path)} is an image of {size:,} bytes; at most {_IMAGE:,} can be shown")
    data = read_all(fd, _IMAGE)
    block = ImageBlock(base64.b64encode(data).decode(), media_type)
    details = {"path": path, "kind": "image", "media_type": media_type, "bytes": size}
    return Reading(f"{shown(path)}: {media_type}, {size:,} bytes", sha256(data).hexdigest(), block, details)


# --- lines ------------------------------------------------------------------------------------------------------


class _Chosen:
    """Collects the lines of a range from a text that arrives in pieces: no step is made for each line."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset = offset
        self.limit = limit
        self.lines: list[bytes] = []  # those of the range, each up to four times as many bytes as characters are shown
        self.long: dict[int, int] = {}  # by place in ``lines``: the bytes of a line that may have to be cut
        self.room = _ROOM
        self.total = 0  # lines that ended
        self._begun = b""  # of the line that has not ended, if it is wanted
        self._length = 0  # its bytes

    def take(self, data: bytes) -> None:
        breaks, before = data.count(b"\n"), self.offset - 1 - self.total
        tail = len(data) - 1 - data.rfind(b"\n")
        if breaks >= before and self._wanted:
            if before > 0:
                data, self._length = data[_behind(data, before) :], 0
            self._choose(data)
        self.total += breaks
        self._length = tail if breaks else self._length + tail

    @property
    def _wanted(self) -> bool:
        return len(self.lines) < self.limit and self.room > 0

    def _choose(self, data: bytes) -> None:
        *ended, rest = data.split(b"\n", min(self.limit - len(self.lines), self.room // 8 + 1))
        if ended:
            lengths = list(map(len, ended))
            lengths[0] += self._length
            ended[0], self._begun = self._begun + ended[0], b""
            spent = list(accumulate(min(length, _WIDTH) + 8 for length in lengths))
            count = min(bisect_left(spent, self.room) + 1, len(ended))
            self.room -= spent[count - 1]
            if max(lengths) > _WIDTH:
                for place in range(count):
                    if lengths[place] > _WIDTH:
                        self.long[len(self.lines) + place] = lengths[place]
                        ended[place] = ended[place][: 4 * _WIDTH]
            self.lines += ended[:count]
        if self._wanted:
            self._begun = (self._begun + rest)[: 4 * _WIDTH]

    def end(self) -> None:
        """Take the last line, which no line break ends."""
        if not self._length:
            return
        self.total += 1
        if self.total >= self.offset and self._wanted:
            self.long[len(self.lines)] = self._length
            self.lines.append(self._begun)

    def rows(self, path: str) -> list[str]:
        """Return the lines with their numbers."""
        text = decode(b"\n".join(self.lines), path).text.replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        for place, length in self.long.items():
            if len(lines[place]) > _WIDTH:
                lines[place] = f"{lines[place][:_WIDTH]} [the line is cut here; it has {length} bytes]"
        return [f"{number:6}\t{line}" for number, line in enumerate(lines, self.offset)]


def _behind(data: bytes, count: int) -> int:
    """Return the place behind the line break number ``count``, which is there."""
    low, high = 0, len(data)
    while high - low > 1:
        middle = (low + high) // 2
        found = data.count(b"\n", low, middle)
        if found >= count:
            high = middle
        else:
            low, count = middle, count - found
    return high


def _lines(fd: int, size: int, rel: str, path: str, offset: int, limit: int) -> Reading:
    hasher, chosen = sha256(), _Chosen(offset, limit)
    mark = os.pread(fd, 2, 0)
    with_nul = False
    length = 0
    for piece in _pieces(fd, hasher, _MARKS.get(mark), path):
        length += len(piece)
        if b"\0" in piece:
            with_nul = True
            if size > _LARGEST:
                raise binary(path, size)
        if not with_nul:
            chosen.take(piece)
    digest = hasher.hexdigest()
    if with_nul:
        raise Unreadable(binary(path, size), digest)
    chosen.end()
    details = {"path": rel, "kind": "text", "lines": chosen.total, "bytes": size}
    if not length:
        return Reading("(the file is empty)", digest, details=details)
    if offset > chosen.total:
        raise FileError("invalid", f"{shown(path)} has {chosen.total} lines; offset {offset} is behind its end")
    last = offset + len(chosen.lines) - 1
    rows = chosen.rows(path)
    if last < chosen.total:
        rows.append(f"[lines {offset}-{last} of {chosen.total}; go on with offset={last + 1}]")
    return Reading(sendable("\n".join(rows)), digest, details=details)


def _pieces(fd: int, hasher: Any, codec: str | None, path: str) -> Iterator[bytes]:
    """Yield the text as UTF-8, or as it is where it is no UTF-16, without its mark; ``hasher`` gets all bytes."""
    decoder = codecs.getincrementaldecoder(codec)() if codec is not None else None
    first = True
    while data := os.read(fd, _CHUNK):
        hasher.update(data)
        if first:
            data = data[2:] if decoder is not None else data.removeprefix(b"\xef\xbb\xbf")
            first = False
        if decoder is None:
            yield data
            continue
        try:
            yield decoder.decode(data).encode()
        except UnicodeError as error:
            raise FileError("encoding", f"{shown(path)} is broken UTF-16: {error}") from None
    if decoder is not None:
        try:
            yield decoder.decode(b"", True).encode()
        except UnicodeError:
            raise FileError("encoding", f"{shown(path)} is broken UTF-16: it ends in half a character") from None


# --- notebooks --------------------------------------------------------------------------------------------------


def _notebook(data: bytes) -> str | None:
    """Return the cells of a notebook with their outputs; ``None``: it is none."""
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = parsed.get("cells") if isinstance(parsed, dict) else None
    if not isinstance(cells, list):
        return None
    parts: list[str] = []
    room = _ROOM
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        part = _cell(number, cell)
        room -= len(part)
        if room < 0:
            parts.append(f"[cells {number}-{len(cells)} are left out; use grep on the file]")
            break
        parts.append(part)
    return sendable("\n\n".join(parts) or "(the notebook has no cells)")


def _cell(number: int, cell: Mapping[str, Any]) -> str:
    kind = str(cell.get("cell_type") or "unknown")
    name = f" {cell['id']}" if isinstance(cell.get("id"), str) else ""
    source = _joined(cell.get("source"))
    lines = [f"--- cell {number}{name}: {kind}", _limited(source, _ROOM // 2)]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict) and (text := _output(output)):
            lines += ["--- output", text]
    return "\n".join(lines)


def _output(output: Mapping[str, Any]) -> str:
    if output.get("output_type") == "error":
        head = f"{output.get('ename')}: {output.get('evalue')}"
        return _limited(_plain(f"{head}\n{_joined(output.get('traceback'), chr(10))}"), _OUTPUT)
    if "text" in output:
        return _limited(_plain(_joined(output["text"])), _OUTPUT)
    data = output.get("data")
    if not isinstance(data, dict):
        return ""
    texts = [
        _limited(_plain(_joined(value)), _OUTPUT)
        for name, value in data.items()
        if name in ("text/plain", "text/markdown")
    ]
    others = [str(name) for name in data if not str(name).startswith("text/")]
    return "\n".join([*texts, *(f"[{name} is not shown]" for name in others)])


def _joined(value: Any, between: str = "") -> str:
    if isinstance(value, list):
        return between.join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return _ANSI.sub("", text).rstrip("\n")


def _limited(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[{len(text) - most} more characters]"
