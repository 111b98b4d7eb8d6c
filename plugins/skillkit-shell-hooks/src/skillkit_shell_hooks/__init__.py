"""Hooks in any language: what a command, an address, a model or an MCP tool says before and after things happen in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import UNSAID
    from .definitions import Hook, hooks_of
    from .events import EVENTS
    from .running import Outcome, run_hooks
    from .surroundings import Surroundings

__all__ = ["EVENTS", "UNSAID", "Hook", "Outcome", "Surroundings", "hooks_of", "run_hooks"]

_MODULE_OF = {
    "EVENTS": "events",
    "Hook": "definitions",
    "Outcome": "running",
    "Surroundings": "surroundings",
    "UNSAID": "answers",
    "hooks_of": "definitions",
    "run_hooks": "running",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
