"""A terminal UI: a conversation in blocks that open and close. Plugins contribute :class:`Chord` and :class:`Indicator`."""

from __future__ import annotations

from .chords import Chord, Front, Indicator

__all__ = ["Chord", "Front", "Indicator"]

__version__ = "0.1.0"
