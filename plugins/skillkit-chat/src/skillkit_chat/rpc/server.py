"""The process of ``skillkit rpc``: one live session, and one client on stdin and stdout."""

from __future__ import annotations

import math
import os
import sys
from typing import IO, TYPE_CHECKING

from skillkit_live import Connection, Lives, Server, relay

from skillkit_core import Origin, SessionLocked
from skillkit_core.cli.output import stdout

if TYPE_CHECKING:
    from skillkit_live import Live

    from skillkit_core import AgentConfig, Host

__all__ = ["serve"]


async def serve(host: Host, config: AgentConfig, session: str | None) -> int:
    """Serve one client on stdin and the command's stdout until it leaves; return the exit code."""
    out = os.fdopen(os.dup(stdout().fileno()), "wb", buffering=0)
    try:
        async with Lives(host, idle=math.inf, listen=True) as lives:  # the session ends with the client
            try:
                live = await lives.open(session, origin=Origin("rpc"), config=config)
            except SessionLocked as locked:
                if locked.owner is None or locked.owner.endpoint is None:
                    raise
                await relay(locked.owner.endpoint, sys.stdin.buffer, out)
                return 0
            host.freeze()
            await _serve(lives, live, out)
    finally:
        await host.aclose()
    return 0


async def _serve(lives: Lives, live: Live, out: IO[bytes]) -> None:
    async def leave() -> None:
        await server.live.abort("the client shut the server down", Origin("rpc"))
        await server.live.aclose()  # here, so that the client is told of the end

    server = Server(lives, live, "rpc", leave)
    server.connection = connection = Connection(sys.stdin.buffer, out, server.handle)
    await connection.ended.wait()
    await connection.drain()
    if server.live.state != "asking":  # what waits for an answer waits in the session
        server.live.agent.abort("the client is gone")
    server.close()
