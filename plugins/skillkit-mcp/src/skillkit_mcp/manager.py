"""The connections of a host, which its agents share, and those of one agent alone.

Those of a host are made when an agent first runs, and end with the host. Those of one agent last as long as :func:`connect` does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_core import ToolError, UnknownName, UsageError

from .config import McpConfig
from .servers import Configured, configured_servers, given_servers, server_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .connection import Connection

__all__ = [
    "Connections", "close", "connect", "connection_to", "connections_of", "kill", "known_connections", "used_by",
]  # fmt: skip

_all: WeakKeyDictionary[Host, Connections] = WeakKeyDictionary()
_own: WeakKeyDictionary[AgentRunner, Connections] = WeakKeyDictionary()


class Connections:
    """Servers on one event loop: those of a host, or those of one agent.

    Args:
        configured: the servers; ``None``: all that the host knows.

    Attributes:
        configured: every server, also those that cannot be used.
        problems: why a server was not even tried, by name.
        untold: what to tell whoever talks with an agent: a line for every server that failed.
        version: grows when a server comes or goes.
    """

    def __init__(self, host: Host, configured: Sequence[Configured] | None = None) -> None:
        self.host = host
        self.loop = asyncio.get_running_loop()
        self.config: McpConfig = host.config.section("mcp")
        self.untold: list[str] = []
        try:
            self.configured = list(configured_servers(host) if configured is None else configured)
        except UsageError as error:
            host.note("mcp", str(error), stage="mcp", remedy=error.hint or "")
            self.configured = []
            self.untold.append(str(error))
        self.problems: dict[str, str] = {}
        self.version = 0
        self._made: dict[str, Connection] = {}
        self._off: set[str] = set()
        self._said: set[str] = set()
        for one in self.configured:
            for problem in one.problems:
                self.say(one.name, problem)

    def say(self, name: str, problem: str) -> None:
        """Tell ``plugins doctor`` once what is wrong with a server."""
        text = f"MCP server {name!r}: {problem}"
        if text not in self._said:
            self._said.add(text)
            self.host.note("mcp", text, stage="mcp")

    def _failed(self, name: str, problem: str) -> None:
        """Tell of a server that cannot be used."""
        self.say(name, problem)
        self.untold.append(f"the MCP server {name!r} cannot be used: {problem}; see 'skillkit mcp show {name}'")

    def named(self, name: str) -> Configured:
        """Return a server.

        Raises:
            UnknownName: there is none of that name.
        """
        found = next((one for one in self.configured if name in (one.name, one.short)), None)
        if found is None:
            raise UnknownName("MCP server", name, [one.name for one in self.configured])
        return found

    def is_on(self, one: Configured) -> bool:
        """Return whether a server is used."""
        return one.usable and one.name not in self._off

    async def switch(self, one: Configured, on: bool) -> None:
        """Use a server, or end it and leave it out, until the host ends."""
        if on:
            self._off.discard(one.name)
        else:
            self._off.add(one.name)
            if (made := self._made.pop(one.name, None)) is not None:
                await made.close()
        self.version += 1

    async def reconnect(self, one: Configured) -> None:
        """End a server, which starts again when it is next needed."""
        if (made := self._made.pop(one.name, None)) is not None:
            await made.close()
        self.problems.pop(one.name, None)
        self.version += 1

    async def connection(self, one: Configured) -> Connection:
        """Return the connection to a server, made but perhaps not yet started.

        Raises:
            UsageError: the server cannot be used.
        """
        found = self._made.get(one.name)
        if found is None:
            if one.config is None:
                raise UsageError("; ".join(one.problems), where=f"MCP server {one.name!r}")
            server = await server_of(self.host, one)
            from .connection import Connection
            from .tokens import auth_for

            found = self._made.setdefault(one.name, Connection(server, auth_for(self.host)))
            self.version += 1
        return found

    async def start(self, seconds: float | None = None) -> None:
        """Start all servers that are used, side by side, and wait until each is ready or has failed.

        Args:
            seconds: how long to wait; those that need longer come later.
        """
        waits: list[asyncio.Future[None]] = []
        for one in self.configured:
            if not self.is_on(one):
                continue
            try:
                made = await self.connection(one)
            except UsageError as error:
                told = self.problems.get(one.name) == str(error)
                self.problems[one.name] = str(error)
                if not told:
                    self._failed(one.name, error.message + (f"; {error.hint}" if error.hint else ""))
                continue
            if made.state == "idle":
                made.start().add_done_callback(partial(self._arrived, made))
            waits += [made.start()] if made.state == "starting" else []
        if waits:
            await asyncio.wait(waits, timeout=self.config.wait if seconds is None else seconds)

    def _arrived(self, made: Connection, ready: asyncio.Future[None]) -> None:
        """Say what a server that has started lacks, or why it failed."""
        name = made.server.name
        if made.state == "failed":
            self._failed(name, made.problem or "it failed")
        for tool, why in made.messages.left_out.items():
            self.say(name, f"{tool} is left out: {why}")
        for tool, keywords in made.messages.unchecked.items():
            self.say(
                name, f"tool {tool!r}: nobody checks {', '.join(keywords)} in its arguments, but the server itself"
            )
        self.version += 1

    def made(self) -> Iterable[Connection]:
        """Return the connections that were made."""
        return [self._made[name] for name in sorted(self._made)]

    async def close(self) -> None:
        """End all servers."""
        made, self._made = list(self._made.values()), {}
        await asyncio.gather(*(one.close() for one in made), return_exceptions=True)

    def kill(self) -> None:
        """End all processes without waiting."""
        for one in self._made.values():
            with contextlib.suppress(OSError):
                one.kill()


def connections_of(host: Host) -> Connections:
    """Return the connections of a host on the running event loop."""
    found = _all.get(host)
    if found is None or found.loop is not asyncio.get_running_loop():
        if found is not None:
            found.kill()
        found = _all[host] = Connections(host)
    return found


def known_connections(host: Host) -> Connections | None:
    """Return the connections of a host, if any agent ran."""
    return _all.get(host)


@contextlib.asynccontextmanager
async def connect(agent: AgentRunner, servers: Mapping[str, Mapping[str, Any]]) -> AsyncIterator[Mapping[str, str]]:
    """Connect servers for one agent and the agents below it, beside those of its host.

    A server hides one of the host with the same name. Guards ask before its tools as before those of any server: what allows
    tools without a question (``alwaysAllow``, ``trustAnnotations``) counts in the configuration alone.

    Args:
        agent: the agent.
        servers: the servers by name, each in the shape of ``mcpServers``.

    Yields:
        Why servers cannot be used, by name. The servers end with the block.

    Raises:
        UsageError: the agent has servers of its own already.
    """
    if agent in _own:
        raise UsageError("the agent has MCP servers of its own already", hint="connect all of them at once")
    own = _own[agent] = Connections(agent.host, given_servers(servers))
    try:
        await own.start()
        failed = {made.server.name: made.problem or "it failed" for made in own.made() if made.state == "failed"}
        broken = {one.name: "; ".join(one.problems) for one in own.configured if one.config is None}
        own.untold.clear()  # the caller is told
        yield {**own.problems, **failed, **broken}
    finally:
        _own.pop(agent, None)
        await own.close()


def used_by(agent: AgentRunner) -> list[tuple[Connections, Connection]]:
    """Return the connections that an agent uses, made but perhaps not ready: its own, those of its ancestors, the host's."""
    found: dict[str, tuple[Connections, Connection]] = {}
    own = [_own[one] for one in agent.ancestors() if one in _own] if _own else []
    shared = _all.get(agent.host)
    for connections in [*own, *([shared] if shared is not None else [])]:
        for made in connections.made():
            found.setdefault(made.server.short, (connections, made))
    return list(found.values())


def connection_to(agent: AgentRunner, server: str) -> Connection:
    """Return the connection that an agent uses to the server of a name.

    Raises:
        ToolError: the server is not used any more.
    """
    found = next((made for _, made in used_by(agent) if made.server.name == server), None)
    if found is None:
        raise ToolError(f"the MCP server {server!r} is not used any more")
    return found


def _ended_with(host: Host) -> list[Connections]:
    """Return all connections of a host and of its agents, and forget them."""
    shared = _all.pop(host, None)
    own = [_own.pop(agent) for agent in list(_own) if agent.host is host]
    return [*own, *([shared] if shared is not None else [])]


async def close(host: Host) -> None:
    """End the servers of a host and of its agents."""
    for found in _ended_with(host):
        if found.loop is asyncio.get_running_loop():
            await found.close()
        else:
            found.kill()


def kill(host: Host) -> None:
    """End what is left of the servers of a host that closes without waiting."""
    for found in _ended_with(host):
        found.kill()
