"""Events of ``.ics`` files (RFC 5545): those of a span of days, also of series; and a new one at the end of a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from skillkit_core import ToolError

__all__ = ["FILES", "Event", "add", "between", "moment", "zone_of"]

FILES = ("calendar.ics",)
"""The calendars where the configuration names none."""
_MOST_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event, or one of a series.

    Attributes:
        summary, location, description: as the file says.
        start, end: in the person's zone, or dates for whole days; the end is not part of it.
        uid: of the file.
        file: the name of the file.
    """

    summary: str
    start: date | datetime
    end: date | datetime
    location: str = ""
    description: str = ""
    uid: str = ""
    file: str = ""

    @property
    def all_day(self) -> bool:
        """Whether it is about whole days."""
        return not isinstance(self.start, datetime)


def zone_of(name: str | None) -> tzinfo:
    """Return the person's time zone.

    Raises:
        ToolError: nobody knows a zone of that name.
    """
    if name is None:
        found = datetime.now().astimezone().tzinfo
        assert found is not None
        return found
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ToolError(f"calendar.zone: nobody knows the time zone {name!r}; an example is Europe/Oslo") from None


def moment(text: str, zone: tzinfo) -> date | datetime:
    """Return a date, or a time in the person's zone where it says none of its own.

    Raises:
        ToolError: the text is neither.
    """
    try:
        if len(text) == 10:
            return date.fromisoformat(text)
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(f"{text!r} is no date and no time: write 2026-01-31 or 2026-01-31T14:30") from None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _calendar(file: Path) -> Any:
    import icalendar

    try:
        if not file.is_file():
            raise ToolError(f"needs the calendar {file}, which is not there")
        if file.stat().st_size > _MOST_BYTES:
            raise ToolError(f"{file.name} is larger than {_MOST_BYTES} bytes")
        return icalendar.Calendar.from_ical(file.read_bytes())
    except (ValueError, IndexError, KeyError, OSError) as error:
        raise ToolError(f"{file.name[:100]} is no calendar that can be read: {str(error)[:200]}") from None


def between(files: Sequence[Path], first: date, last: date, zone: tzinfo) -> list[Event]:
    """Return the events of all files that touch days from ``first`` to ``last``, both included, by their start.

    Raises:
        ToolError: a file is missing, or cannot be read.
    """
    import recurring_ical_events  # type: ignore[import-untyped]

    start = datetime(first.year, first.month, first.day, tzinfo=zone)
    end = datetime(last.year, last.month, last.day, tzinfo=zone) + timedelta(days=1)
    found = []
    for file in files:
        calendar = _calendar(file)
        try:
            rows = recurring_ical_events.of(calendar, skip_bad_series=True).between(start, end)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ToolError(f"{file.name}: its events cannot be read: {str(error)[:200]}") from None
        found += [_event(row, file, zone) for row in rows]
    return sorted(found, key=lambda event: (_day(event.start), not event.all_day, _clock(event.start), event.summary))


def _event(row: Any, file: Path, zone: tzinfo) -> Event:
    return Event(
        summary=_text(row, "SUMMARY") or "(no title)",
        start=_local(row.start, zone),
        end=_local(row.end, zone),
        location=_text(row, "LOCATION"),
        description=_text(row, "DESCRIPTION"),
        uid=_text(row, "UID"),
        file=file.name,
    )


def _text(row: Any, name: str) -> str:
    value = row.get(name, "")
    return str(value[0] if isinstance(value, list) else value).strip()


def _local(value: date | datetime, zone: tzinfo) -> date | datetime:
    if not isinstance(value, datetime):
        return value
    return value.astimezone(zone) if value.tzinfo else value.replace(tzinfo=zone)


def _day(value: date | datetime) -> str:
    return value.isoformat()[:10]


def _clock(value: date | datetime) -> str:
    return value.isoformat()[11:]


def add(
    file: Path, summary: str, start: date | datetime, end: date | datetime, *, location: str, description: str, key: str
) -> Event:
    """Put an event into a file, which is made where it is not there. The same key puts it in once.

    Raises:
        ToolError: the end lies before the start, one is a date and the other a time, or the file is no calendar.
    """
    import icalendar

    if isinstance(start, datetime) != isinstance(end, datetime):
        raise ToolError("start and end are both dates, or both times")
    if not start < end:
        raise ToolError("the end must lie behind the start; the end of a whole day is the day after")
    target = file.resolve()
    calendar = _calendar(target) if target.exists() else icalendar.Calendar()
    if not target.exists():
        calendar.add("prodid", "-//skillkit//calendar-files//EN")
        calendar.add("version", "2.0")
    uid = str(uuid5(NAMESPACE_URL, f"skillkit:{key}"))
    if not any(_text(row, "UID") == uid for row in calendar.walk("VEVENT")):
        event = icalendar.Event()
        event.add("uid", uid)
        event.add("dtstamp", datetime.now(ZoneInfo("UTC")))
        event.add("summary", summary)
        event.add("dtstart", _written(start))
        event.add("dtend", _written(end))
        for name, value in (("location", location), ("description", description)):
            if value:
                event.add(name, value)
        calendar.add_component(event)
        _replace(target, calendar.to_ical())
    return Event(summary, start, end, location, description, uid, file.name)


def _written(value: date | datetime) -> date | datetime:
    """Return a time as a file may hold it without a definition of its zone: in UTC."""
    return value.astimezone(ZoneInfo("UTC")) if isinstance(value, datetime) else value


def _replace(target: Path, data: bytes) -> None:
    """Write a file; readers see the old one or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(made).chmod(mode)
        Path(made).replace(target)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
