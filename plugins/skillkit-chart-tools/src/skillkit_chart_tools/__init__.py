"""Charts for SkillKit agents: bars, lines, points and pies as SVG or PNG."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
