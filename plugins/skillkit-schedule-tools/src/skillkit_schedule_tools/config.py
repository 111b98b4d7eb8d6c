"""The sections ``schedule`` and ``webhook`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ScheduleConfig(BaseModel):
    """How runs without a person are done."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: str | None = Field(None, description="The time zone of words that name none; default: that of this machine.")
    seconds: float = Field(3600.0, gt=0, description="Seconds after which a run is stopped.")
    parallel: int = Field(
        2, ge=1, le=32, description="How many schedules run side by side; of each there is one run at a time."
    )


class WebhookConfig(BaseModel):
    """What a webhook takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    port: int = Field(8787, ge=0, le=65_535, description="The port; 0: a free one.")
    max_bytes: int = Field(65_536, ge=1, le=10_000_000, description="Bytes of what a caller sends.")
    rate: int = Field(30, ge=1, le=10_000, description="Calls of one webhook in a minute.")
