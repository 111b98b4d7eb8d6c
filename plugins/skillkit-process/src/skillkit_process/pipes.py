"""The reading end of a pipe, and what takes the bytes."""

from __future__ import annotations

import asyncio
import os
from array import array
from collections.abc import Callable
from fcntl import ioctl
from termios import FIONREAD

__all__ = ["Pipe", "Sink"]

CHUNK = 256 * 1024


class Sink:
    """Takes the bytes of one stream. Each method is called on the loop that reads the pipe."""

    def attached(self, pipe: Pipe) -> None:
        """Hear which pipe is read, before the first byte."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes. An exception ends the program, and is raised to whoever waits for it."""

    def end(self) -> None:
        """Take the end of the stream."""

    def exited(self) -> None:
        """Take the end of the program, a moment ago: what comes now is written by a process that it left behind."""

    def mute(self) -> None:
        """Call nobody any more, and let the pipe be read to its end."""


class Pipe:
    """Reads a pipe on the running loop and hands the bytes to a sink.

    Args:
        fd: the reading end, which belongs to the pipe from now on.
        sink: takes the bytes.
        on_end: called once, when the pipe was closed.
        on_error: called with what the sink raised.
    """

    __slots__ = ("_fd", "_loop", "_on_end", "_on_error", "_reading", "sink")

    def __init__(
        self,
        fd: int,
        sink: Sink,
        on_end: Callable[[], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._fd = fd
        self.sink = sink
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._on_error = on_error
        self._reading = False
        os.set_blocking(fd, False)
        sink.attached(self)
        self.resume()

    def pause(self) -> None:
        """Read no more until :meth:`resume`: the program waits when the pipe is full."""
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False

    def resume(self) -> None:
        """Read again."""
        if self._fd >= 0 and not self._reading and not self._loop.is_closed():
            self._loop.add_reader(self._fd, self.read)
            self._reading = True

    def read(self) -> int:
        """Hand on what is there, at most one chunk; return how many bytes that was."""
        if self._fd < 0:
            return 0
        try:
            data = os.read(self._fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return 0
        try:
            if data:
                self.sink.feed(data)
            else:
                self.close()
                self.sink.end()
        except Exception as error:  # noqa: BLE001 - whoever waits for the program gets the sink's error
            self.sink.mute()
            if self._on_error is not None:
                self._on_error(error)
        return len(data)

    def sweep(self) -> None:
        """Read what the pipe holds now, and not what a survivor keeps writing."""
        if self._fd < 0:
            return
        waiting = array("i", [0])
        ioctl(self._fd, FIONREAD, waiting)
        left = waiting[0]
        while left > 0 and (count := self.read()):
            left -= count

    def close(self) -> None:
        """Stop reading. Idempotent."""
        if self._fd < 0:
            return
        self.pause()
        os.close(self._fd)
        self._fd = -1
        if self._on_end is not None:
            self._on_end()
