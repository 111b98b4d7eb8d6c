"""The tools of mail."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
