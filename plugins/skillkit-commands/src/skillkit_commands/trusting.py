"""``/trust``: what of the folder does not count is shown, and counts for the rest of the conversation after a yes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.settings.trust import Trust

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface

__all__ = ["changes_of", "trust"]

_COUNTS = (
    "Skills, commands, agents and context files count from the next request on; "
    "settings and MCP servers from the next start on."
)


def changes_of(host: Host) -> Iterator[Path]:
    """Yield the folders, from the top of the repository down to the workspace, of which something may not count."""
    cwd, kept = host.cwd.resolve(), Trust(host.data_dir)
    top = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)
    for folder in reversed((cwd, *cwd.parents)):
        if folder.is_relative_to(top) and (kept.changed(folder) != [] or (folder == cwd and host.withheld != [])):
            yield folder


async def trust(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Show what does not count, file by file where it changed, and let it count where the person says so."""
    from skillkit_core import Survey, SurveyQuestion, UsageError
    from skillkit_core.cli.trusting import Review

    if ui is None:
        raise UsageError("Trust: nobody can be asked", hint="run skillkit config trust")
    host, asked, counts = agent.host, 0, 0
    for folder in changes_of(host):
        review = Review(host, folder)
        refused: list[str] = []
        steps = [*review.steps()]
        for file, lines, question in steps:
            await ui.notify("\n".join(lines))
            answers = await ui.ask(Survey("Trust", question, (SurveyQuestion("counts", question, "confirm"),)))
            if answers is None or not answers["counts"]:
                refused.append(file)
        if len(refused) < len(steps):
            review.keep(refused)
        asked, counts = asked + len(steps), counts + len(steps) - len(refused)
    if not counts:
        return "Nothing more counts than before." if asked else "All that this folder brings counts."
    host.plan.look_again()
    host.reload_skills()
    return _COUNTS
