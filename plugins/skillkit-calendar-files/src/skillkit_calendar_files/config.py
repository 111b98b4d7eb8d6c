"""The section ``calendar`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class CalendarConfig(BaseModel):
    """Where calendars lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...] = Field(
        ("calendar.ics",), min_length=1, description="The .ics files that are read together."
    )
    zone: str | None = Field(
        None, description="The time zone of the person, Europe/Oslo; default: that of this machine."
    )
