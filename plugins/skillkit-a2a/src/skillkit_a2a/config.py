"""The section ``a2a`` of the configuration."""

from __future__ import annotations

from .serving.settings import ServeSettings

__all__ = ["Section"]


class Section(ServeSettings):
    """What this host is for agents of other hosts, and what they are for it."""
