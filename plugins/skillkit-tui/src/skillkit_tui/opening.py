"""From the options of the command line to the UI of a session, and to the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_frontend import Choices, ends_in_time, opened

from skillkit_core.cli.output import echo

from .app import TerminalUI

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["work"]


async def work(host: Host, options: Choices) -> int:
    """Open the session and the UI; return the exit code."""
    section = host.config.section("tui")
    async with opened(host, options) as (agent, kept):
        ui = TerminalUI(agent, kept=kept, options=options, theme=getattr(section, "theme", "terminal"))
        with ends_in_time(ui.leave):
            code = await ui.run_async(mouse=getattr(section, "mouse", True)) or ui.return_code or 0
        if (session := ui.talk.going_on) is not None:
            echo(f"Go on with: skillkit tui --session {session}")
    return code
