"""Schedules for SkillKit: requests that run later and again without a person, and a webhook that starts one."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
