"""The tools ``list_events_tool``, ``find_free_time_tool`` and ``add_event_tool``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolError, ToolOutput

from . import events
from .events import FILES, Event

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["add_event", "calendar_tools", "find_free_time", "list_events"]

_MOST_DAYS = 366
_DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
_CLOCK = {"type": "string", "pattern": r"^([01]\d|2[0-3]):[0-5]\d$"}
_MOMENT = {"type": "string", "minLength": 10, "maxLength": 40, "description": "2026-01-31 or 2026-01-31T14:30"}


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def calendar_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. Guards judge the files."""
    config = host.config.section("calendar", None)
    usual = list(FILES if config is None else config.files)
    files = {
        "type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 1000}, "minItems": 1, "maxItems": 50,
        "default": usual, "description": "The .ics files.",
    }  # fmt: skip
    file = {"type": "string", "minLength": 1, "maxLength": 1000, "default": usual[0], "description": "The .ics file."}
    reads = {"mutates": "none", "paths": {"files": usual}}
    span = {
        "first": {**_DATE, "description": "The first day; default: today."},
        "last": {**_DATE, "description": "The last day; default: six days after the first."},
    }
    here = f"{__name__}:"
    return (
        Tool("list_events_tool", "List the events of some days, with those of series, by their start.", f"{here}list_events",
             _object([], **span, files=files, query={"type": "string", "maxLength": 200, "description": "Words that all occur."}),
             replay="safe", annotations=reads),
        Tool("find_free_time_tool", "List the times of some days in which no event lies.", f"{here}find_free_time",
             _object([], **span, files=files,
                     minutes={"type": "integer", "minimum": 5, "maximum": 1440, "default": 30, "description": "At least."},
                     day_begins={**_CLOCK, "default": "09:00"}, day_ends={**_CLOCK, "default": "17:00"}),
             replay="safe", annotations=reads),
        Tool("add_event_tool", "Put an event into a calendar file.", f"{here}add_event",
             _object(["summary", "start"], summary={"type": "string", "minLength": 1, "maxLength": 500}, start=_MOMENT,
                     end={**_MOMENT, "description": "Default: an hour later, or the day after."},
                     location={"type": "string", "maxLength": 500}, description={"type": "string", "maxLength": 5000}, file=file),
             opt_in="permissions" not in host.plugins, sequential=True, replay="safe",
             annotations={"mutates": "files", "paths": {"file": usual[0]}}),
    )  # fmt: skip


def _place(name: str, ctx: ToolContext) -> Path:
    if "\0" in name:
        raise ToolError("a path holds no null character")
    return ctx.cwd / Path(name).expanduser()


def _span(args: Mapping[str, Any], zone: tzinfo) -> tuple[date, date]:
    try:
        first = date.fromisoformat(args["first"]) if "first" in args else datetime.now(zone).date()
        last = date.fromisoformat(args["last"]) if "last" in args else first + timedelta(days=6)
    except (ValueError, OverflowError) as error:
        raise ToolError(f"no date: {error}") from None
    if not 0 <= (last - first).days < _MOST_DAYS:
        raise ToolError(f"give the earlier day first, and at most {_MOST_DAYS} days")
    return first, last


async def _events(args: Mapping[str, Any], ctx: ToolContext, zone: tzinfo) -> list[Event]:
    config = ctx.agent.host.config.section("calendar")
    files = [_place(name, ctx) for name in args.get("files", config.files)]
    return await asyncio.to_thread(events.between, files, *_span(args, zone), zone)


def _zone(ctx: ToolContext) -> tzinfo:
    return events.zone_of(ctx.agent.host.config.section("calendar").zone)


async def list_events(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say what some days hold."""
    zone = _zone(ctx)
    words = args.get("query", "").casefold().split()
    found = [
        event
        for event in await _events(args, ctx, zone)
        if all(word in f"{event.summary} {event.location} {event.description}".casefold() for word in words)
    ]
    first, last = _span(args, zone)
    return ToolOutput(
        "\n".join(map(_line, found)) or f"No event lies between {first} and {last}.", details=[_data(e) for e in found]
    )


def _line(event: Event) -> str:
    where = f" ({event.location})" if event.location else ""
    if event.all_day:
        last = event.end - timedelta(days=1)
        days = f"{event.start}" if last <= event.start else f"{event.start} to {last}"
        return f"{days} all day: {event.summary}{where}"
    same = event.start.isoformat()[:10] == event.end.isoformat()[:10]
    end = f"{event.end:%H:%M}" if same else f"{event.end:%Y-%m-%d %H:%M}"
    return f"{event.start:%Y-%m-%d %H:%M} to {end}: {event.summary}{where}"


def _data(event: Event) -> dict[str, str]:
    return {
        "summary": event.summary, "start": event.start.isoformat(), "end": event.end.isoformat(),
        "location": event.location, "description": event.description, "file": event.file, "uid": event.uid,
    }  # fmt: skip


async def find_free_time(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say when nothing lies; events of whole days leave the day free."""
    zone = _zone(ctx)
    busy = [e for e in await _events(args, ctx, zone) if isinstance(e.start, datetime) and isinstance(e.end, datetime)]
    begins, ends = (time.fromisoformat(args.get(n, d)) for n, d in (("day_begins", "09:00"), ("day_ends", "17:00")))
    least = timedelta(minutes=args.get("minutes", 30))
    first, last = _span(args, zone)
    free: list[tuple[datetime, datetime]] = []
    for n in range((last - first).days + 1):
        day = first + timedelta(days=n)
        start, end = datetime.combine(day, begins, zone), datetime.combine(day, ends, zone)
        free += [(a, b) for a, b in _gaps(start, end, busy) if b - a >= least]
    lines = [f"{a:%Y-%m-%d %H:%M} to {b:%H:%M}" for a, b in free]
    told = "\n".join(lines) or "No time is free."
    return ToolOutput(told, details=[{"start": a.isoformat(), "end": b.isoformat()} for a, b in free])


def _gaps(start: datetime, end: datetime, busy: Sequence[Event]) -> list[tuple[datetime, datetime]]:
    """Return the times between start and end in which no event lies; the events are sorted by start."""
    found, at = [], start
    for event in busy:
        assert isinstance(event.start, datetime) and isinstance(event.end, datetime)
        if event.end <= at or event.start >= end:
            continue
        if event.start > at:
            found.append((at, event.start))
        at = max(at, event.end)
    return [*found, (at, end)] if at < end else found


async def add_event(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Put an event into a file."""
    zone, config = _zone(ctx), ctx.agent.host.config.section("calendar")
    start = events.moment(args["start"], zone)
    usual = timedelta(hours=1) if isinstance(start, datetime) else timedelta(days=1)
    end = events.moment(args["end"], zone) if "end" in args else start + usual
    file = _place(args.get("file", config.files[0]), ctx)
    try:
        event = await asyncio.to_thread(
            lambda: events.add(
                file, args["summary"], start, end, location=args.get("location", ""),
                description=args.get("description", ""), key=ctx.idempotency_key,
            )
        )  # fmt: skip
    except OSError as error:
        raise ToolError(f"{file.name} could not be written: {error}") from None
    return ToolOutput(f"In {event.file}: {_line(event)}", details=_data(event))
