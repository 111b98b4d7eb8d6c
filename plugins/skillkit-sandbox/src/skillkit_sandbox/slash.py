"""``/network`` in front ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from skillkit_commands import SlashCommand

from skillkit_core.errors import UsageError

from .network import is_off, switch

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["COMMANDS", "complete", "network"]

_WORDS = ("on", "off", "toggle")


async def network(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Say what network tools have, take it away, or go back to what the policies give."""
    from .box import network_of

    await agent.open()
    if arguments and arguments not in _WORDS:
        raise UsageError(f"/network does not know {arguments!r}", hint=f"one of {', '.join(_WORDS)}")
    if arguments:
        wanted = arguments if arguments != "toggle" else "on" if is_off(agent) else "off"
        await switch(agent, wanted)
    if is_off(agent):
        return "Network: off for what tools do, until /network on."
    given = network_of(agent.host)(agent).removeprefix("NET ")
    return f"Network: {given}, as the policies of the sandbox say." + (
        " No command widens them." if given != "on" and arguments else ""
    )


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return what may be typed behind ``/network``."""
    return [word for word in _WORDS if word.startswith(arguments)]


COMMANDS = (
    SlashCommand(
        "network",
        "Take the network away from tools, or give back what the policies allow.",
        "skillkit_sandbox.slash:network",
        "[on | off | toggle]",
        "skillkit_sandbox.slash:complete",
    ),
)
