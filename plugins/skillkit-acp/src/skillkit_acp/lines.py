"""Messages on stdin and stdout, one a line, as the protocol's library sends and receives them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from collections.abc import Callable
from typing import IO, Any

from skillkit_core import UsageError

__all__ = ["Lines", "open_lines"]

log = logging.getLogger("skillkit.acp")
_MOST = 64 * 1024 * 1024  # bytes of a message: a prompt may hold images


class Lines:
    """A transport of the library: ``send``, ``receive``, ``close``.

    Attributes:
        answered: called with each answer to the editor, once it is written.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.answered: Callable[[dict[str, Any]], object] = lambda message: None

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message, and wait while the editor reads too slowly."""
        self._writer.write(json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n")
        await self._writer.drain()
        if "method" not in message:
            self.answered(message)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; ``None``: the editor sends nothing more. A line that is no message is left out."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                log.warning("a line of the editor has more than %s bytes, and is left out", f"{_MOST:,}")
                continue
            if not line:
                return None
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                return message
            log.warning("a line of the editor is no message, and is left out: %.80r", line)

    async def close(self) -> None:
        """Send nothing more."""
        self._writer.close()


async def open_lines(out: IO[bytes]) -> Lines:
    """Return the lines on stdin and ``out``.

    Raises:
        UsageError: one of them is a file on the disk, or a device that is no terminal.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_MOST)
    try:
        if stat.S_ISCHR(os.fstat(0).st_mode) and not os.isatty(0):
            raise ValueError("/dev/null")  # the loop cannot wait for it, and would say so to nobody
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", 0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), out
        )
    except ValueError:
        hint = "start it from an editor"
        raise UsageError("the protocol goes over pipes, not over files or devices", hint=hint) from None
    return Lines(reader, asyncio.StreamWriter(transport, protocol, None, loop))
