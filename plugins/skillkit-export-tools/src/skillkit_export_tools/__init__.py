"""Tools that write a text in the format of others."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
