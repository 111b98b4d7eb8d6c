"""The section ``crawl`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["CrawlConfig"]


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """How much of a site is read. What may be reached at all is the section ``web``."""

    max_pages: int = setting(30, "most pages of a site that one call reads", ge=1, le=500)
    pause: float = setting(0.5, "seconds between two pages of a site", ge=0, le=60)
    seconds: float = setting(120.0, "seconds after which a call reads no further page", gt=0, le=3600)
