"""The streams of an MCP session over two pipes, one message a line, without threads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from skillkit_process import LineReader

__all__ = ["LINE", "Streams", "streams"]

LINE = 1 << 28
"""Bytes of one message at most."""
Streams: TypeAlias = tuple[Any, Any]
Write: TypeAlias = Callable[[bytes], Awaitable[object]]


class _Writes:
    """Writes each message when it is sent."""

    def __init__(self, write: Write) -> None:
        self._write = write

    async def send(self, message: SessionMessage) -> None:
        """Write a message, and wait where the other side is slow."""
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._write(text.encode() + b"\n")

    async def aclose(self) -> None:
        """Do nothing, because the process owns the pipe."""

    async def __aenter__(self) -> _Writes:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


@asynccontextmanager
async def streams(lines: LineReader, write: Write) -> AsyncIterator[Streams]:
    """Give the streams of a session.

    Args:
        lines: the messages of the other side.
        write: writes bytes to the other side, and waits where it is slow.
    """
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](64)

    async def read() -> None:
        async with incoming:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in lines:
                    await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    task = asyncio.get_running_loop().create_task(read(), context=Context())
    try:
        yield read_stream, _Writes(write)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        incoming.close()
        read_stream.close()
