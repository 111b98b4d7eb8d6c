"""Explains why a text is not found: what comes nearest to it, in which line, and what differs."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence

__all__ = ["explain", "loosened"]

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－"), "-")
_QUOTES = {**dict.fromkeys(map(ord, "‘’‚‛′＇"), "'"), **dict.fromkeys(map(ord, "“”„‟″＂«»"), '"')}
_BLANKS = dict.fromkeys(
    map(ord, "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"), " "
)
_HIDDEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f"), None)
_TYPOGRAPHY = {**_DASHES, **_QUOTES, **_BLANKS}
_NUMBERED = re.compile(r"\s*\d+(?:\t|→|[|:] ?)")
_LOOKED_AT = 100_000  # lines
_MOST_LINES = 20_000  # lines that are compared one by one
_SHOWN = 12  # lines of the nearest text that are shown
_WIDTH = 200


def loosened(line: str) -> str:
    """Return a line with ASCII in place of typographic dashes, quotes and blanks."""
    return line if line.isascii() else line.translate(_TYPOGRAPHY)


def _composed(line: str) -> str:
    return unicodedata.normalize("NFKC", loosened(line).translate(_HIDDEN))


# from the smallest difference to the largest
_LEVELS: Sequence[tuple[str, Callable[[str], str]]] = (
    ("trailing whitespace", str.rstrip),
    ("typographic characters (quotes, dashes or blanks)", lambda line: loosened(line).rstrip()),
    (
        "the Unicode form of a character (composed or decomposed) or an invisible character",
        lambda line: _composed(line).rstrip(),
    ),
    ("indentation", lambda line: _composed(line).strip()),
    ("whitespace", lambda line: re.sub(r"\s+", "", _composed(line))),
    ("upper and lower case", lambda line: re.sub(r"\s+", "", _composed(line)).casefold()),
)


def explain(text: str, old: str) -> str:
    """Return what comes near to ``old`` in ``text`` (both with LF), in a few lines; empty: nothing does."""
    have, want = text.split("\n", _LOOKED_AT)[:_LOOKED_AT], old.strip("\n").split("\n")
    plain = text.isascii() and old.isascii()
    if all(_NUMBERED.match(line) for line in want if line.strip()) and want != [""]:
        bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in want)
        if bare in text:
            return "It begins with the line numbers that read shows; leave out that prefix."
    for what, fold in _LEVELS:
        if plain and "character" in what:
            continue
        place = _block([fold(line) for line in have], [fold(line) for line in want])
        if place is not None:
            return _found(have, want, place, len(want), what)
    filled = [(n, line) for n, line in enumerate(have) if line.strip()]
    wanted = [line.strip() for line in want if line.strip()]
    place = _block([line.strip() for _, line in filled], wanted) if wanted else None
    if place is not None:
        first, last = filled[place][0], filled[place + len(wanted) - 1][0]
        return _found(have, want, first, last - first + 1, "blank lines")
    return _nearest(have, want)


def _block(have: Sequence[str], want: Sequence[str]) -> int | None:
    """Return where the lines ``want`` stand in ``have``. The first and the last of several may be a part of a line there."""
    size = len(want)
    if not any(want):
        return None
    if size == 1:
        return next((n for n, line in enumerate(have) if want[0] in line), None)
    inner = list(want[1:-1])
    for n in range(len(have) - size + 1):
        if (
            have[n].endswith(want[0])
            and have[n + size - 1].startswith(want[-1])
            and list(have[n + 1 : n + size - 1]) == inner
        ):
            return n
    return None


def _found(have: Sequence[str], want: Sequence[str], place: int, size: int, what: str) -> str:
    lines = have[place : place + size]
    if what in ("indentation", "whitespace"):
        theirs, yours = any(_indent(x).count("\t") for x in lines), any(_indent(x).count("\t") for x in want)
        if theirs != yours:
            what = (
                f"indentation: the file has {'tabs' if theirs else 'spaces'}, old has {'tabs' if yours else 'spaces'}"
            )
    hidden = sorted({f"U+{ord(c):04X}" for line in lines for c in line if ord(c) in _HIDDEN})
    if hidden and "character" in what:
        what = f"an invisible character in the file, {', '.join(hidden)}"
    end = f"-{place + size}" if size > 1 else ""
    return f"Line {place + 1}{end} differs only in {what}. The file has:\n{_numbered(lines, place)}"


def _nearest(have: Sequence[str], want: Sequence[str]) -> str:
    """Return the lines that resemble the first long line of ``want`` most."""
    anchor = max(range(len(want)), key=lambda n: (len(want[n].strip()) > 3, -n))
    wanted = want[anchor].strip()[:_WIDTH]
    if len(wanted) < 4:
        return ""
    matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)
    best, place = 0.6, -1
    for n, line in enumerate(have[:_MOST_LINES]):
        matcher.set_seq1(line.strip()[:_WIDTH])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, n
    if place < 0:
        return ""
    start = max(0, place - anchor)
    lines = have[start : min(len(have), start + len(want))]
    return f"The nearest text is at line {place + 1}. The file has:\n{_numbered(lines, start)}"


def _numbered(lines: Sequence[str], place: int) -> str:
    shown = [f"{place + 1 + n:6}\t{line[:_WIDTH]}" for n, line in enumerate(lines[:_SHOWN])]
    return "\n".join([*shown, f"[{len(lines) - _SHOWN} more lines]"] if len(lines) > _SHOWN else shown)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
