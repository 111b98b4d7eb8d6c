"""Routes of an OSRM server. Source: project-osrm.org/docs (HTTP API, route service)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_web_tools import client_of

from skillkit_core import ToolError

from .provider import Leg, Mode, Place, Route, RouteProvider

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["OSRM"]

# ruff: noqa: D102 - the contract says what the methods do


class OSRM(RouteProvider):
    """The route service of an OSRM server."""

    name = "osrm"

    def __init__(self, host: Host) -> None:
        self._host, self._url = host, (host.config.section("navigation").osrm_url or "").rstrip("/")
        self.addresses = (self._url,) if self._url else ()

    async def usable(self) -> str | None:
        return None if self._url else "needs navigation.osrm_url"

    async def route(self, origin: Place, destination: Place, mode: Mode) -> Route:
        ends = ";".join(f"{place.longitude},{place.latitude}" for place in (origin, destination))
        params = {"overview": "false", "steps": "true"}
        answer = await client_of(self._host).json("GET", f"{self._url}/route/v1/{mode}/{ends}", params=params)
        routes = answer.get("routes") if isinstance(answer, Mapping) else None
        if not routes:
            told = answer.get("message") or answer.get("code") if isinstance(answer, Mapping) else ""
            raise ToolError(f"osrm found no way from {origin.name} to {destination.name}: {told or 'no route'}")
        first = routes[0]
        steps = [step for leg in first.get("legs", ()) for step in leg.get("steps", ())]
        legs = [Leg(_words(step), float(step.get("distance", 0))) for step in steps]
        return Route(float(first["distance"]), float(first["duration"]), legs)


def _words(step: Mapping[str, Any]) -> str:
    """Return what to do: OSRM gives the kind of a turn, its direction, and the name of the road behind it."""
    turn = step.get("maneuver") or {}
    kind = str(turn.get("type", "go on"))
    parts = [kind if kind in ("depart", "arrive") else f"{kind} {turn.get('modifier', '')}".strip(), step.get("name")]
    return ": ".join(str(part) for part in parts if part)
