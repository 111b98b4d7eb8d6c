"""The streams of an MCP session over two pipes, one message a line, without threads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

__all__ = ["LINE", "Streams", "streams"]

LINE = 1 << 28
"""Bytes of one message at most."""
Streams: TypeAlias = tuple[Any, Any]


class _Writes:
    """Writes each message when it is sent."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, message: SessionMessage) -> None:
        """Write a message, and wait where the other side is slow."""
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        with contextlib.suppress(ConnectionError):
            self._writer.write(text.encode() + b"\n")
            await self._writer.drain()

    async def aclose(self) -> None:
        """Nothing: the process owns the pipe."""

    async def __aenter__(self) -> _Writes:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


@asynccontextmanager
async def streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Streams]:
    """Give the streams of a session."""
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](64)

    async def read() -> None:
        async with incoming:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
                while line := await reader.readline():
                    await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    task = asyncio.get_running_loop().create_task(read(), context=Context())
    try:
        yield read_stream, _Writes(writer)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        incoming.close()
        read_stream.close()
