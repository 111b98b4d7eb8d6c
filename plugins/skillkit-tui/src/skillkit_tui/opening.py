"""From the options of the command line to the UI of a session, and to the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_frontend import (
    Choices,
    as_before,
    config_for,
    keeps_sessions,
    last_answer,
    offer_what_asks,
    say_missing,
    session_for,
)

from skillkit_core import AgentRunner, ApprovalDecision, ApprovalRequest, Approver, UsageError
from skillkit_core.cli.output import echo

from .app import TerminalUI

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["work"]


async def work(host: Host, options: Choices) -> int:
    """Open the session and the UI; return the exit code."""
    kept = keeps_sessions(host, options)
    session = await session_for(host, options) if kept or options.session or options.resume else None
    asked = options.approvals or "ask"
    if asked == "defer" and not kept:
        raise UsageError("--approvals defer needs a session that is kept", hint="leave --no-session out")
    if asked == "ask":
        offer_what_asks(host)
    section = host.config.section("tui")
    agent = AgentRunner(config_for(host, options), host=host, session=session)
    ui = TerminalUI(agent, kept=kept, options=options, theme=getattr(section, "theme", "terminal"))
    approver = {"ask": ui.person, "defer": _Defers(), "deny": None}[asked]
    agent.configure(approver=approver, ui=ui.person)
    try:
        if session not in ("new", None):
            opened = await agent.open()
            say_missing(host, opened)
            if before := as_before(host, options, last_answer(opened)):
                agent.configure(**before)
        code = await ui.run_async(mouse=getattr(section, "mouse", True)) or ui.return_code or 0
        if kept and agent.messages:
            echo(f"Go on with: skillkit tui --session {agent.session.id}")
    finally:
        await agent.aclose()
        await host.aclose()
    return code


class _Defers(Approver):
    """Puts every decision off, which suspends the run."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Defer."""
        return ApprovalDecision("defer", "put off")
