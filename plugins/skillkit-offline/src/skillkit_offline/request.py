"""A request taken apart: which of its characters are data (files, quotations, numbers, dates, options) and which are words."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from .words import normal, stem

__all__ = ["LIMIT", "Kind", "Piece", "Request", "clean", "joined", "parse", "tokens", "visible"]

LIMIT = 20_000  # characters that are read; what is longer is passed on whole, but nothing behind this is looked at
_LONGEST_NUMBER = 300


# What a piece of a request is.
Kind = StrEnum("Kind", ["word", "number", "quoted", "option", "assignment", "file", "glob", "date", "symbol"])


class Piece(NamedTuple):
    """One piece of a request.

    Attributes:
        kind: what it is.
        text: its characters; for quotations without the quotation marks.
        start, end: where it is in the request's text.
        stem: words: the form that is compared; else empty.
        value: numbers: the number. options and assignments: the value's text, ``None`` without one.
        name: options and assignments: the name.
        unit: numbers: the ending or sign that was written with it ("%", "km").
    """

    kind: Kind
    text: str
    start: int
    end: int
    stem: str = ""
    value: int | float | str | None = None
    name: str = ""
    unit: str = ""


class Request(NamedTuple):
    """A request: its text without control characters, and its pieces in order."""

    text: str
    pieces: tuple[Piece, ...]
    opening: int = 0  # characters of courtesy that it begins with

    @property
    def head(self) -> str:
        """The part of the text that is read."""
        return self.text[:LIMIT]

    def of(self, *kinds: Kind) -> list[int]:
        """Places of the pieces of these kinds."""
        return [i for i, p in enumerate(self.pieces) if p.kind in kinds]


def clean(text: str) -> str:
    """``text`` as it can be passed to a program: valid Unicode, no control characters but tab and line feed."""
    text = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
    if text.isprintable():
        return text.strip()
    return "".join(c if c in "\t\n" or unicodedata.category(c) != "Cc" else " " for c in text).strip()


def visible(text: str, limit: int = 120) -> str:
    """``text`` for a line of an answer: one line, nothing that steers a terminal, at most ``limit`` characters."""
    kept = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in text[: limit * 4])
    line = " ".join(clean(kept).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_SPAN = r"(?:minute|hour|day|week|fortnight|month|quarter|year)s?"
_AMOUNT = r"(?:\d{1,6}|a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|couple of|few)"
_SCAN = re.compile(
    rf"""
      (?P<option>(?<!\S)--(?P<oname>[A-Za-z][\w-]{{0,63}})(?:=(?P<ovalue>"[^"\n]{{0,500}}"|'[^'\n]{{0,500}}'|\S+))?(?!\S))
    | "(?P<q1>[^"\n]{{1,500}})" | “(?P<q2>[^”\n]{{1,500}})” | «(?P<q3>[^»\n]{{1,500}})» | `(?P<q4>[^`\n]{{1,500}})`
    | (?<![\w'])'(?P<q5>[^'\n]{{1,500}})'(?!\w) | (?<!\w)‘(?P<q6>[^’\n]{{1,500}})’(?!\w)
    | (?P<date>(?<![\w./-])(?:
          \d{{4}}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)?
        | (?:0?[1-9]|[12]\d|3[01])[./](?:0?[1-9]|1[0-2])[./]\d{{4}}
        | (?:{_AMOUNT}\ )(?:{_SPAN}\ ago)
        | (?:last|past|previous|this|current)\ (?:{_AMOUNT}\ )?(?:{_SPAN}|{_DAY}|{_MONTH})
        | yesterday|today
        | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?,?\ \d{{4}} | \d{{1,2}}(?:st|nd|rd|th)?\ {_MONTH}(?:\ \d{{4}})?
        | {_MONTH}\ \d{{4}}
        )(?![\w/-]|\.\w))
    | (?P<assignment>(?<!\S)(?P<aname>[A-Za-z][\w-]{{0,63}})=(?P<avalue>"[^"\n]{{0,500}}"|'[^'\n]{{0,500}}'|[^\s=]\S*))
    | (?P<run>\S+)
    """,
    re.X | re.I,
)
_NUMBER = re.compile(r"(?P<sign>[-+]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<rest>\.\d+)?")
_EXTENSION = re.compile(r"[^\s/\\*?]{1,200}\.(?:[A-Za-z][A-Za-z0-9]{0,7}|7z)")
_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?")
_INSIDE = re.compile(
    r"(?P<number>(?<![\w.])[$€£]?[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?)|(?P<word>[^\W_]+(?:['’_-]?[^\W_]+)*)|(?P<symbol>[^\w\s]|_)"
)
_OPENING = re.compile(
    r"""(?:(?:please|pls|kindly|hey|hi|hello|ok|okay|so|well|just|quickly|now|thanks|let['’]s
    | (?:can|could|will|would|may|might)\ (?:you|i|we)(?:\ (?:just|please|quickly|kindly))?
    | (?:i|we)(?:['’]d|['’]m|\ would|\ am)?\ (?:like|love|want|need|wonder|wondering|curious)
    | (?:let|help|tell|show|give|get|find)\ (?:me|us) | do\ you\ know
    | (?:to\ )?(?:know|see|check|find\ out)(?:\ (?:if|whether))?(?=\ (?:how|what|wh\w+|if|is|are|\S+\ (?:is|has|are)))
    | to\ (?:know|see|get|have|find\ out)
    )\b[\s,:.!]*)+""",
    re.X | re.I,
)
_NEVER_IN_NAMES = frozenset("[]{}<>|=;\"'`$")  # unquoted in a request they are part of an expression
_SITES = frozenset({"com", "org", "net", "io", "ai"})
_COUNTED = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
)
_SMALL = {word: number for number, word in enumerate(f"{_COUNTED} nineteen twenty".split(), 2)}
_SMALL |= {"thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12}


@lru_cache(maxsize=256)
def parse(text: str) -> Request:
    """Take a request apart. Never fails; linear in the text's length, which is read up to ``LIMIT`` characters."""
    text = clean(text)
    pieces: list[Piece] = []
    for found in _SCAN.finditer(text, 0, min(len(text), LIMIT)):
        pieces.extend(_pieces(found))
    opening = _OPENING.match(text)
    return Request(text, tuple(pieces), opening.end() if opening else 0)


_QUOTES = re.compile(r"\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|`[^`\n]{1,500}`|(?<!\w)'[^'\n]{1,500}'(?!\w)")
_MOST_JOINED = 5
_JOINT = re.compile(
    r"""(?:[;.?!]\s+ | (?<!\s)[,;]?\s+(?:and|then)\s+) (?:(?:and|then|also|please)\s+)*
    (?=(?P<question>what|which|who|how|when|why)\b | (?:show|list|find|count|give|tell|display|print|calculate|convert
    |compute|check|outline|describe|summari[sz]e)\b(?!\s*[<>=!]|\s+is\b))""",
    re.X | re.I,
)


def joined(text: str) -> tuple[list[str], bool]:
    """Return the requests of which ``text`` is joined, and whether one is a question, which is no value of another.

    They share the one file that is named: "how many rows does a.csv have and what is the mean of price".
    """
    text = clean(text)[:LIMIT]
    joints = list(_JOINT.finditer(_QUOTES.sub(lambda quoted: "x" * len(quoted[0]), text)))
    if len(joints) >= _MOST_JOINED:
        return [text], False
    starts, ends = [0, *(j.end() for j in joints)], [*(j.start() for j in joints), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    named = [[p.text for p in parse(part).pieces if p.kind is Kind.file] for part in parts]
    if len(files := {name for names in named for name in names}) == 1:
        shared = f" in {files.pop()}"
        parts = [
            p if names else re.sub(r"\bits\b", "the", p).rstrip(" ?.!,") + shared
            for p, names in zip(parts, named, strict=True)
        ]
    return parts, any(j["question"] for j in joints)


def tokens(request: Request) -> list[str]:
    """The words by which the pieces are compared with declared ones, as they are spelled; empty for data."""
    out = []
    for piece in request.pieces:
        if piece.kind is Kind.number and piece.unit:
            out.append("percent" if piece.unit == "%" else normal(piece.unit))
        elif piece.kind in (Kind.word, Kind.symbol) or (piece.kind is Kind.number and piece.text.isalpha()):
            out.append(normal(piece.text).replace("’", "'"))
        else:
            out.append("")
    return out


def _pieces(found: re.Match[str]) -> list[Piece]:
    start, end = found.span()
    group = found.lastgroup or ""
    if found["option"]:
        return [Piece(Kind.option, found[0], start, end, value=_unquoted(found["ovalue"]), name=found["oname"])]
    if found["assignment"]:
        value = found["avalue"].rstrip(",;.!?") or found["avalue"]
        return [Piece(Kind.assignment, found[0], start, end, value=_unquoted(value), name=found["aname"])]
    if found["date"]:
        return [Piece(Kind.date, found[0], start, end)]
    if group.startswith("q"):
        return [Piece(Kind.quoted, found[group], start, end)]
    return _run(found[0], start)


def _unquoted(value: str | None) -> str | None:
    return value[1:-1] if value and len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else value


def _run(run: str, start: int) -> list[Piece]:
    """The pieces of a run of characters without white space."""
    opening = len(run) - len(run.lstrip("([{<,;:\"'“‘"))
    core = run[opening:].rstrip(",;:!?)]}>\"'”’…")
    core = core.rstrip(".") if core.strip(".") else core
    kind = _data_kind(core)
    if kind is None:
        return _inside(run, start)
    begin = start + opening
    return [
        *_inside(run[:opening], start),
        Piece(kind, core, begin, begin + len(core)),
        *_inside(run[opening + len(core) :], begin + len(core)),
    ]


def _data_kind(core: str) -> Kind | None:
    if not core or len(core) > 1_000 or any(c in _NEVER_IN_NAMES for c in core):
        return None
    starred = "*" in core or ("?" in core and "." in core)
    if starred and re.search(r"[A-Za-z./]", core) and not re.match(r"[\d(]", core):
        return Kind.glob
    if "/" in core or "\\" in core:
        return Kind.file if _is_path(core) else None
    if _EXTENSION.fullmatch(core) and not _ABBREVIATION.fullmatch(core):
        ending = core.rpartition(".")[2]
        return Kind.file if ending.lower() not in _SITES and (ending.islower() or ending.isupper()) else None
    return Kind.file if core in (".", "..") or re.fullmatch(r"\.[A-Za-z][\w.-]{1,63}", core) else None


def _is_path(core: str) -> bool:
    """Whether text with a slash is a path; "and/or", "km/h", "24/7" and "(3+4)/2" are not."""
    if (core.startswith(("./", "../", "~/", "/")) and len(core) > 1) or (core.endswith("/") and core[0].isalpha()):
        return True
    parts = [p for p in re.split(r"[/\\]", core) if p]
    if not parts or not (core[0].isalnum() or core[0] in "._") or re.fullmatch(r"[\d.,+*/^%()x-]+", core):
        return False
    return len(parts) > 2 or bool(_EXTENSION.fullmatch(parts[-1]))


def _inside(run: str, start: int) -> list[Piece]:
    out: list[Piece] = []
    for found in _INSIDE.finditer(run):
        begin, end, text = start + found.start(), start + found.end(), found[0]
        number = re.match(r"(\d{1,12}(?:\.\d{1,12})?)([A-Za-z°]{1,5})$", text)
        if found["number"] or (text.isdigit() and text.isascii()):
            out.append(_number(text, begin, end))
        elif number:
            out.append(_number(number[1], begin, end, number[2]))
        elif found["symbol"]:
            out.append(Piece(Kind.symbol, text, begin, end))
        elif text.lower() in _SMALL:
            out.append(Piece(Kind.number, text, begin, end, value=_SMALL[text.lower()]))
        else:
            out.append(Piece(Kind.word, text, begin, end, stem(normal(text).replace("’", "'").removesuffix("'s"))))
    return out


def _number(text: str, start: int, end: int, unit: str = "") -> Piece:
    found = _NUMBER.search(text)
    if found is None or len(text) > _LONGEST_NUMBER or (not text.isascii() and text[0] not in "€£"):
        return Piece(Kind.word, text, start, end, stem(normal(text)))
    digits = found["sign"] + found["digits"].replace(",", "")
    value: int | float = float(digits + found["rest"]) if found["rest"] else int(digits)
    sign = text[0] if text[0] in "$€£" else ""
    return Piece(Kind.number, text, start, end, value=value, unit=unit or ("%" if text.endswith("%") else sign))
