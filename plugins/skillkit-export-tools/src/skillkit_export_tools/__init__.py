"""Export for SkillKit agents: Markdown to HTML, DOCX, PDF, text, CSV and JSON, and bookmarks."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
