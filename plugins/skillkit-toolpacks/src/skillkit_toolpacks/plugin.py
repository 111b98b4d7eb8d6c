"""The plugin ``toolpacks``: the packs, ``request_tools``, and ``skillkit packs``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import AgentRunner
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
        register(ToolPack(*pack))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit packs``."""
    register(
        Command("packs", "skillkit_toolpacks.cli:packs", "List the packs of tools, and which of them are complete.")
    )


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``request_tools`` where a skill names it."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("toolpacks", _tools, lasting=True))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    kept, skills = agent.host.state("toolpacks"), agent.host.skills
    if kept.get("version") != skills.version:
        named = any("request_tools" in (*skill.tools, *skill.optional_tools) for skill in skills.items())
        kept["version"], kept["named"] = skills.version, named
    if not kept["named"]:
        return ()
    from .requesting import TOOLS

    return TOOLS
