"""Times in words: "every weekday at 8", "tomorrow at 9", or a cron expression; each in a time zone.

What comes again becomes a cron expression, which cronsim follows, also over the change to summer time. A single moment is read
by dateparser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from skillkit_core import UsageError

__all__ = ["When", "between", "following", "local_zone", "read_when", "shown_time"]

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY = re.compile(rf"\b({'|'.join(_DAYS)}|sun|mon|tue|tues|wed|thu|thur|thurs|fri|sat)s?\b")
_ZONE = re.compile(r"\s+(?:in\s+)?\(?([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+|UTC)\)?\s*\Z")
_CRON = re.compile(r"[\d*][\d*,/-]*(?:\s+[\d*,/\-A-Za-z#]+){4}\Z")
_TIME = re.compile(r"(?:(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm|a\.m\.|p\.m\.|o'clock)?|(noon)|(midnight))(?=[\s,]|\Z)")
_EACH = re.compile(r"every\s+(\d+)\s+(minutes?|hours?|mins?)")
_NTH = re.compile(
    r"\b(?:on\s+)?the\s+(?:(\d{1,2})(?:st|nd|rd|th)?|(first|last))(?:\s+day)?(?:\s+of\s+(?:the|each|every)\s+month)?\b"
)
_FILLING = re.compile(
    r"\b(?:and|every|daily|weekly|monthly|on|week|month|day|morning|noon|afternoon|evening|night|weekdays?|weekends?|"
    r"working days?|workdays?)\b|[,\s]"
)
_HINT = (
    "write 'every weekday at 8', 'every monday and friday at 17:30', 'tomorrow at 9', '2027-12-01 09:00', or as cron"
)


class When(NamedTuple):
    """When something is due.

    Attributes:
        words: as it was said.
        zone: the time zone, such as ``Europe/Berlin``.
        cron: the expression of what comes again; empty: it is due once.
        at: the single moment, seconds since 1970; 0 for what comes again.
    """

    words: str
    zone: str
    cron: str = ""
    at: float = 0.0

    def told(self) -> str:
        """Return it in words that leave no doubt."""
        if not self.cron:
            return f"once, {shown_time(self.at, self.zone)}"
        from cronsim import CronSim

        return f"{CronSim(self.cron, datetime.now(UTC)).explain()} ({self.zone})"


def local_zone() -> str:
    """Return the time zone of this machine; ``UTC`` where it is not known."""
    import tzlocal

    try:
        return str(tzlocal.get_localzone_name() or "UTC")
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return "UTC"


def read_when(text: str, zone: str | None, now: float) -> When:
    """Return the time that is meant.

    Args:
        text: the words, or five fields of a cron expression; they may end with a time zone.
        zone: the time zone of words that name none; ``None``: that of this machine.
        now: seconds since 1970.

    Raises:
        UsageError: nobody can tell what is meant, it is over, or there is no such time zone.
    """
    words = " ".join(text.split())
    if (named := _ZONE.search(words)) is not None:
        zone, words = named[1], words[: named.start()]
    zone = zone or local_zone()
    _zone(zone)
    if not words:
        raise UsageError("no time was given", hint=_HINT)
    cron = words if _CRON.match(words) else _in_cron(words.lower())
    if cron:
        made = When(text, zone, cron=cron)
        following(made, now)  # an expression that never comes is none
        return made
    at = _moment(words, zone, now)
    if at <= now:
        raise UsageError(f"{text!r} is over: {shown_time(at, zone)}", hint="name a moment to come")
    return When(text, zone, at=at)


def following(when: When, after: float) -> float | None:
    """Return the first moment behind another one at which something is due; ``None``: it is not due again.

    Raises:
        UsageError: the cron expression is none.
    """
    if not when.cron:
        return when.at if when.at > after else None
    from cronsim import CronSim, CronSimError

    try:
        return float(next(CronSim(when.cron, datetime.fromtimestamp(after, _zone(when.zone)))).timestamp())
    except CronSimError as error:
        raise UsageError(f"{when.cron!r} is no cron expression: {error}", hint=_HINT) from None
    except StopIteration:
        raise UsageError(f"{when.cron!r} never comes", hint=_HINT) from None


def between(when: When, first: float, last: float, most: int) -> list[float]:
    """Return the moments from ``first`` to ``last``, both included, the newest ``most`` of them, oldest first."""
    if not when.cron:
        return [first]
    from cronsim import CronSim

    moments: list[float] = []
    zone = _zone(when.zone)
    for moment in CronSim(when.cron, datetime.fromtimestamp(last + 1, zone), reverse=True):
        if moment.timestamp() < first or len(moments) == most:
            break
        moments.append(float(moment.timestamp()))
    return moments[::-1] or [first]


def shown_time(moment: float, zone: str) -> str:
    """Return a moment as people read it."""
    return datetime.fromtimestamp(moment, _zone(zone)).strftime("%a %Y-%m-%d %H:%M %Z")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"there is no time zone {name!r}", hint="write one such as Europe/Berlin or UTC") from None


# --- what comes again ---------------------------------------------------------------------------------------------


def _in_cron(text: str) -> str:
    """Return the cron expression of words that say what comes again; empty: they do not."""
    text = text.replace("each ", "every ").replace("o'clock", "")
    if (often := _EACH.fullmatch(text.strip())) is not None:
        return _often(int(often[1]), "hour" if often[2].startswith("h") else "minute")
    if text in ("every minute", "every hour", "hourly"):
        return "* * * * *" if text == "every minute" else "0 * * * *"
    days = _days(text)
    if not days:
        return ""
    return f"{_at(text.rpartition(' at ')[2] if ' at ' in text else '', text)} {days}"


def _often(count: int, unit: str) -> str:
    most = 60 if unit == "minute" else 24
    if not 0 < count < most or most % count:
        even = ", ".join(str(n) for n in range(1, most) if most % n == 0)
        raise UsageError(f"every {count} {unit}s does not come evenly", hint=f"choose one of {even}")
    return f"*/{count} * * * *" if unit == "minute" else f"0 */{count} * * *"


def _days(text: str) -> str:
    """Return the day, month and weekday fields; empty: the words name no days that come again."""
    again = re.search(r"\b(?:every|daily|weekdays|weekends|weekly|monthly)\b", text) is not None
    found = [name[1] for name in _DAY.finditer(text)]
    plural = any(re.search(rf"\b{day}s\b", text) for day in _DAYS)
    if not (again or plural):
        return ""
    if re.search(r"\b(?:every month|monthly)\b", text):
        nth = _NTH.search(text)
        if nth is None:
            raise UsageError("say on which day of the month", hint="write 'every month on the 1st at 9'")
        return f"{nth[1] or ('1' if nth[2] == 'first' else 'L')} * *"
    if found:
        numbers = sorted({next(n for n, day in enumerate(_DAYS) if day.startswith(name[:3])) for name in found})
        return f"* * {','.join(map(str, numbers))}"
    if re.search(r"\b(?:weekdays?|working days?|workdays?)\b", text):
        return "* * 1-5"
    if re.search(r"\bweekends?\b", text):
        return "* * 0,6"
    if re.search(r"\b(?:every day|daily|every (?:morning|noon|afternoon|evening|night))\b", text):
        return "* * *"
    raise UsageError(f"it is not clear which days are meant by {text!r}", hint=_HINT)


def _at(tail: str, text: str) -> str:
    """Return the minute and hour fields."""
    times = [_clock(found) for found in _TIME.finditer(tail)]
    head = text.removesuffix(f" at {tail}")
    rest = _FILLING.sub("", _DAY.sub("", f"{_NTH.sub('', head)} {_TIME.sub('', tail)}"))
    if not times or rest:
        raise UsageError(
            f"it is not clear at what time {text!r} is", hint="write 'every weekday at 8' or 'every day at 17:30'"
        )
    minutes = {minute for _, minute in times}
    if len(minutes) > 1:
        raise UsageError("times of one schedule have the same minutes", hint="add a schedule for each time")
    return f"{minutes.pop()} {','.join(str(hour) for hour in sorted({hour for hour, _ in times}))}"


def _clock(found: re.Match[str]) -> tuple[int, int]:
    if found[4] or found[5]:
        return (12 if found[4] else 0), 0
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "")[:1]
    if half in ("a", "p") and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        raise UsageError(f"{found[0]!r} is no time of a day", hint="write 8, 8:30, 17:30 or 5 pm")
    return hour, minute


# --- a single moment ----------------------------------------------------------------------------------------------


def _moment(words: str, zone: str, now: float) -> float:
    import dateparser  # type: ignore[import-untyped]

    place = _zone(zone)
    base = datetime.fromtimestamp(now, place).replace(tzinfo=None)
    rules = {"TIMEZONE": zone, "RETURN_AS_TIMEZONE_AWARE": True, "PREFER_DATES_FROM": "future", "RELATIVE_BASE": base,
             "DATE_ORDER": "YMD"}  # fmt: skip
    for one in _spelled(words):
        found = dateparser.parse(one, languages=["en"], settings=rules)
        if found is not None:
            return float(found.timestamp())
    raise UsageError(f"it is not clear when {words!r} is", hint=_HINT)


def _spelled(words: str) -> Iterator[str]:
    """Yield the words, and the same as dateparser reads them: ``monday at 9`` as ``monday 9:00``."""
    at = re.sub(r"\bat\s+(\d{1,2})(?![\d:.]|\s*(?:am|pm))", r"at \1:00", words, flags=re.IGNORECASE)
    yield at
    yield re.sub(r"\b(?:next|this|on)\s+", "", at, flags=re.IGNORECASE)
