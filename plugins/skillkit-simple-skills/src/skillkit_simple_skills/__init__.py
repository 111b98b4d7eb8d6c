"""Twenty skills without code, and the tool with which ``help`` looks around."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
