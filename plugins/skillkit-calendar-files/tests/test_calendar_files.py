"""The tools of calendars, on real ``.ics`` files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import icalendar
import pytest
import skillkit_calendar_files.plugin
from skillkit_testkit.conformance import ToolConformance

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VTIMEZONE
TZID:Europe/Oslo
BEGIN:STANDARD
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VEVENT
UID:standup
DTSTAMP:20260101T000000Z
SUMMARY:Stand-up
DTSTART;TZID=Europe/Oslo:20260105T093000
DTEND;TZID=Europe/Oslo:20260105T100000
RRULE:FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR
EXDATE;TZID=Europe/Oslo:20260107T093000
END:VEVENT
BEGIN:VEVENT
UID:fair
DTSTAMP:20260101T000000Z
SUMMARY:Book fair
LOCATION:Bergen
DTSTART;VALUE=DATE:20260106
DTEND;VALUE=DATE:20260108
END:VEVENT
BEGIN:VEVENT
UID:night
DTSTAMP:20260101T000000Z
SUMMARY:Night train
DTSTART:20260106T210000Z
DTEND:20260107T050000Z
END:VEVENT
END:VCALENDAR
""".replace("\n", "\r\n")
WEEK = {"first": "2026-01-06", "last": "2026-01-07"}
OSLO = {"calendar.zone": "Europe/Oslo", "tools.allow": ["add_event_tool"]}


class TestConformance(ToolConformance):
    plugin = skillkit_calendar_files.plugin
    settings: ClassVar = {"calendar.zone": "Europe/Oslo"}
    calls: ClassVar = {
        "list_events_tool": {**WEEK, "query": "fair"},
        "find_free_time_tool": WEEK,
        "add_event_tool": {"summary": "Lunch", "start": "2026-01-06T12:00"},
    }

    @pytest.fixture
    def tool_host(self, make_host):
        Path("calendar.ics").write_text(CALENDAR, newline="")
        return make_host(self.plugin, settings={"tools.allow": sorted(self.calls), **self.settings})


@pytest.fixture
def call(make_host, call_tools):
    Path("calendar.ics").write_text(CALENDAR, newline="")
    return lambda *turns, **settings: call_tools(
        make_host(skillkit_calendar_files.plugin, settings={**OSLO, **settings}), *turns
    )


@pytest.mark.smoke
def test_events_of_some_days_are_listed_with_those_of_series_in_the_zone_of_the_person(call):
    listed, found, none, summer = call(
        ("list_events_tool", WEEK),
        ("list_events_tool", {**WEEK, "query": "bergen FAIR"}),
        ("list_events_tool", {"first": "2026-01-10", "last": "2026-01-11"}),
        ("list_events_tool", {"first": "2026-07-01", "last": "2026-07-01"}),
    )
    assert listed.text.splitlines() == [
        "2026-01-06 to 2026-01-07 all day: Book fair (Bergen)",
        "2026-01-06 09:30 to 10:00: Stand-up",
        "2026-01-06 22:00 to 2026-01-07 06:00: Night train",
    ]
    assert [row["summary"] for row in found.details] == ["Book fair"]
    assert none.text == "No event lies between 2026-01-10 and 2026-01-11."
    assert summer.text == "2026-07-01 09:30 to 10:00: Stand-up"  # the same time of day in summer


def test_free_time_lies_between_the_events_of_a_working_day(call):
    (free,) = call(("find_free_time_tool", {**WEEK, "day_ends": "12:00", "minutes": 45}))
    assert free.text.splitlines() == ["2026-01-06 10:00 to 12:00", "2026-01-07 09:00 to 12:00"]


def test_an_event_is_added_once_and_the_rest_of_the_file_stays(call):
    added, listed = call(
        ("add_event_tool", {"summary": "Lunch, with Ida; x", "start": "2026-01-06T12:00", "location": "Café"}),
        ("list_events_tool", {"first": "2026-01-06", "last": "2026-01-06", "query": "lunch"}),
    )
    assert added.text == "In calendar.ics: 2026-01-06 12:00 to 13:00: Lunch, with Ida; x (Café)"
    assert listed.text == "2026-01-06 12:00 to 13:00: Lunch, with Ida; x (Café)"
    calendar = icalendar.Calendar.from_ical(Path("calendar.ics").read_bytes())
    assert [str(event["SUMMARY"]) for event in calendar.walk("VEVENT")][:3] == ["Stand-up", "Book fair", "Night train"]
    assert Path("calendar.ics").read_bytes().count(b"RRULE:FREQ=DAILY") == 1


def test_a_new_file_is_a_calendar_and_a_whole_day_is_one(call):
    added, listed = call(
        ("add_event_tool", {"summary": "Holiday", "start": "2026-02-01", "file": "new/own.ics"}),
        ("list_events_tool", {"first": "2026-02-01", "last": "2026-02-01", "files": ["new/own.ics", "calendar.ics"]}),
    )
    assert added.text == "In own.ics: 2026-02-01 all day: Holiday" and listed.text == "2026-02-01 all day: Holiday"


def test_what_is_wrong_is_told_in_words_and_nothing_is_written(call):
    Path("broken.ics").write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:never\nnonsense")
    before = Path("calendar.ics").read_bytes()
    missing, broken, backwards, mixed, never, span = call(
        ("list_events_tool", {**WEEK, "files": ["none.ics"]}),
        ("list_events_tool", {**WEEK, "files": ["broken.ics"]}),
        ("add_event_tool", {"summary": "x", "start": "2026-01-06T12:00", "end": "2026-01-06T11:00"}),
        ("add_event_tool", {"summary": "x", "start": "2026-01-06", "end": "2026-01-06T11:00"}),
        ("add_event_tool", {"summary": "x", "start": "2026-13-06T12:00"}),
        ("list_events_tool", {"first": "2026-02-01", "last": "2026-01-01"}),
    )
    assert "which is not there" in missing.text and "no calendar that can be read" in broken.text
    assert "behind the start" in backwards.text and "both dates, or both times" in mixed.text
    assert "is no date and no time" in never.text and "earlier day first" in span.text
    assert all(one.is_error for one in (missing, broken, backwards, mixed, never, span))
    assert Path("calendar.ics").read_bytes() == before
    (zone,) = call(("list_events_tool", WEEK), **{"calendar.zone": "Mars/Base"})
    assert "nobody knows the time zone 'Mars/Base'" in zone.text
