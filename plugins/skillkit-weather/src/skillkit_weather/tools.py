"""The tools ``weather_conditions_tool``, ``weather_forecast_tool`` and ``weather_history_tool``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from skillkit_providers import provider_addresses

from skillkit_core import Tool, ToolError, ToolOutput

from .provider import Day, chosen_provider

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["conditions", "forecast", "history", "weather_tools"]

_PLACE = {"type": "string", "minLength": 1, "maxLength": 200, "description": "A town or another named place: Oslo."}
_DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "description": "A date: 2026-01-31."}
_DAYS = {"type": "integer", "minimum": 1, "maximum": 16, "default": 5, "description": "How many days, from today on."}
_MOST_DAYS = 366


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def weather_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. Their annotation ``host`` is the addresses of the provider, so that permissions judge those."""
    addresses = provider_addresses(host, "weather_providers", "weather.provider")
    facts: dict[str, Any] = {"mutates": "none", "host": addresses} if addresses else {"mutates": "none"}
    here = f"{__name__}:"
    return (
        Tool(
            "weather_conditions_tool", "Return the weather at a place now: temperature in Celsius and Fahrenheit, wind, rain.",
            f"{here}conditions", _object(["place"], place=_PLACE), replay="safe", annotations=facts,
        ),
        Tool(
            "weather_forecast_tool", "Return the weather of the next days at a place, a line a day.",
            f"{here}forecast", _object(["place"], place=_PLACE, days=_DAYS), replay="safe", annotations=facts,
        ),
        Tool(
            "weather_history_tool", "Return the weather of past days at a place, at most a year of them.",
            f"{here}history", _object(["place", "first", "last"], place=_PLACE, first=_DATE, last=_DATE), replay="safe",
            annotations=facts,
        ),
    )  # fmt: skip


async def conditions(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say what the weather is now."""
    provider = await chosen_provider(ctx.agent.host)
    now = await provider.conditions(await provider.find(args["place"].strip()))
    lines = [f"{now.place.name}, {now.time}" if now.time else now.place.name]
    lines += [now.summary] if now.summary else []
    rows = (
        ("temperature", _degrees(now.temperature)),
        ("feels like", _degrees(now.feels_like)),
        ("humidity", _unit(now.humidity, "%")),
        ("wind", _unit(now.wind, " km/h")),
        ("precipitation", _unit(now.precipitation, " mm")),
    )
    lines += [f"{name}: {value}" for name, value in rows if value]
    return ToolOutput("\n".join([*lines, f"(from {provider.name})"]), details=asdict(now))


async def forecast(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say what the next days bring."""
    provider = await chosen_provider(ctx.agent.host)
    place = await provider.find(args["place"].strip())
    return _told(place.name, await provider.forecast(place, args.get("days", 5)), provider.name)


async def history(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say what past days were like."""
    try:
        first, last = date.fromisoformat(args["first"]), date.fromisoformat(args["last"])
    except ValueError as error:
        raise ToolError(f"no date: {error}") from None
    if not 0 <= (last - first).days < _MOST_DAYS:
        raise ToolError(f"give the earlier date first, and at most {_MOST_DAYS} days")
    provider = await chosen_provider(ctx.agent.host)
    place = await provider.find(args["place"].strip())
    return _told(place.name, await provider.history(place, first, last), provider.name)


def _told(place: str, days: Sequence[Day], by: str) -> ToolOutput:
    lines = [place]
    for day in days:
        parts = (
            day.summary,
            f"{_degrees(day.low)} to {_degrees(day.high)}" if day.low is not None and day.high is not None else "",
            _unit(day.precipitation, " mm"),
            f"wind {_unit(day.wind, ' km/h')}" if day.wind is not None else "",
        )
        lines.append(f"{day.date}: {', '.join(part for part in parts if part)}")
    if not days:
        lines.append("Nothing is known of these days.")
    return ToolOutput("\n".join([*lines, f"(from {by})"]), details={"place": place, "days": [asdict(d) for d in days]})


def _degrees(celsius: float | None) -> str:
    return "" if celsius is None else f"{celsius:.1f} °C ({celsius * 9 / 5 + 32:.1f} °F)"


def _unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:g}{unit}"
