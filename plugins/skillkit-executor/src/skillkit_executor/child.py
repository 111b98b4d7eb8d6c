"""The process that runs tools: ``python -m skillkit_executor.child stdio|http``. It ends when its stdin does.

Over HTTP the first line of stdin is the token, and the first line of stdout the port on 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import signal
import sys
from typing import Any

from .server import ToolServer

__all__ = ["main"]


async def _stdio(tools: ToolServer) -> None:
    from skillkit_process import LineReader, Pipe

    from .message_streams import LINE, streams

    loop = asyncio.get_running_loop()
    stdin, stdout = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # tools read nothing of the wire
    os.dup2(2, 1)  # what a tool prints is no answer
    lines = LineReader(LINE)
    Pipe(stdin, lines)
    pipe, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(stdout, "wb", 0))
    writer = asyncio.StreamWriter(pipe, flow, None, loop)

    async def write(data: bytes) -> None:
        writer.write(data)
        with contextlib.suppress(ConnectionError):
            await writer.drain()

    async with streams(lines, write) as (read_stream, write_stream):
        await tools.server.run(read_stream, write_stream, tools.server.create_initialization_options())


class _OnlyWithToken:
    """Lets in requests that bear the token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


async def _http(tools: ToolServer) -> None:
    import socket

    import uvicorn

    token = sys.stdin.readline().strip()
    app = _OnlyWithToken(tools.server.streamable_http_app(session_idle_timeout=None), token)
    # with its protocol named, asyncio sends small answers at once
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)  # whoever reads the port may connect before uvicorn accepts
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1, ws="none")
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    print(json.dumps({"port": listening.getsockname()[1]}), flush=True)  # noqa: T201
    os.dup2(2, 1)  # what a tool prints is no answer
    null = os.open(os.devnull, os.O_RDONLY)
    stdin = os.dup(0)
    os.dup2(null, 0)
    loop = asyncio.get_running_loop()

    def end() -> None:
        if not os.read(stdin, 4096):
            loop.remove_reader(stdin)
            server.should_exit = True

    loop.add_reader(stdin, end)
    await server.serve([listening])


async def _serve(how: str) -> None:
    tools = ToolServer()
    work = asyncio.ensure_future(_http(tools) if how == "http" else _stdio(tools))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await work
    finally:
        async with asyncio.timeout(8):
            await tools.close()


def main() -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    with contextlib.suppress(TimeoutError):
        asyncio.run(_serve(sys.argv[1]))
    # threads of tools that do not listen must not keep the process
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
