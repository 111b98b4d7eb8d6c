"""The MCP servers that an editor brings: connections of one agent alone, as long as the editor has the session open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acp import schema as s

from skillkit_core import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Servers", "configured"]


def configured(servers: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Return the servers that the editor names, in the shape of ``mcpServers``.

    Raises:
        UsageError: a server is spoken to in a way that was not offered.
    """
    found: dict[str, dict[str, Any]] = {}
    for server in servers:
        if isinstance(server, s.McpServerStdio):
            env = {one.name: one.value for one in server.env}
            found[server.name] = {"command": server.command, "args": list(server.args), "env": env}
        elif isinstance(server, s.HttpMcpServer):
            found[server.name] = {"url": server.url, "headers": {one.name: one.value for one in server.headers}}
        else:
            raise UsageError(f"the MCP server {server.name!r} is neither over stdio nor over HTTP")
    return found


class Servers:
    """Connections of one agent. One task opens and closes them, as the library below wants it."""

    def __init__(self, agent: AgentRunner, servers: Mapping[str, Mapping[str, Any]]) -> None:
        self._agent, self._servers = agent, servers
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> list[str]:
        """Connect; return a line for each server that cannot be used."""
        if "mcp" not in self._agent.host.plugins:
            return ["the MCP servers of the editor are left out: the plugin 'mcp' is off"]
        ready: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(ready))
        return await ready

    async def _hold(self, ready: asyncio.Future[list[str]]) -> None:
        from skillkit_mcp import connect

        try:
            async with connect(self._agent, self._servers) as problems:
                ready.set_result([f"the MCP server {name!r} cannot be used: {why}" for name, why in problems.items()])
                await self._over.wait()
        except Exception as error:  # noqa: BLE001 - a server of the editor: the session goes on without it
            if not ready.done():
                ready.set_result([f"the MCP servers of the editor cannot be used: {error}"])

    async def close(self) -> None:
        """End the servers."""
        self._over.set()
        if self._task is not None:
            await self._task
