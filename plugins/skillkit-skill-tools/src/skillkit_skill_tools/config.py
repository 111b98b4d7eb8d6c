"""The section ``watch``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["WatchConfig"]


class WatchConfig(BaseModel):
    """How changed skills are noticed.

    Attributes:
        enabled: reload skills while a session is open.
        polling: look every ``interval`` seconds and use no events; unset: only where a file system sends none.
        interval: seconds between two looks of polling.
        settle: seconds without a change after which a change is over.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    polling: bool | None = None
    interval: float = Field(default=2.0, gt=0, le=3600)
    settle: float = Field(default=0.3, gt=0, le=60)
