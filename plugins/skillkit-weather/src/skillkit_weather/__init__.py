"""The weather: tools for agents, and the family of providers behind them.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .provider import (
        Conditions as Conditions,
        Day as Day,
        Place as Place,
        WeatherProvider as WeatherProvider,
    )

__all__ = ["Conditions", "Day", "Place", "WeatherProvider"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.provider"), name)
    globals()[name] = found
    return found
