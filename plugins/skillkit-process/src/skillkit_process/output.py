"""Output in bounded memory: decoded for its subscriber as it arrives, head and tail kept for the result, secrets taken out."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from .pipes import Sink

__all__ = ["Capture", "Mask", "Spill", "Tail"]

_decoder = codecs.getincrementaldecoder("utf-8")


class Spill(Protocol):
    """A file for the whole of an output.

    Attributes:
        path: where it is; ``None``: the disk refused.
    """

    path: Path | None

    def write(self, data: bytes | bytearray) -> object:
        """Add ``data``, as far as it fits."""

    def close(self) -> None:
        """Close the file. Idempotent."""

    def discard(self) -> None:
        """Close the file and remove it."""


class Tail(Sink):
    """Keeps the end of a stream.

    Args:
        limit: bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._kept += data
        del self._kept[: -self._limit]

    @property
    def text(self) -> str:
        """The end of the stream, with U+FFFD for what is not UTF-8."""
        return _from_character(self._kept).decode("utf-8", "replace")


class Mask:
    """Takes secrets out of a stream of bytes, also where a chunk ends in the middle of one.

    Args:
        secrets: what becomes ``***``.
    """

    __slots__ = ("_held", "_pattern", "_secrets")

    def __init__(self, secrets: Collection[str]) -> None:
        self._secrets = sorted((secret.encode() for secret in secrets), key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets)))
        self._held = b""

    def __call__(self, data: bytes) -> bytes:
        """Return what can be shown of ``data``. An end that may begin a secret waits for the next call."""
        data = self._pattern.sub(b"***", self._held + data)
        begun = (n for s in self._secrets for n in range(min(len(s) - 1, len(data)), 0, -1) if data.endswith(s[:n]))
        show = len(data) - max(begun, default=0)
        self._held = data[show:]
        return data[:show]

    def rest(self) -> bytes:
        """Return what waited."""
        held, self._held = self._held, b""
        return held


class Capture(Sink):
    """Takes the bytes of one stream in bounded memory.

    Bytes that are not UTF-8 become U+FFFD; a character may be split over any number of chunks.

    Args:
        limit: characters that :meth:`finish` keeps: half from the start, half from the end.
        callback: called with decoded text as it arrives.
        spill: opens the file for the whole output once it does not fit into memory; ``None``: the middle is lost.
        mask: takes secrets out of everything, the file too.
    """

    __slots__ = ("_callback", "_decoder", "_file", "_half", "_head", "_limit", "_mask", "_spill", "_tail", "total")

    def __init__(
        self,
        limit: int,
        callback: Callable[[str], object] | None = None,
        spill: Callable[[], Spill | None] | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._limit = limit
        self._half = 4 * ((limit + 1) // 2)  # bytes: half of the characters, of at most four each
        self._callback = callback
        self._decoder = _decoder("replace") if callback is not None else None
        self._spill = spill
        self._mask = mask
        self._file: Spill | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes. An exception of the subscriber passes through."""
        self._take(data if self._mask is None else self._mask(data))

    def _take(self, data: bytes) -> None:
        self._keep(data)
        if self._callback is not None and self._decoder is not None:
            text = self._decoder.decode(data)
            if text:
                self._callback(text)

    def end(self) -> None:
        """Give the subscriber what the mask kept, and what an unfinished character leaves (U+FFFD)."""
        self._end_mask()
        callback, self._callback = self._callback, None
        if callback is not None and self._decoder is not None:
            text = self._decoder.decode(b"", True)
            if text:
                callback(text)

    def mute(self) -> None:
        """Call the subscriber no more."""
        self._callback = None

    def _keep(self, data: bytes) -> None:
        half = self._half
        before = self.total
        self.total = total = before + len(data)
        if self._file is not None:
            self._file.write(data)
        elif total > 2 * half >= before:
            self._start_file(data)
        room = half - len(self._head)
        if room > 0:
            self._head += data[:room]
            if len(data) <= room:
                return
            data = data[room:]
        tail = self._tail
        if len(data) >= half:
            tail[:] = data[len(data) - half :]
            return
        tail += data
        if len(tail) > 2 * half:
            del tail[: len(tail) - half]

    def _end_mask(self) -> None:
        if self._mask is not None and (rest := self._mask.rest()):
            self._take(rest)

    def _start_file(self, more: bytes = b"") -> None:
        self._file = file = self._spill() if self._spill is not None else None
        if file is not None:
            file.write(self._head)
            file.write(self._tail)
            file.write(more)

    def finish(self) -> tuple[str, bool, Path | None]:
        """Return the text to keep, whether that is not everything, and the file with everything."""
        self._end_mask()
        half = self._half
        if self.total <= 2 * half:
            whole = (self._head + self._tail).decode("utf-8", "replace")
            if len(whole) <= self._limit:
                self.close()
                return whole, False, None
            head = tail = whole
            self._start_file()
        else:
            head = _decoder("replace").decode(bytes(self._head))  # a character cut in two is left out
            tail = _from_character(self._tail[max(0, len(self._tail) - half) :]).decode("utf-8", "replace")
        first = self._limit // 2
        last = self._limit - first
        note = f"\n[... the middle of {self.total:,} bytes is left out ...]\n"
        text = head[:first] + note + (tail[-last:] if last else "")
        self.close()
        return text, True, self._file.path if self._file is not None else None

    def close(self) -> None:
        """Close the file, if there is one. Idempotent."""
        if self._file is not None:
            self._file.close()

    def discard(self) -> None:
        """Remove the file, if there is one, because nobody will get the result that names it."""
        if self._file is not None:
            self._file.discard()


def _from_character(data: bytearray) -> bytearray:
    """Return ``data`` without the rest of a character that begins before it."""
    start = 0
    while start < 3 and start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
