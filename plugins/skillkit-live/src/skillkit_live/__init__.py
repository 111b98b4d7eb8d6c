"""Live sessions: one agent works, and any number of front ends come, see everything, speak, decide and leave.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .journal import Client, FellBehind, Message
    from .live import Live
    from .lives import Lives, Waiting

__all__ = ["Client", "FellBehind", "Live", "Lives", "Message", "Waiting"]

__version__ = "0.1.0"

_ROOMS = {"Live": "live", "Lives": "lives", "Waiting": "lives"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS.get(name, 'journal')}"), name)
