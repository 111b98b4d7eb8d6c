"""The loopback server of ``provider.py``: Chat Completions and the Messages API, as fast as a model that need not think.

The model's name asks for the answer: ``text-8`` a few words, ``text-20000`` as many deltas at once when streamed, ``live-300``
one per millisecond, ``loop-100`` a hundred calls of ``add`` first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any, Protocol

WORDS = "the of that and in a to is with"


class Wire(Protocol):
    """What differs between the wires: a whole answer, and the first, each and last event of a streamed one."""

    def done(self, messages: list[Any]) -> int: ...

    def whole(self, call: int | None) -> dict[str, Any]: ...

    def streamed(self) -> tuple[bytes, bytes, bytes]: ...


class Chat:
    """Chat Completions."""

    def done(self, messages: list[Any]) -> int:
        """Calls that were answered so far."""
        return sum(m["role"] == "tool" for m in messages)

    def whole(self, call: int | None) -> dict[str, Any]:
        """An answer with the call of this number, or with words."""
        message: dict[str, Any] = {"role": "assistant", "content": WORDS}
        if call is not None:
            function = {"name": "add", "arguments": json.dumps({"a": call, "b": 1})}
            calls = [{"id": f"c{call}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        usage = {"prompt_tokens": 11, "completion_tokens": 8, "total_tokens": 19}
        return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message}], "usage": usage}

    def streamed(self) -> tuple[bytes, bytes, bytes]:
        """What comes before the deltas, a delta, and what comes after them."""

        def event(delta: Mapping[str, str], finish: str | None) -> bytes:
            chunk = {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            return b"data: " + json.dumps(chunk).encode() + b"\n\n"

        return b"", event({"content": "word "}, None), event({}, "stop") + b"data: [DONE]\n\n"


class Messages:
    """The Messages API."""

    def done(self, messages: list[Any]) -> int:
        """Calls that were answered so far."""
        blocks = (b for m in messages if isinstance(m["content"], list) for b in m["content"])
        return sum(b["type"] == "tool_result" for b in blocks)

    def whole(self, call: int | None) -> dict[str, Any]:
        """An answer with the call of this number, or with words."""
        block: dict[str, Any] = {"type": "text", "text": WORDS}
        if call is not None:
            block = {"type": "tool_use", "id": f"c{call}", "name": "add", "input": {"a": call, "b": 1}}
        reason = "end_turn" if call is None else "tool_use"
        return {**self._message(), "content": [block], "stop_reason": reason}

    def _message(self) -> dict[str, Any]:
        usage = {"input_tokens": 11, "output_tokens": 8}
        return {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}

    def streamed(self) -> tuple[bytes, bytes, bytes]:
        """What comes before the deltas, a delta, and what comes after them."""

        def event(kind: str, **fields: Any) -> bytes:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

        begin = event("message_start", message={**self._message(), "stop_reason": None})
        begin += event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        delta = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "word "})
        end = event("content_block_stop", index=0)
        end += event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 8})
        return begin, delta, end + event("message_stop")


WIRES: dict[bytes, Wire] = {b"/v1/chat/completions": Chat(), b"/v1/messages": Messages()}


async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until the client leaves."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await serve(reader, writer)
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        lines = head.split(b"\r\n")
        wire = WIRES[lines[0].split(b" ")[1]]
        length = next(line for line in lines if line.lower().startswith(b"content-length:"))
        body = json.loads(await reader.readexactly(int(length.split(b":")[1])))
        kind, _, count = body["model"].partition("-")
        if not body.get("stream"):
            done = wire.done(body["messages"])
            data = json.dumps(wire.whole(done if kind == "loop" and done < int(count) else None)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data) + data
            )
            continue
        begin, delta, end = wire.streamed()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        if begin:
            writer.write(b"%x\r\n%s\r\n" % (len(begin), begin))
        piece = b"%x\r\n%s\r\n" % (len(delta), delta)
        for _ in range(int(count)):
            writer.write(piece)
            if kind == "live":
                await asyncio.sleep(0.001)
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))


async def main() -> None:
    """Serve until this process is ended; the port is printed."""
    running = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(running.sockets[0].getsockname()[1], flush=True)
    await running.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
