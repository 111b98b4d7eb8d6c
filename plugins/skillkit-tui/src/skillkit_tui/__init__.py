"""A terminal UI: a conversation in blocks that open and close. Plugins contribute :class:`Chord` and :class:`Indicator`.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_commands import Indicator

    from .chords import Chord, Front

__all__ = ["Chord", "Front", "Indicator"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "Indicator":
        from skillkit_commands import Indicator

        return Indicator
    from . import chords

    return getattr(chords, name)
