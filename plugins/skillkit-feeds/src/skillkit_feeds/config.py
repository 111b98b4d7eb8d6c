"""The section ``feeds`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FeedsConfig(BaseModel):
    """What is kept of feeds. How they are fetched, the section ``web`` says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kept_items: int = Field(500, ge=1, description="How many items of a feed are kept.")
    summary_chars: int = Field(600, ge=0, description="How much of an item's summary is kept, in characters.")
