"""Which tools a request carries that no skill works on: those of packs that wait come when somebody names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_skills import skills_of

from .registries import catalog_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillkit_core import AgentRunner
    from skillkit_core.tools import Tool

    from .registries import Catalog

__all__ = ["plain_tools"]


def plain_tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """Return the tools that an agent offers, without those of packs that wait (:attr:`ToolPack.waits`).

    They wait only where a model can ask for them, by a tool that is annotated ``grants``. Tools of the agent itself, those that
    ``tools.allow`` names, and those of active skills do not wait.
    """
    offered, catalog = agent.tools, catalog_of(agent.host)
    if not catalog.waiting or not any(tool.annotations.get("grants") for tool in offered):
        return offered
    named = {*agent.host.config.get("tools.allow", ()), *(tool.name for tool in agent.toolbox.own)}
    named |= set(_of_skills(agent, catalog))
    return tuple(tool for tool in offered if tool.name not in catalog.waiting or tool.name in named)


def _of_skills(agent: AgentRunner, catalog: Catalog) -> Iterator[str]:
    """Yield the names of the tools of active skills."""
    for skill in skills_of(agent).active():
        yield from (*skill.tools, *skill.optional_tools, *skill.allowed_tools)
        for name in skill.tool_packs:
            yield from catalog.packs[name].tools if name in catalog.packs else ()
