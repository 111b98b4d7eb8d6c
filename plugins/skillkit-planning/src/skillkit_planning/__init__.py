"""Plan first: an activity in which nothing is changed but the plan, and a fresh start that carries the plan out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .activity import begin_execution, begin_planning, leave_planning
    from .plan_file import current_plan
    from .state import DEFAULTS, Activity, Settings, activity_of

__all__ = [
    "DEFAULTS", "Activity", "Settings", "activity_of", "begin_execution", "begin_planning", "current_plan",
    "leave_planning",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import activity, plan_file, state

    return getattr(next(module for module in (state, plan_file, activity) if name in module.__all__), name)
