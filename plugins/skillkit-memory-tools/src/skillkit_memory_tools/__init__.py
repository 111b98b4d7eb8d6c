"""Tools that remember facts over sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facts import Fact, Facts

__all__ = ["Fact", "Facts"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import facts

    return getattr(facts, name)
