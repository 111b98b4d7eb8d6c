"""Search and read the web for SkillKit agents: one search, and the pages of one site."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
