"""``/permissions`` and ``/mode`` in front ends: what counts, forgetting an answer, another mode."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from skillkit_commands import SlashCommand

from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["COMMAND", "MODE", "complete", "mode", "permissions", "shown_mode"]


async def permissions(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Show what counts, forget an answer, or choose the mode for this session."""
    from .lint import findings, kernel_lines
    from .policy import mode_of, policy_of, rules_of, set_mode
    from .request import MODES

    policy = policy_of(agent.host)
    words = arguments.split()
    if words[:1] == ["mode"] and len(words) == 2:
        if words[1] not in MODES:
            raise UsageError(f"there is no mode {words[1]!r}", hint=f"one of {', '.join(MODES)}")
        set_mode(agent, words[1])
        return f"Mode: {words[1]}, for this session."
    if words[:1] == ["revoke"] and len(words) > 1:
        gone = policy.memory.revoke(None if words[1:] == ["all"] else words[1:])
        return "\n".join(f"Forgotten: {a.kind} {a.rule}" for a in gone) or "No such answer is remembered."
    if words:
        raise UsageError(f"/permissions does not know {arguments!r}", hint="/permissions [mode MODE | revoke ID]")
    rules = rules_of(agent, policy)
    lines = [f"Mode: {mode_of(agent, policy)}"]
    lines += [f"{r.kind} {r.text} ({r.origin})" for r in (*rules.deny, *rules.ask, *rules.allow)]
    lines += [
        f"remembered {a.id}: {a.kind} {a.rule}, {a.shown_scope}, until {a.shown_expiry}" for a in policy.memory.all()
    ]
    lines += await asyncio.to_thread(
        lambda: [*kernel_lines(agent), *(f"{r} covers {why}" for r, why in findings(agent))]
    )
    return "\n".join(lines)


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return what may be typed behind ``/permissions``."""
    from .policy import policy_of
    from .request import MODES

    known = [f"mode {mode}" for mode in MODES] + [f"revoke {a.id}" for a in policy_of(agent.host).memory.all()]
    return [text for text in known if text.startswith(arguments)]


async def mode(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Choose a mode for this session: the named one, else the next that may be chosen (Shift-Tab in front ends)."""
    from .policy import mode_of, next_mode, policy_of, set_mode

    if arguments:
        return await permissions(agent, f"mode {arguments}", ui)
    await agent.open()
    set_mode(agent, next_mode(agent, policy_of(agent.host)))
    return f"Mode: {mode_of(agent, policy_of(agent.host))}, for this session."


def shown_mode(agent: AgentRunner) -> str:
    """Return the mode for a status line; nothing where it is the usual one."""
    from .policy import mode_of, policy_of

    policy = policy_of(agent.host)
    # before something is said there is no session, and nobody has chosen another mode
    now = mode_of(agent, policy) if agent.open_session is not None else policy.mode
    return "" if now == "ask" else now


def modes(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return what may be typed behind ``/mode``."""
    from .request import MODES

    return [name for name in MODES if name.startswith(arguments)]


MODE = SlashCommand(
    "mode",
    "Choose the next permission mode, or the named one (Shift-Tab).",
    "skillkit_permissions.slash:mode",
    "[MODE]",
    "skillkit_permissions.slash:modes",
    while_running=True,
)
COMMAND = SlashCommand(
    "permissions",
    "Show permissions, choose the mode, forget answers.",
    "skillkit_permissions.slash:permissions",
    "[mode MODE | revoke ID]",
    "skillkit_permissions.slash:complete",
    while_running=True,
)
