"""What can be found in a text without a model: addresses, dates, numbers, and lines of the kind ``name: value``."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["KINDS", "extract"]

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]]+", re.I)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_NAMES = "|".join(f"{m[:3]}(?:{m[3:]})?" if len(m) > 3 else m for m in _MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_WORDS = re.compile(rf"\b(?:{_DAY}\.?\s+({_NAMES})|({_NAMES})\s+{_DAY}),?\s+(\d{{4}})\b", re.I)
_NUMBER = re.compile(
    r"(?<![\w.,/:-])[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w.,/:-])[-+]?\d+(?:\.\d+)?(?![\w:/-])"
)
_PAIR = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\**([^\W_][^\n:*|]{0,40}?)\**:\**[ \t]+(\S[^\n]*?)[ \t]*$", re.M)

KINDS = ("urls", "emails", "dates", "numbers", "pairs")


def extract(text: str) -> dict[str, object]:
    """Return what is found: ``urls``, ``emails``, ``dates`` (ISO 8601), ``numbers``, ``pairs`` of names and values; each once."""
    urls = [_trimmed(url) for url in _URL.findall(text)]
    bare = _MAIL.sub(" ", _URL.sub(" ", text))
    dates = [d for d in ([_date(*m) for m in _ISO.findall(bare)] + [_words(*m) for m in _WORDS.findall(bare)]) if d]
    rest = _WORDS.sub(" ", _ISO.sub(" ", bare))
    numbers = [
        float(n) if "." in n else int(n) for n in (m.replace(",", "") for m in _NUMBER.findall(rest)) if len(n) < 300
    ]
    return {
        "urls": list(dict.fromkeys(urls)),
        "emails": list(dict.fromkeys(_MAIL.findall(_URL.sub(" ", text)))),
        "dates": list(dict.fromkeys(dates)),
        "numbers": list(dict.fromkeys(numbers)),
        "pairs": _pairs(text),
    }


def _trimmed(url: str) -> str:
    """Return an address without the marks of the sentence around it."""
    url = url.rstrip(".,;:!?*_")
    return url.rstrip(")") if url.count(")") > url.count("(") else url


def _date(year: str, month: str, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _words(day: str, month: str, other_month: str, other_day: str, year: str) -> str | None:
    name = (month or other_month)[:3].title()
    number = next(n for n, known in enumerate(_MONTHS, 1) if known.startswith(name))
    return _date(year, str(number), day or other_day)


def _pairs(text: str) -> dict[str, str]:
    """Return the lines of the kind ``name: value``; the colon of an address is none."""
    hidden = _URL.sub(lambda found: found[0].replace(":", "\0"), text)
    return {name.strip(): value.replace("\0", ":") for name, value in _PAIR.findall(hidden)}
