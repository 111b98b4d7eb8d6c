"""What is asked in every run: are there servers at all? The SDK is imported only where there are."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from logging import getLogger
from os import F_OK, access
from typing import TYPE_CHECKING
from weakref import WeakSet

from skillkit_core import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Tool

__all__ = ["PermissionRules", "any_server", "close", "kill", "leave_out", "offered_tools", "start"]

_MANAGER = "skillkit_mcp.manager"
_left_out: WeakSet[Host] = WeakSet()


def leave_out(host: Host) -> None:
    """Start no server of a host: the host is a server itself, and may be among its own servers."""
    _left_out.add(host)


def any_server(host: Host) -> bool:
    """Return whether a server may have to be started."""
    state = host.state("mcp")
    if "places" not in state:  # what is looked at in every run
        registry = host.registry("mcp_servers") if "mcp_servers" in host.kinds else None
        state["places"] = str(host.config_dir / "mcp.json"), str(host.cwd / ".mcp.json"), registry
    own, project, registry = state["places"]
    found = access(own, F_OK) or (access(project, F_OK) and host.trusts(".mcp.json")) or host.config.raw("mcp.servers")
    return bool(found or (registry is not None and registry.list())) and host not in _left_out


class PermissionRules:
    """What ``alwaysAllow`` means in rules of the plugin ``permissions``."""

    while_ = ("mcp",)

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self, agent: AgentRunner) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
        """Return the tools of each server that run without a question."""
        found: dict[str, list[str]] = {}
        for tool in offered_tools(agent):
            about = tool.annotations.get("mcp")
            if about is not None and about["always_allow"]:
                found.setdefault(about["server"], []).append(tool.name)
        return [(f"alwaysAllow of the MCP server {server}", {"allow": names}) for server, names in found.items()]


async def start(agent: AgentRunner) -> None:
    """Start the servers of an agent's host and wait until each is ready or has failed, at most ``mcp.wait`` seconds.

    Whoever talks with the agent is told once of each server that has failed.
    """
    from .manager import connections_of

    host = agent.host
    try:
        connections = connections_of(host)
        agent.toolbox.changed()
        await connections.start()
    except UsageError as error:
        host.note("mcp", str(error), stage="mcp")
        return
    untold, connections.untold = connections.untold, []
    for line in untold:
        if agent.ui is not None:
            await agent.ui.notify(line, "warning")
        else:
            getLogger("skillkit").warning("%s", line)


def offered_tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """Return the tools of the servers that were started."""
    if _MANAGER not in sys.modules:
        return ()
    from .tools import offered_tools as of_servers

    agent.toolbox.changed()  # servers come, go and change their tools in the middle of a run
    return of_servers(agent)


async def close(host: Host) -> None:
    """End the servers of a host."""
    if _MANAGER in sys.modules:
        from .manager import close as close_all

        await close_all(host)


def kill(host: Host) -> None:
    """End the processes of a host without waiting."""
    if _MANAGER in sys.modules:
        from .manager import kill as kill_all

        kill_all(host)
