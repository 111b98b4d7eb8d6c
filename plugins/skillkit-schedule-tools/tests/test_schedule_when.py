"""Times in words and as cron, with their zones."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from skillkit_schedule_tools import following, read_when
from skillkit_schedule_tools.when import between

from skillkit_core import UsageError

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2027, 1, 15, 9, 0, tzinfo=BERLIN).timestamp()  # a Friday


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("words", "cron", "due"),
    [
        ("every weekday at 8", "0 8 * * 1-5", "2027-01-18 08:00"),
        ("weekends at noon", "0 12 * * 0,6", "2027-01-16 12:00"),
        ("every monday and friday at 17:30", "30 17 * * 1,5", "2027-01-15 17:30"),
        ("mondays at 9", "0 9 * * 1", "2027-01-18 09:00"),
        ("daily at 8 and 20", "0 8,20 * * *", "2027-01-15 20:00"),
        ("every day at 5pm", "0 17 * * *", "2027-01-15 17:00"),
        ("Every Sunday at 8:30 PM", "30 20 * * 0", "2027-01-17 20:30"),
        ("every tue, thu at 6", "0 6 * * 2,4", "2027-01-19 06:00"),
        ("every 15 minutes", "*/15 * * * *", "2027-01-15 09:15"),
        ("every 2 hours", "0 */2 * * *", "2027-01-15 10:00"),
        ("hourly", "0 * * * *", "2027-01-15 10:00"),
        ("every month on the 1st at 9", "0 9 1 * *", "2027-02-01 09:00"),
        ("every month on the last day at 23:59", "59 23 L * *", "2027-01-31 23:59"),
        ("every day at 12 am", "0 0 * * *", "2027-01-16 00:00"),
        ("0 8 * * MON-FRI", "0 8 * * MON-FRI", "2027-01-18 08:00"),
        ("every week on monday at 8", "0 8 * * 1", "2027-01-18 08:00"),
        ("every weekday at 8 in America/New_York", "0 8 * * 1-5", "2027-01-15 14:00"),
        ("0 8 * * 5 UTC", "0 8 * * 5", "2027-01-22 09:00"),
        ("tomorrow at 9", "", "2027-01-16 09:00"),
        ("in 20 minutes", "", "2027-01-15 09:20"),
        ("2027-12-01 09:00", "", "2027-12-01 09:00"),
        ("next monday at 8", "", "2027-01-18 08:00"),
        ("in 3 days at 10am", "", "2027-01-18 10:00"),
    ],
)
def test_words_and_cron_mean_a_time(words, cron, due):
    when = read_when(words, "Europe/Berlin", NOW)
    assert when.cron == cron and following(when, NOW) == moment(due)
    assert when.zone in when.told() or not when.cron


@pytest.mark.parametrize(
    "words",
    [
        "",
        "blah",
        "yesterday",
        "every blah at 8",
        "every day at 25",
        "every 7 minutes",
        "every monday in march at 9",
        "every 2 days at 8",
        "every day at 8 until may",
        "every weekday at 8 and 9:30",
        "every evening",
        "every month at 9",
        "61 * * * *",
        "0 0 30 2 *",
        "every day at 8 Mars/Base",
        "every other day at 8",
        "2020-01-01",
    ],
)
def test_what_is_not_clear_or_never_comes_is_refused_with_an_example(words):
    with pytest.raises(UsageError) as error:
        read_when(words, "Europe/Berlin", NOW)
    assert error.value.hint


def test_the_change_to_summer_time_neither_loses_nor_doubles_a_day():
    when = read_when("every day at 2:30", "Europe/Berlin", NOW)
    at, days = datetime(2027, 3, 26, tzinfo=BERLIN).timestamp(), []
    for _ in range(4):
        at = following(when, at)
        days.append(datetime.fromtimestamp(at, BERLIN).strftime("%d %H:%M"))
    assert days == ["26 02:30", "27 02:30", "28 03:00", "29 02:30"]


def test_moments_between_are_the_newest_ones():
    when = read_when("every hour", "UTC", NOW)
    first = following(when, NOW)
    assert between(when, first, first + 5 * 3600 + 10, 3) == [first + n * 3600 for n in (3, 4, 5)]
    assert between(when, first, first + 10, 9) == [first]
