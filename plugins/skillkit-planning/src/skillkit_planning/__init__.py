"""Plan first: an activity in which nothing is changed but the plan, and a fresh start that carries the plan out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .activity import begin_execution, begin_planning, leave_planning
    from .plan_file import current_plan

__all__ = [
    "DEFAULTS", "Activity", "Settings", "activity_of", "begin_execution", "begin_planning", "current_plan",
    "leave_planning",
]  # fmt: skip

Activity: TypeAlias = Literal["plan", "execute"]
ACTIVITY = "planning.activity"  # type of the note


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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import activity, plan_file

    return getattr(plan_file if name == "current_plan" else activity, name)
