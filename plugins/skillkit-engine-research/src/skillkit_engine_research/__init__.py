"""The engine ``research``: rounds of search, evidence with ids, and answers whose every claim names its sources."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
