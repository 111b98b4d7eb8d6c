"""Dates as people say them, resolved here, because git takes any word it does not know for "now"."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, timedelta

from command import Problem

UNITS = r"minute|hour|day|week|fortnight|month|quarter|year"
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
           "nine": 9, "ten": 10, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}  # fmt: skip

AGO = re.compile(rf"(?P<n>\d{{1,5}}|{'|'.join(NUMBERS)})\s+(?P<unit>{UNITS})s?\s+(?:ago|back)")
LAST_N = re.compile(rf"(?:the )?(?:last|past|previous)\s+(?P<n>\d{{1,5}}|{'|'.join(NUMBERS)})\s+(?P<unit>{UNITS})s?")
LAST = re.compile(rf"(?:the )?(?:last|past|previous)\s+(?P<unit>{UNITS})")
THIS = re.compile(r"(?:this|the current)\s+(?P<unit>day|week|month|quarter|year)")
NAMED_DAY = re.compile(rf"(?:(?:last|on|this)\s+)?(?P<day>{'|'.join(DAYS)})")
NAMED_MONTH = re.compile(rf"(?:(?:last|in)\s+)?(?P<month>{'|'.join(MONTHS)})(?:\s+(?P<year>\d{{4}}))?")
DAY_OF_MONTH = re.compile(rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month>{'|'.join(MONTHS)})\s+(?P<year>\d{{4}})")
ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:\d{2}(?::\d{2})?(?:z|[-+]\d{2}:?\d{2})?)?")
SIMPLE = re.compile(r"yesterday|today|midnight|the beginning|the start|ever|all time|always")
PHRASES = [ISO, AGO, LAST_N, LAST, THIS, DAY_OF_MONTH, SIMPLE, NAMED_DAY, NAMED_MONTH]


def moment(text: str, now: datetime) -> datetime | None:
    """Return the start of the time that `text` names ("last week" is seven days ago), None for "ever".

    Raises `Problem` for anything else.
    """
    plain = re.sub(r"^(?:since|from|after|in|during|over|on|until|before)\s+", "", " ".join(text.lower().split()))
    for pattern in PHRASES:
        found = pattern.fullmatch(plain)
        if found:
            try:
                return _resolved(pattern, found, now)
            except (ValueError, OverflowError):
                break
    raise Problem(f"{text!r} is not a time I know; write for example: last week, 3 days ago, yesterday, 2026-01-31")


def _resolved(pattern: re.Pattern[str], found: re.Match[str], now: datetime) -> datetime | None:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if pattern is ISO:
        given = datetime.fromisoformat(found[0].upper())
        return given if given.tzinfo else given.replace(tzinfo=now.tzinfo)
    if pattern in (AGO, LAST_N):
        number = int(found["n"]) if found["n"].isdigit() else NUMBERS[found["n"]]
        return _before(now, number, found["unit"])
    if pattern is LAST:
        return _before(now, 1, found["unit"])
    if pattern is THIS:
        return _start(midnight, found["unit"])
    if pattern is NAMED_DAY:
        return midnight - timedelta(days=(midnight.weekday() - DAYS.index(found["day"])) % 7 or 7)
    if pattern is DAY_OF_MONTH:
        return midnight.replace(year=int(found["year"]), month=MONTHS.index(found["month"]) + 1, day=int(found["d"]))
    if pattern is NAMED_MONTH:
        month = MONTHS.index(found["month"]) + 1
        year = int(found["year"]) if found["year"] else now.year - (month > now.month)
        return midnight.replace(year=year, month=month, day=1)
    if found[0] == "yesterday":
        return midnight - timedelta(days=1)
    return midnight if found[0] in ("today", "midnight") else None


def _before(now: datetime, number: int, unit: str) -> datetime:
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if months:
        month = now.year * 12 + now.month - 1 - number * months
        year, place = divmod(month, 12)
        return now.replace(year=year, month=place + 1, day=min(now.day, monthrange(year, place + 1)[1]))
    days = {"day": 1, "week": 7, "fortnight": 14}.get(unit)
    if days:
        return now - timedelta(days=number * days)
    return now - timedelta(minutes=number * (60 if unit == "hour" else 1))


def _start(midnight: datetime, unit: str) -> datetime:
    if unit == "day":
        return midnight
    if unit == "week":
        return midnight - timedelta(days=midnight.weekday())
    month = {"month": midnight.month, "quarter": midnight.month - (midnight.month - 1) % 3, "year": 1}[unit]
    return midnight.replace(month=month, day=1)
