"""The transport of a server over stdio: its process, its messages, and the end of everything that it started.

A transport in the SDK's sense: an async context manager that gives the streams for its session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from contextvars import Context
from typing import TYPE_CHECKING

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from skillkit_process import Child, LineReader, LineTooLong, Tail

from .text import plain

if TYPE_CHECKING:
    from .messages import MessageFilter

__all__ = ["StdioTransport"]

_GRACE = 1.0  # seconds, after the end of stdin and after SIGTERM
_AFTER_OUTPUT = 0.3  # seconds for the end of a server whose output has ended
_STDERR = 4000
_SKIPPED = 4  # messages' length that an endless line may have


class StdioTransport:
    """Starts a server and carries its messages.

    Args:
        argv: the program and its arguments.
        env: all of its variables.
        cwd: its folder.
        messages: reads what the server writes.

    Attributes:
        ended: set when the server has ended.
        why: why the connection was ended from here; ``None``: it was not.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, messages: MessageFilter) -> None:
        self.ended = asyncio.Event()
        self.why: str | None = None
        self._argv, self._env, self._cwd = argv, env, cwd
        self._messages = messages
        self._lines = LineReader(limit=_SKIPPED * messages.max_message)
        self._errors = Tail(_STDERR)
        self._child: Child | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> TransportStreams:
        """Start the process.

        Raises:
            ToolError: the program cannot be started.
        """
        self._child = child = await Child.start(
            self._argv, self._lines, self._errors, env=self._env, cwd=self._cwd, stdin="pipe", marked=True
        )
        self._incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](64)
        write_stream, self._outgoing = anyio.create_memory_object_stream[SessionMessage](256)
        for work in (self._read(), self._write(child)):
            self._tasks.append(asyncio.get_running_loop().create_task(work, context=Context()))
        self._streams = (read_stream, write_stream)
        return self._streams

    async def __aexit__(self, *error: object) -> None:
        assert self._child is not None
        self._lines.mute()
        try:
            await self._child.end(_GRACE, gently=_GRACE if self.why is None else 0.0)
        finally:
            self._child.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for stream in (*self._streams, self._incoming, self._outgoing):
                stream.close()

    @property
    def pid(self) -> int | None:
        """The process."""
        return self._child.pid if self._child is not None else None

    def last_words(self) -> str:
        """Return how the process ended and the end of what it wrote to stderr."""
        code = self._child.code if self._child is not None else None
        how = ""
        if code is not None:
            how = f"it ended with status {code}" if code >= 0 else f"signal {-code} ended it"
        said = " ".join(plain(self._errors.text).split())[-1000:]
        return "; ".join(part for part in (self.why or how, f"it wrote: {said}" if said else "") if part)

    async def settled(self) -> None:
        """Wait a moment for the end of a process whose output has ended."""
        if self._child is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AFTER_OUTPUT):
                    await self._child.exited.wait()

    def kill(self) -> None:
        """End the process without waiting, when no loop runs any more."""
        if self._child is not None:
            self._child.kill()

    async def _read(self) -> None:
        """Send every message to the session, until the process ends."""
        async with self._incoming:
            try:
                count = 0
                async for line in self._lines:
                    for message in self._messages.read(line):
                        await self._incoming.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
                    count += 1
                    if count % 100 == 0:  # lines that are no messages let nobody else run
                        await asyncio.sleep(0)
            except LineTooLong as error:
                self.why = f"it sent a line of more than {error.limit:,} bytes"
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            finally:
                self.ended.set()

    async def _write(self, child: Child) -> None:
        """Write every message of the session."""
        async with self._outgoing:
            async for session_message in self._outgoing:
                message = session_message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                self._messages.sent(message)
                text = session_message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await child.send(text.encode() + b"\n")
