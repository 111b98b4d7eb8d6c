"""Whole lines out of chunks: for a callback that wants one line at a time, and for a reader that awaits them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType

from .pipes import Pipe, Sink

__all__ = ["LineReader", "LineTooLong", "Lines"]


class Lines:
    """Calls ``on_line(line)`` for each line, without its newline: a subscriber of text for those who want whole lines.

    A line may have any length. A line that spans many chunks is joined once. ``close`` (or leaving the ``with`` block) hands over
    the last line when it has no newline.

    Example:
        >>> found = []
        >>> with Lines(found.append) as lines:
        ...     lines("one\\ntw")
        ...     lines("o")
        >>> found
        ['one', 'two']
    """

    __slots__ = ("_on_line", "_parts")

    def __init__(self, on_line: Callable[[str], object]) -> None:
        self._on_line = on_line
        self._parts: list[str] = []

    def __call__(self, text: str) -> None:
        """Take the next chunk."""
        lines = text.split("\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = "".join(self._parts)
            self._parts.clear()
        on_line = self._on_line
        for line in lines:
            on_line(line)
        if rest:
            self._parts.append(rest)

    def close(self) -> None:
        """Hand over what is left. Idempotent."""
        if self._parts:
            line = "".join(self._parts)
            self._parts.clear()
            self._on_line(line)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self.close()


class LineTooLong(ValueError):
    """A line is longer than its reader allows.

    Attributes:
        limit: the most bytes of a line.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(f"a line has more than {limit:,} bytes")
        self.limit = limit


class LineReader(Sink):
    """The lines of a stream of bytes, read no faster than they are taken.

    A line of up to ``limit`` bytes arrives whole. The reader holds the pipe back while more than ``ahead`` bytes of whole
    lines wait. It ends with the stream, and shortly after the program, because a process that the program left behind may
    hold the pipe open for ever.

    Args:
        limit: most bytes of a line.
        ahead: bytes of whole lines that may wait.

    Example:
        >>> async def show(lines: LineReader) -> None:
        ...     async for line in lines:
        ...         print(line.decode())
    """

    def __init__(self, limit: int = 1 << 28, ahead: int = 1 << 20) -> None:
        self.limit = limit
        self._ahead = ahead
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._parts: list[bytes] = []
        self._begun = 0
        self._pipe: Pipe | None = None
        self._more: asyncio.Event = asyncio.Event()
        self._ended = False
        self._too_long = False
        self._muted = False

    def attached(self, pipe: Pipe) -> None:
        """Hear which pipe to hold back."""
        self._pipe = pipe

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._ended or self._muted:
            return
        first, *more = data.split(b"\n")
        self._parts.append(first)
        self._begun += len(first)
        for part in more:
            if self._begun > self.limit:
                break
            self._lines.append(b"".join(self._parts))
            self._waiting += self._begun + 1
            self._parts = [part]
            self._begun = len(part)
        if self._begun > self.limit:
            self._too_long = True
            self.end()
        elif self._waiting > self._ahead and self._pipe is not None:
            self._pipe.pause()
        if more:
            self._more.set()

    def end(self) -> None:
        """Hand over the last line, though it has no newline."""
        if not self._ended and not self._too_long and (rest := b"".join(self._parts)):
            self._lines.append(rest)
        self._parts.clear()
        self._ended = True
        self._more.set()

    def exited(self) -> None:
        """End with the program."""
        self.end()

    def mute(self) -> None:
        """Throw away what comes: nobody takes lines any more."""
        self._muted = True
        if self._pipe is not None:
            self._pipe.resume()

    def __aiter__(self) -> LineReader:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines:
            if self._too_long:
                raise LineTooLong(self.limit)
            if self._ended:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        line = self._lines.popleft()
        self._waiting -= len(line) + 1
        if self._waiting <= self._ahead // 2 and self._pipe is not None and not self._ended:
            self._pipe.resume()
        return line

    async def readline(self) -> bytes | None:
        """Return the next line without its newline; ``None`` at the end.

        Raises:
            LineTooLong: the stream has a line of more than ``limit`` bytes; nothing after it is read.
        """
        return await anext(self, None)
