"""The plugin ``toolpacks``: the packs, ``request_tools``, and ``skillkit packs``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import AgentRunner, HandlerContext
    from skillkit_core.events.types import SessionStartEvent
    from skillkit_core.tools import Tool, ToolSet

    from .events import ToolsRequestedEvent


class Hooks:
    """The hook of the plugin."""

    from skillkit_core import hookspec

    @hookspec
    def tools_requested(self, event: ToolsRequestedEvent) -> None:
        """See that a model got a pack of tools for its next answer, or did not, and why it wanted it. Observed."""


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the event of tools that were asked for."""
    add(Hooks, events="skillkit_toolpacks.events")


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the packs, where the plugin ``engines`` is there."""
    from skillkit_engines import ToolPack

    from .data import PACKS

    for pack in PACKS:
        register(ToolPack(*pack, waits=True))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit packs``."""
    register(
        Command("packs", "skillkit_toolpacks.cli:packs", "List the packs of tools, and which of them are complete.")
    )


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``request_tools`` where a tool waits for it, or a skill names it."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("toolpacks", _tools, lasting=True))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    kept, host = agent.host.state("toolpacks"), agent.host
    if "packs" not in host.kinds:
        return ()  # the plugin engines is not there
    key = host.skills.version, host.registry("packs").version, host.tools.version
    if kept.get("key") != key:
        from .requesting import tools_for

        kept["key"], kept["tools"] = key, tools_for(host)
    found: tuple[Tool, ...] = kept["tools"]
    return found


@hookimpl(optionalhook=True)
def explain_tools(agent: AgentRunner) -> Mapping[str, str] | None:
    """Say which tools wait, and for what, where the plugin ``why`` is there."""
    if "packs" not in agent.host.kinds:
        return None
    from .keeping_back import waiting

    return waiting(agent)


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Keep tools that wait out of requests, in sessions of hosts that have such tools."""
    agent = ctx.agent
    if (
        agent is None
        or "packs" not in agent.host.kinds
        or not any(pack.waits for pack in agent.host.registry("packs").items())
    ):
        return
    from .keeping_back import keep_back

    keep_back(agent)
