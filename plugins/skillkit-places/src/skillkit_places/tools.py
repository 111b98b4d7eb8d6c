"""The tools ``list_locations_tool``, ``save_location_tool``, ``compute_distance_tool`` and ``compute_route_tool``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_providers import provider_addresses

from skillkit_core import Tool, ToolError, ToolOutput

from . import places
from .places import FILE
from .provider import Place, chosen_provider

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["compute_distance", "compute_route", "list_locations", "place_tools", "save_location"]

_END = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The name of a place, or latitude, longitude.",
}
_DEGREES = {"type": "number", "description": "Degrees; north and east are positive."}
_MODE = {"enum": ["driving", "cycling", "walking"], "default": "driving"}


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def place_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. Guards judge the file of places, and the addresses of the route provider."""
    config = host.config.section("navigation", None)
    usual = FILE if config is None else config.file
    file = {"type": "string", "minLength": 1, "maxLength": 1000, "default": usual, "description": "The file of places."}
    reads = {"mutates": "none", "paths": {"file": usual}}
    addresses = provider_addresses(host, "route_providers", "navigation.provider")
    # which file is read decides where nothing leaves the machine
    routes = {"mutates": "none", "host": addresses} if addresses else reads
    here = f"{__name__}:"
    ends = {"origin": _END, "destination": _END}
    return (
        Tool("list_locations_tool", "List the places that are kept, with coordinates.", f"{here}list_locations",
             _object([], file=file), replay="safe", annotations=reads),
        Tool("save_location_tool", "Keep a place by name; a place of that name is replaced.", f"{here}save_location",
             _object(["name", "latitude", "longitude"],
                     name={"type": "string", "minLength": 1, "maxLength": 100}, latitude=_DEGREES, longitude=_DEGREES,
                     note={"type": "string", "maxLength": 500, "description": "An address, or what there is to know."},
                     file=file),
             opt_in="permissions" not in host.plugins, sequential=True, replay="safe",
             annotations={"mutates": "files", "paths": {"file": usual}}),
        Tool("compute_distance_tool", "Return the distance between two places as the crow flies.", f"{here}compute_distance",
             _object(["origin", "destination"], **ends, file=file), replay="safe", annotations=reads),
        Tool("compute_route_tool", "Return the way between two places: its length, its time, and the turns.",
             f"{here}compute_route", _object(["origin", "destination"], **ends, mode=_MODE, file=file), replay="safe",
             annotations=routes),
    )  # fmt: skip


def _file(args: Mapping[str, Any], ctx: ToolContext) -> Path:
    name = args.get("file", ctx.agent.host.config.section("navigation").file)
    if "\0" in name:
        raise ToolError("a path holds no null character")
    return ctx.cwd / Path(name).expanduser()


async def _ends(args: Mapping[str, Any], ctx: ToolContext) -> tuple[Place, Place]:
    known = await asyncio.to_thread(places.read, _file(args, ctx))
    return places.find(args["origin"], known), places.find(args["destination"], known)


async def list_locations(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say which places there are."""
    found = (await asyncio.to_thread(places.read, _file(args, ctx))).values()
    lines = [f"{p.name}: {p.latitude:g}, {p.longitude:g}{f' ({p.note})' if p.note else ''}" for p in found]
    return ToolOutput("\n".join(lines) or "No places are kept yet.", details=[asdict(p) for p in found])


async def save_location(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Keep a place."""
    name = " ".join(args["name"].split())
    if not name:
        raise ToolError("a place needs a name")
    try:
        place = places.checked(Place(name, float(args["latitude"]), float(args["longitude"]), args.get("note", "")))
    except ValueError as error:
        raise ToolError(str(error)) from None

    def keep() -> None:
        file = _file(args, ctx)
        places.write(file, {**places.read(file), name: place})

    try:
        await asyncio.to_thread(keep)
    except OSError as error:
        raise ToolError(f"the place could not be kept: {error}") from None
    return f"Kept {name} at {place.latitude:g}, {place.longitude:g}."


async def compute_distance(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say how far two places are from one another."""
    origin, destination = await _ends(args, ctx)
    km = places.distance(origin, destination)
    told = f"{origin.name} to {destination.name}: {km:.1f} km ({km / 1.609344:.1f} mi) as the crow flies."
    return ToolOutput(told, details={"kilometres": km})


async def compute_route(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say which way leads from one place to another."""
    provider = await chosen_provider(ctx.agent.host)
    origin, destination = await _ends(args, ctx)
    mode = args.get("mode", "driving")
    route = await provider.route(origin, destination, mode)
    hours, minutes = divmod(round(route.seconds / 60), 60)
    time = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    lines = [f"{origin.name} to {destination.name}, {mode}: {route.metres / 1000:.1f} km, {time}"]
    lines += [f"{n}. {leg.text} ({leg.metres / 1000:.1f} km)" for n, leg in enumerate(route.legs, 1)]
    return ToolOutput("\n".join([*lines, f"(from {provider.name})"]), details=asdict(route))
