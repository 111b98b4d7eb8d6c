"""Whether an agent plans, which its session says, and the settings, for code that does without pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["ACTIVITY", "DEFAULTS", "TASKS", "Activity", "Settings", "activity_of"]

Activity: TypeAlias = Literal["plan", "execute"]
ACTIVITY = "planning.activity"  # type of the note
TASKS = "planning.tasks"  # type of the note


class Settings(NamedTuple):
    """The values of the section ``planning``, whose model describes them, for code that does without pydantic."""

    file: str = ".skillkit/plan.md"
    network: bool = False
    commands: bool = False


DEFAULTS = Settings()


def activity_of(agent: AgentRunner) -> Activity:
    """Return the activity of an agent's branch; an agent below one that plans plans, too."""
    for one in agent.ancestors():
        session = one.open_session
        notes = session.notes(ACTIVITY) if session is not None else ()
        if notes and notes[-1].data.get("activity") == "plan":
            return "plan"
    return "execute"
