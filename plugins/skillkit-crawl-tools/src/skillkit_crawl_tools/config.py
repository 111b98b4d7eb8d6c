"""The section ``crawl`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class CrawlConfig(BaseModel):
    """How much of a site is read. What may be reached at all is the section ``web``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_pages: int = Field(30, ge=1, le=500, description="Most pages of a site that one call reads.")
    pause: float = Field(0.5, ge=0, le=60, description="Seconds between two pages of a site.")
    seconds: float = Field(120.0, gt=0, le=3600, description="Seconds after which a call reads no further page.")
