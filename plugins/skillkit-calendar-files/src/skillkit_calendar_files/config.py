"""The section ``calendar`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .events import FILES


class CalendarConfig(BaseModel):
    """Where calendars lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...] = Field(FILES, min_length=1, description="The .ics files that are read together.")
    zone: str | None = Field(
        None, description="The time zone of the person, Europe/Oslo; default: that of this machine."
    )
