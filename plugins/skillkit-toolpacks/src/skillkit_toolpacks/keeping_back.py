"""A request carries no tool that waits; the answer to ``request_tools`` brings those of a pack for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_engines import catalog_of, plain_tools

from skillkit_core import TurnStartResult
from skillkit_core.messages import ToolResultMessage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillkit_core import AgentRunner
    from skillkit_core.events.types import TurnStartEvent
    from skillkit_core.messages import AgentMessage

__all__ = ["keep_back", "waiting"]


def keep_back(agent: AgentRunner) -> None:
    """Narrow each turn of an agent to the tools that do not wait, and those that its last results have brought.

    Engines choose the tools of their tasks themselves: a turn that code drives asks no model.
    """

    def narrow(event: TurnStartEvent) -> TurnStartResult | None:
        plain = {tool.name for tool in plain_tools(agent)}
        if all(tool.name in plain for tool in event.tools):
            return None
        plain.update(_brought(event.messages))
        return TurnStartResult(tools=tuple(tool for tool in event.tools if tool.name in plain))

    agent.events.on("turn_start", narrow, phase="first")


def waiting(agent: AgentRunner) -> Mapping[str, str]:
    """Return the tools of an agent that wait, each with its pack."""
    plain = {tool.name for tool in plain_tools(agent)}
    packs = {name: pack.name for pack in catalog_of(agent.host).packs.values() if pack.waits for name in pack.tools}
    return {
        tool.name: f"waits for the pack {packs[tool.name]}, which request_tools brings"
        for tool in agent.tools
        if tool.name not in plain
    }


def _brought(messages: Sequence[AgentMessage]) -> Iterator[str]:
    """Yield the names of the tools that the results behind the last answer have brought."""
    for message in reversed(messages):
        if not isinstance(message, ToolResultMessage):
            return
        if message.tool_name == "request_tools" and not message.is_error:
            yield from (message.details or {}).get("tools", ())
