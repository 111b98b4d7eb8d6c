"""The engine ``automation``: a skill's prompt, its tools, and nothing else."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
