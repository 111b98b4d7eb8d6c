"""A terminal UI: a conversation in blocks that open and close. Plugins contribute :class:`Chord` and :class:`Indicator`.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chords import Chord, Front, Indicator

__all__ = ["Chord", "Front", "Indicator"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import chords

    return getattr(chords, name)
