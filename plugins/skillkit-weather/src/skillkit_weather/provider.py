"""What a weather provider is, and which one answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, cast

from skillkit_providers import chosen_provider as chosen

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Conditions", "Day", "Place", "WeatherProvider", "chosen_provider"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place on earth.

    Attributes:
        name: as people write it, with region and country where they are known.
        latitude: degrees, north positive.
        longitude: degrees, east positive.
    """

    name: str
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Conditions:
    """The weather at one moment. ``None``: not known.

    Attributes:
        place: where.
        time: local time, ISO 8601.
        summary: in words, for example ``light rain``.
        temperature: degrees Celsius.
        feels_like: degrees Celsius.
        humidity: percent.
        wind: kilometres per hour.
        precipitation: millimetres in the last hour.
    """

    place: Place
    time: str
    summary: str = ""
    temperature: float | None = None
    feels_like: float | None = None
    humidity: float | None = None
    wind: float | None = None
    precipitation: float | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """The weather of one day. ``None``: not known.

    Attributes:
        date: ISO 8601.
        summary: in words.
        low: degrees Celsius.
        high: degrees Celsius.
        precipitation: millimetres.
        wind: the strongest, kilometres per hour.
    """

    date: str
    summary: str = ""
    low: float | None = None
    high: float | None = None
    precipitation: float | None = None
    wind: float | None = None


class WeatherProvider(ABC):
    """Knows the weather. Made by ``register_weather_providers``.

    Attributes:
        name: the name of the provider.
        addresses: ``https://host`` of every service that is asked; what guards judge. Empty: nothing leaves this machine.
    """

    name: str
    addresses: Sequence[str] = ()

    async def usable(self) -> str | None:
        """Return what is missing for it to be used, to be said after its name; ``None``: nothing is."""
        return None

    @abstractmethod
    async def find(self, place: str) -> Place:
        """Return the place that is meant.

        Raises:
            ToolError: nobody knows it.
        """

    @abstractmethod
    async def conditions(self, place: Place) -> Conditions:
        """Return the weather now.

        Raises:
            ToolError: it could not be asked for; so for the other methods.
        """

    @abstractmethod
    async def forecast(self, place: Place, days: int) -> Sequence[Day]:
        """Return the days from today on."""

    @abstractmethod
    async def history(self, place: Place, first: date, last: date) -> Sequence[Day]:
        """Return past days, both ends included."""


async def chosen_provider(host: Host) -> WeatherProvider:
    """Return the provider that ``weather.provider`` names.

    Raises:
        ToolError: none is named, there is none of that name, or something is missing for it.
    """
    return cast("WeatherProvider", await chosen(host, "weather_providers", "weather.provider", "a weather provider"))
