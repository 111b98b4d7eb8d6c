"""An embedded stand-in for a model: it chooses a skill's deterministic action by its words and fills what the request states.

Public names are imported when they are first used, so that importing the package is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapter import OfflineAdapter as OfflineAdapter
    from .choice import Choice as Choice, Verdict as Verdict, choose as choose
    from .filling import Filled as Filled, fill as fill
    from .ranking import Candidate as Candidate, rank as rank

_HOME = {"Candidate": "ranking", "Choice": "choice", "Filled": "filling", "OfflineAdapter": "adapter"}
_HOME |= {"Verdict": "choice", "choose": "choice", "fill": "filling", "rank": "ranking"}
__all__ = ["Candidate", "Choice", "Filled", "OfflineAdapter", "Verdict", "choose", "fill", "rank"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
