"""From the options of the command line to the UI of a session, and to the exit code."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from skillkit_frontend import Books, Choices, ends_in_time, opened
from skillkit_live import address_for, shared

from skillkit_core.cli.output import echo
from skillkit_core.program import as_typed

from .app import TerminalUI

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["work"]


def _greeting(agent: AgentRunner) -> str:
    """Return what the UI begins with: version, folder and whether it is trusted, model, and the keys that one needs."""
    from skillkit_core import __version__
    from skillkit_core.cli.output import short_path

    host, model = agent.host, Books(agent).model
    trust = "not trusted" if host.withheld is None else "trusted, but for what changed" if host.withheld else "trusted"
    where = f"SkillKit {__version__} in {short_path(str(host.cwd))}, {trust}"
    return f"{where}\n{model} · /help: keys and commands · Ctrl-C: interrupt"


async def work(host: Host, options: Choices) -> int:
    """Open the session and the UI; return the exit code."""
    section = host.config.section("tui")
    async with opened(host, options, address_for(host)) as (agent, kept):
        theme = getattr(section, "theme", "terminal")
        ui = TerminalUI(agent, kept=kept, options=options, theme=theme, greeting=lambda: _greeting(agent))
        async with shared(agent) if kept else nullcontext():
            with ends_in_time(ui.leave):
                code = await ui.run_async(mouse=getattr(section, "mouse", True)) or ui.return_code or 0
        if (session := ui.talk.going_on) is not None:
            echo(as_typed(f"Go on with: skillkit tui --session {session}"))
    return code
