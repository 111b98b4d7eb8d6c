"""Tools that notify a person, now or at a time."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
