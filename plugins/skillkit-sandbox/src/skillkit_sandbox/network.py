"""The network of an agent's tools, off and on again: what a session keeps of it, and which calls may run while it is off."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError, UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .policy import SandboxPolicy

__all__ = ["NOTE", "is_off", "offline", "refusal", "switch"]

NOTE = "sandbox.network"
_HINT = "set tools.executor: stdio (skillkit-executor)"
_BARE = ("dev", "proc", "sys")  # folders of / that a sandbox has of its own


def is_off(agent: AgentRunner) -> bool:
    """Return whether the network is off in an agent's branch, or in that of an agent above it."""
    for one in agent.ancestors():
        session = one.open_session
        notes = session.notes(NOTE) if session is not None else ()
        if notes and notes[-1].data.get("network") == "off":
            return True
    return False


def offline() -> SandboxPolicy:
    """Return the policy that takes the network away, and of files nothing that a user could change."""
    from .policy import SandboxPolicy

    with os.scandir("/") as found:
        write = sorted(e.path for e in found if e.is_dir(follow_symlinks=False) and e.name not in _BARE)
    return SandboxPolicy(write=tuple(write), protect=(), env=("*",))


async def switch(agent: AgentRunner, network: str) -> None:
    """Note ``off``, or ``on``: what the policies give.

    Raises:
        UsageError: nothing would hold it.
    """
    session = await agent.open()
    if (network == "off") == is_off(agent):
        return
    await session.note(NOTE, {"network": network}, sync=True)
    if network == "on":
        return
    try:
        await _must_hold(agent)
    except SkillKitError as error:
        await session.note(NOTE, {"network": "on"}, sync=True)
        raise UsageError(f"the network stays as it is: {error.message}", hint=error.hint) from error


async def _must_hold(agent: AgentRunner) -> None:
    executor = await agent.toolbox.executor()
    holds = getattr(executor, "holds", None)
    if holds is None or holds(agent) is None:
        raise UsageError("tools run in this process, which no sandbox holds", hint=_HINT)
    if any(agent in one.ancestors() for one in getattr(executor, "calling", ())):
        raise UsageError("a tool that has it runs", hint="wait until it has ended, or stop its agent")


async def refusal(agent: AgentRunner, name: str, facts: Mapping[str, Any]) -> str | None:
    """Return why a call may not run while the network is off; ``None``: a sandbox holds the tool, or it reaches nothing."""
    if not facts.get("network", "host" in facts or facts.get("mutates") not in ("none", "files")):
        return None
    executor = await agent.toolbox.executor()
    holds = getattr(executor, "holds", None)
    tool = agent.offered(name)
    try:
        if holds is not None and tool is not None and holds(agent, tool):
            return None
    except SkillKitError as error:
        return f"the network is off, and {error}"
    return f"the network is off, and no sandbox keeps {name} from it, so it does not run. The person turns it on: /network on"
