"""A server on loopback that answers as a test says, and a client that asks it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from skillkit_anthropic import AnthropicAdapter

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

MODEL = ModelDefinition("claude-sonnet-4-5", "anthropic")
TEXT = [
    {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def sse(events: list[dict[str, Any]]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def ask(text: str = "hi", **fields: Any) -> LLMRequest:
    return LLMRequest(MODEL, [UserMessage(content=text)], **fields)


async def collect(adapter: AnthropicAdapter, request: LLMRequest | None = None) -> list[Any]:
    try:
        return [event async for event in adapter.stream(request or ask())]
    finally:
        await adapter.close()


class Server:
    """A loopback server that answers every request with ``answer(request) -> pieces of the raw response``."""

    def __init__(self, answer: Callable[[dict[str, Any]], AsyncIterator[bytes]]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self._talks: dict[asyncio.Task[Any], asyncio.Task[Any]] = {}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        current = asyncio.current_task()
        assert current is not None
        talk = self._talks[current] = asyncio.create_task(self._talk(reader, writer))
        await asyncio.wait([talk])
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                seen = {
                    "line": head[0],
                    "headers": headers,
                    "body": json.loads(body) if body else None,
                    "raw": body,
                    "reader": reader,
                }
                self.requests.append(seen)
                async for piece in self.answer(seen):
                    writer.write(piece)
                    await writer.drain()

    @contextlib.asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for talk in self._talks.values():
                talk.cancel()
            await asyncio.gather(*self._talks)


def response(body: bytes, status: str = "200 OK", kind: str = "text/event-stream", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{extra}content-length: {len(body)}\r\n\r\n".encode() + body


def answering(*bodies: bytes) -> Callable[[dict[str, Any]], AsyncIterator[bytes]]:
    left = list(bodies)

    async def answer(request: dict[str, Any]) -> AsyncIterator[bytes]:
        yield left.pop(0) if len(left) > 1 else left[0]

    return answer
