"""What a route provider is, and which one answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from skillkit_providers import chosen_provider as chosen

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Leg", "Mode", "Place", "Route", "RouteProvider", "chosen_provider"]

Mode = Literal["driving", "cycling", "walking"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place on earth.

    Attributes:
        name: as people call it.
        latitude: degrees, north positive.
        longitude: degrees, east positive.
        note: an address, or what there is to know.
    """

    name: str
    latitude: float
    longitude: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Leg:
    """A piece of a route: what to do, and for how many metres."""

    text: str
    metres: float


@dataclass(frozen=True, slots=True)
class Route:
    """A way from one place to another.

    Attributes:
        metres: how long it is.
        seconds: how long it takes.
        legs: its pieces, in order; may be empty.
    """

    metres: float
    seconds: float
    legs: Sequence[Leg] = ()


class RouteProvider(ABC):
    """Knows ways. Made by ``register_route_providers``.

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
    async def route(self, origin: Place, destination: Place, mode: Mode) -> Route:
        """Return the way.

        Raises:
            ToolError: there is none, or it could not be asked for.
        """


async def chosen_provider(host: Host) -> RouteProvider:
    """Return the provider that ``navigation.provider`` names.

    Raises:
        ToolError: none is named, there is none of that name, or something is missing for it.
    """
    return cast("RouteProvider", await chosen(host, "route_providers", "navigation.provider", "a route provider"))
