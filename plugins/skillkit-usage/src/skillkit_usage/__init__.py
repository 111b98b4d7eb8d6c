"""What requests cost: reports over all sessions, and budgets that stop a run before it spends too much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .books import Books, Wish
    from .index import Index, Request
    from .report import Sum, summed

__all__ = ["Books", "Index", "Request", "Sum", "Wish", "summed"]

_HOMES = {"Books": "books", "Wish": "books", "Index": "index", "Request": "index", "Sum": "report", "summed": "report"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
