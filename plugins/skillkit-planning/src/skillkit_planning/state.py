"""Whether an agent plans, which its session says, and the settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, TypeAlias

from skillkit_core.config import setting

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["ACTIVITY", "DEFAULTS", "TASKS", "Activity", "Settings", "activity_of"]

Activity: TypeAlias = Literal["plan", "execute"]
ACTIVITY = "planning.activity"  # type of the note
TASKS = "planning.tasks"  # type of the note


def _inside(file: str) -> str:
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or file.startswith("~") or not path.name:
        raise ValueError(f"names a file inside of the workspace, such as .skillkit/plan.md, not {file!r}")
    return str(path)


@dataclass(frozen=True, slots=True)
class Settings:
    """The section ``planning``: where the plan is written, and what may be used while it is made."""

    file: str = setting(".skillkit/plan.md", "the plan, relative to the workspace", min_length=1, check=_inside)
    network: bool = setting(False, "tools that only read may fetch addresses in a plan")
    commands: bool = setting(
        False,
        "shell commands may run in a plan where a sandbox lets them write nothing but the plan; a project's file does not "
        "change it",
    )


DEFAULTS = Settings()


def activity_of(agent: AgentRunner) -> Activity:
    """Return the activity of an agent's branch; an agent below one that plans plans, too. A note of it arms its type."""
    if agent.parent is None and ACTIVITY not in agent.events.armed:
        return "execute"
    for one in agent.ancestors():
        session = one.open_session
        notes = session.notes(ACTIVITY) if session is not None else ()
        if notes and notes[-1].data.get("activity") == "plan":
            return "plan"
    return "execute"
