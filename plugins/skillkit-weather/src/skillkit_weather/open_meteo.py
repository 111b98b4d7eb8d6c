"""Open-Meteo: weather without a key, for non-commercial use, or from an instance of one's own.

Source: open-meteo.com/en/docs (forecast, historical weather, geocoding), with its table of weather codes (WMO).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from skillkit_web_tools import client_of

from skillkit_core import ToolError

from .provider import Conditions, Day, Place, WeatherProvider

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["OpenMeteo"]

_NOW = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m"
_DAILY = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,wind_speed_10m_max"
_CODES = {
    0: "clear", 1: "mainly clear", 2: "partly cloudy", 3: "overcast", 45: "fog", 48: "rime fog", 51: "light drizzle",
    53: "drizzle", 55: "dense drizzle", 56: "light freezing drizzle", 57: "freezing drizzle", 61: "light rain", 63: "rain",
    65: "heavy rain", 66: "light freezing rain", 67: "freezing rain", 71: "light snow", 73: "snow", 75: "heavy snow",
    77: "snow grains", 80: "light showers", 81: "showers", 82: "violent showers", 85: "light snow showers",
    86: "snow showers", 95: "thunderstorm", 96: "thunderstorm with light hail", 99: "thunderstorm with hail",
}  # fmt: skip

# ruff: noqa: D102 - the contract says what the methods do


class OpenMeteo(WeatherProvider):
    """The API of Open-Meteo."""

    name = "open-meteo"

    def __init__(self, host: Host) -> None:
        config = host.config.section("weather")
        self._host = host
        self._forecast, self._archive, self._places = (
            url.rstrip("/") for url in (config.forecast_url, config.archive_url, config.places_url)
        )
        self.addresses = tuple(dict.fromkeys((self._places, self._forecast, self._archive)))

    async def find(self, place: str) -> Place:
        answer = await self._ask(f"{self._places}/v1/search", name=place, count="1", format="json")
        rows = answer.get("results") or ()
        if not rows:
            raise ToolError(f"open-meteo knows no place {place!r}: try a town, without its country")
        row = rows[0]
        parts = [str(row[key]) for key in ("name", "admin1", "country") if row.get(key)]
        return Place(", ".join(dict.fromkeys(parts)), float(row["latitude"]), float(row["longitude"]))

    async def conditions(self, place: Place) -> Conditions:
        now = (await self._at(f"{self._forecast}/v1/forecast", place, current=_NOW)).get("current") or {}
        return Conditions(
            place, str(now.get("time", "")), _words(now.get("weather_code")), temperature=now.get("temperature_2m"),
            feels_like=now.get("apparent_temperature"), humidity=now.get("relative_humidity_2m"),
            wind=now.get("wind_speed_10m"), precipitation=now.get("precipitation"),
        )  # fmt: skip

    async def forecast(self, place: Place, days: int) -> Sequence[Day]:
        url = f"{self._forecast}/v1/forecast"
        return _days(await self._at(url, place, daily=_DAILY, forecast_days=str(days)))

    async def history(self, place: Place, first: date, last: date) -> Sequence[Day]:
        url, span = f"{self._archive}/v1/archive", {"start_date": first.isoformat(), "end_date": last.isoformat()}
        return _days(await self._at(url, place, daily=_DAILY, **span))

    async def _at(self, url: str, place: Place, **params: str) -> Mapping[str, Any]:
        where = {"latitude": str(place.latitude), "longitude": str(place.longitude), "timezone": "auto"}
        return await self._ask(url, **where, **params)

    async def _ask(self, url: str, **params: str) -> Mapping[str, Any]:
        answer = await client_of(self._host).json("GET", url, params=params)
        if not isinstance(answer, Mapping):
            raise ToolError(f"{url} did not answer as Open-Meteo does")
        return answer


def _words(code: Any) -> str:
    return _CODES.get(code, "")


def _days(answer: Mapping[str, Any]) -> Sequence[Day]:
    """Return the days of an answer, whose values are a list for each quantity."""
    daily = answer.get("daily") or {}

    def values(name: str) -> Any:
        found = daily.get(name) or ()
        return lambda n: found[n] if n < len(found) else None

    code, low, high, wet, wind = map(
        values, ("weather_code", "temperature_2m_min", "temperature_2m_max", "precipitation_sum", "wind_speed_10m_max")
    )
    return [
        Day(str(day), _words(code(n)), low=low(n), high=high(n), precipitation=wet(n), wind=wind(n))
        for n, day in enumerate(daily.get("time") or ())
    ]
