"""A dictionary: a tool for agents, and the family of dictionaries behind it.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .provider import (
        Dictionary as Dictionary,
        Sense as Sense,
    )

__all__ = ["Dictionary", "Sense"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.provider"), name)
    globals()[name] = found
    return found
