"""Fragments: parts of research, editing and chat that stand alone, as steps of plans and ``subgraphs`` of skills."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
