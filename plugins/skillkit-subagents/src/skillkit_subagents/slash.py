"""``/agents`` in front ends: the agents that can be asked, the tree of those at work, and stopping one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from skillkit_commands import SlashCommand

from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["COMMAND", "agents", "complete"]

_TASK = 60  # characters


async def agents(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """List agents, or end one."""
    from .crew import stop, subagents_of
    from .definitions import usable

    words = arguments.split()
    if words[:1] == ["stop"] and len(words) == 2:
        return f"Stopping {stop(agent, words[1]).id}."
    if words:
        raise UsageError(f"/agents does not know {arguments!r}", hint="/agents [stop ID]")
    lines = []
    for depth, one in subagents_of(agent):
        used = f"{one.turns} turns, {one.tool_calls} tool calls, {one.tokens:,} tokens"
        task = " ".join(one.work.split())
        state = f"{one.state}, {one.doing}" if one.doing else one.state
        lines.append(f"{'  ' * depth}{one.id}  [{state}]  {used}  {task[:_TASK]}")
    known = [f"{file.name}: {file.description}" for file in usable(agent.host).values()]
    shown = ["At work and ended:", *(f"  {line}" for line in lines)] if lines else ["No agent was asked yet."]
    return "\n".join([*shown, *(["Defined in files:", *(f"  {line}" for line in known)] if known else [])])


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return what may be typed behind ``/agents``."""
    from .crew import subagents_of

    known = [f"stop {one.id}" for _, one in subagents_of(agent) if not one.over]
    return [text for text in known if text.startswith(arguments)]


COMMAND = SlashCommand(
    "agents",
    "List agents and what they do, or stop one.",
    "skillkit_subagents.slash:agents",
    "[stop ID]",
    "skillkit_subagents.slash:complete",
    while_running=True,
)
