"""Calculations for SkillKit agents: exact expressions, formulas with values, and units."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
