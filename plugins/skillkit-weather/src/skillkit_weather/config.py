"""The section ``weather`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class WeatherConfig(BaseModel):
    """Who is asked for the weather."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str | None = Field(None, description="Who is asked: open-meteo, or a provider of another plugin.")
    forecast_url: str = Field("https://api.open-meteo.com", description="Open-Meteo's API of now and the next days.")
    archive_url: str = Field("https://archive-api.open-meteo.com", description="Open-Meteo's API of past days.")
    places_url: str = Field("https://geocoding-api.open-meteo.com", description="Open-Meteo's API of places.")
