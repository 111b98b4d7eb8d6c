"""Compactors for SkillKit: how a conversation that no longer fits the model's window becomes shorter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import CompactorsConfig as CompactorsConfig
    from .dropping import SlidingWindowCompactor as SlidingWindowCompactor, TokenBudgetCompactor as TokenBudgetCompactor
    from .prune import PruneCompactor as PruneCompactor
    from .summary import SummaryCompactor as SummaryCompactor

_MODULE_OF = {
    "CompactorsConfig": "config",
    "PruneCompactor": "prune",
    "SlidingWindowCompactor": "dropping",
    "SummaryCompactor": "summary",
    "TokenBudgetCompactor": "dropping",
}

__all__ = [
    "CompactorsConfig",
    "PruneCompactor",
    "SlidingWindowCompactor",
    "SummaryCompactor",
    "TokenBudgetCompactor",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
