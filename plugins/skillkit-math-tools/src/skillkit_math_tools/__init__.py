"""Calculations for agents: exact expressions, formulas with values, and units.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .exact import evaluate as evaluate, evaluate_formula as evaluate_formula, written as written
    from .units import convert as convert

_WHERE = {"convert": "units", "evaluate": "exact", "evaluate_formula": "exact", "written": "exact"}
__all__ = ["convert", "evaluate", "evaluate_formula", "written"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
