"""Schedules for SkillKit: requests that run later and again without a person, and a webhook that starts one.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loop import Loop as Loop
    from .store import Schedule as Schedule, ScheduleRun as ScheduleRun, Store as Store, store_of as store_of
    from .when import When as When, following as following, read_when as read_when

_WHERE = {"Loop": "loop", "When": "when", "following": "when", "read_when": "when"}
__all__ = ["Loop", "Schedule", "ScheduleRun", "Store", "When", "following", "read_when", "store_of"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE.get(name, 'store')}"), name)
    globals()[name] = found
    return found
