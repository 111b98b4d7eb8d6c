"""Plans: a request of several parts as steps, each done by a skill, a fragment or a collaboration, resumable and explained.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bridge import context_for as context_for
    from .executor import Executor as Executor, Outcome as Outcome, StepFailed as StepFailed, Stops as Stops
    from .models import ExecutionPlan as ExecutionPlan, PlanStep as PlanStep
    from .notes import PlanView as PlanView, StepView as StepView, plans_of as plans_of
    from .validating import FragmentNeeds as FragmentNeeds, Known as Known, Reason as Reason, reasons as reasons

_WHERE = {
    "bridge": ("context_for",),
    "executor": ("Executor", "Outcome", "StepFailed", "Stops"),
    "models": ("ExecutionPlan", "PlanStep"),
    "notes": ("PlanView", "StepView", "plans_of"),
    "validating": ("FragmentNeeds", "Known", "Reason", "reasons"),
}
__all__ = [
    "ExecutionPlan", "Executor", "FragmentNeeds", "Known", "Outcome", "PlanStep", "PlanView", "Reason",
    "StepFailed", "StepView", "Stops", "context_for", "plans_of", "reasons",
]  # fmt: skip

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    module = next((module for module, names in _WHERE.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
