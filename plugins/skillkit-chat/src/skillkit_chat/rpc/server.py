"""The process of ``skillkit rpc``: one live session, and one client on stdin and stdout."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from skillkit_live import Connection, Lives, Server

from skillkit_core import Origin

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, Host

__all__ = ["serve"]


async def serve(host: Host, config: AgentConfig, session: str | None) -> int:
    """Serve one client on stdin and stdout until it leaves; return the exit code.

    Whatever else prints in this process goes to stderr, so that stdout holds the protocol alone.
    """
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    sys.stdout.flush()
    os.dup2(2, 1)
    try:
        async with Lives(host) as lives:
            live = await lives.open(session, origin=Origin("rpc"), config=config)
            host.freeze()

            async def leave() -> None:
                await server.live.abort("the client shut the server down", Origin("rpc"))

            server = Server(lives, live, "rpc", leave)
            server.connection = connection = Connection(sys.stdin.buffer, out, server.handle)
            await connection.ended.wait()
            await connection.drain()
            server.live.agent.abort("the client is gone")
            server.close()
    finally:
        await host.aclose()
    return 0
