"""The plugin ``mcp``: servers as tools, resources and slash commands, ``/mcp``, and ``skillkit mcp``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import BeforeAgentStartEvent, HandlerContext, Host, ToolCallEvent, ToolCallEventResult, ToolSet


class Hooks:
    """The hook of the family."""

    @hookspec
    def register_mcp_servers(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer servers that no configuration names: ``register(Factory(name, create))``.

        ``create(host)`` makes a function ``() -> {name: {...}}`` with ``config`` (the server in the shape of ``mcpServers``),
        ``origin`` and ``path`` (for people), and perhaps ``short``, the name wished for in the names of its tools. What would let
        tools run without a question is refused. A server of the configuration hides one of the same name.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``register_mcp_servers`` and its registry."""
    add(Hooks, kinds={"mcp_servers": Factory})


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``mcp``."""
    register(ConfigSection("mcp", "skillkit_mcp.config:McpConfig"))


@hookimpl
def register_tools(register: Callable[[ToolSet], None], host: Host) -> None:
    """Offer the tools of servers. What the variables for servers hold is secret from now on, before anything is said."""
    from skillkit_core.tools import ToolSet

    section = host.config.section("mcp", None)
    for name in section.variables if section is not None else ():
        host.remember_secret(host.environ.get(name) or "")
    register(ToolSet("mcp", "skillkit_mcp.startup:offered_tools", lasting=True))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit mcp``."""
    register(Command("mcp", "skillkit_mcp.cli:mcp", "List, import and log in to MCP servers; be one."))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/mcp``, and a slash command for every prompt of a server."""
    from .slash import COMMANDS

    for command in COMMANDS:
        register(command)


@hookimpl(optionalhook=True)
def register_permission_rules(register: Callable[[Factory], None]) -> None:
    """Tell ``permissions`` which tools the user lets run without a question."""
    register(Factory("mcp", "skillkit_mcp.startup:PermissionRules"))


@hookimpl(optionalhook=True)
def register_login_stores(register: Callable[[Factory], None]) -> None:
    """Tell ``skillkit auth`` the logins at servers, where the plugin ``keyring`` is there."""
    register(Factory("mcp", "skillkit_mcp.logins:Logins"))


@hookimpl
def project_content(register: Callable[..., None], folder: str) -> None:
    """Name the servers that a project brings."""
    register(".mcp.json", partial(_described, folder))


def _described(folder: str) -> list[str]:
    from .servers import described

    return described(folder)


@hookimpl(timeout=700)
async def before_agent_start(event: BeforeAgentStartEvent, ctx: HandlerContext) -> None:
    """Start the servers, if there are any."""
    from .startup import any_server, start

    agent = ctx.agent
    if agent is not None and any_server(agent.host):
        await start(agent)


@hookimpl(phase="guard", while_=("mcp",))
def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Ask before tools of servers."""
    if "mcp" not in event.annotations:
        return None
    from .guard import ask

    return ask(event, ctx)


@hookimpl
async def host_closing(host: Host) -> None:
    """End the servers."""
    if f"{__package__}.startup" in sys.modules:
        from .startup import close

        await close(host)


@hookimpl
def host_shutdown(host: Host) -> None:
    """End what is left of the servers."""
    if f"{__package__}.startup" in sys.modules:
        from .startup import kill

        kill(host)
