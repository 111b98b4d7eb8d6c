"""Exact edits of a text: each text is looked up in the original, and all are applied or none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .folder import FileError, shown
from .near_miss import explain
from .text import Text, lf, require_text

__all__ = ["Edit", "apply_edits"]

_MOST_COUNTED = 1_000  # places of a text that should be unique
_MOST_REPLACED = 1_000_000
_MOST_PLACES = 5  # places that are named of a text that is found too often


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement.

    Attributes:
        old: the text that is there.
        new: the text that takes its place.
        all: replace it wherever it is.
    """

    old: str
    new: str
    all: bool = False


class _Places:
    """Translates positions in the text with LF to positions in the text as it is."""

    def __init__(self, text: str) -> None:
        self.lf = text
        self._breaks: list[int] = []
        if "\r\n" in text:
            self.lf = lf(text)
            at = -1
            while (at := text.find("\r\n", at + 1)) >= 0:
                self._breaks.append(at - len(self._breaks))

    def original(self, place: int) -> int:
        return place + bisect_left(self._breaks, place)

    def line(self, place: int) -> int:
        return self.lf.count("\n", 0, place) + 1


def apply_edits(text: Text, edits: Sequence[Edit], path: str) -> tuple[str, int, int]:
    """Return the text with all edits, how many places they changed, and the first line that changed.

    Raises:
        FileError: a text is not there, or at several places; edits overlap, or change nothing.
    """
    if not edits:
        raise FileError("invalid", "there are no edits: give old and new, or a list of edits")
    places = _Places(text.text)
    found: list[tuple[int, int, str, int]] = []
    for number, edit in enumerate(edits, 1):
        which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        old, new = lf(edit.old), lf(edit.new)
        require_text(new, f"{which}new")
        if not old:
            raise FileError(
                "invalid", f"{which}old is empty; give the text to replace, or use write for the whole file"
            )
        if old == new:
            raise FileError("invalid", f"{which}old and new are equal: nothing would change")
        at = _find(places, edit, old, path, which)
        if not at:
            raise FileError("no_match", _missing(places.lf, old, edits, number, path, which))
        found += [(start, start + len(old), new, number) for start in at]
    found.sort()
    for (_, end, _, one), (start, _, _, other) in pairwise(found):
        if start < end:
            raise FileError(
                "overlap",
                f"edits {one} and {other} overlap in {shown(path)} at line {places.line(start)}; make one edit of them",
            )
    return _replaced(text, places, found), len(found), places.line(found[0][0])


def _find(places: _Places, edit: Edit, old: str, path: str, which: str) -> list[int]:
    """Return where a text is; raise :class:`FileError` when it is at several places and one was meant."""
    most = _MOST_REPLACED if edit.all else _MOST_COUNTED
    found: list[int] = []
    at = places.lf.find(old)
    while at >= 0 and len(found) <= most:
        found.append(at)
        at = places.lf.find(old, at + (len(old) if edit.all else 1))
    if edit.all and len(found) > most:
        raise FileError(
            "too_large", f"{which}old is found at more than {most:,} places in {shown(path)}; use a program"
        )
    if len(found) > 1 and not edit.all:
        lines = ", ".join(str(places.line(place)) for place in found[:_MOST_PLACES])
        more = ", ..." if len(found) > _MOST_PLACES else ""
        count = f"more than {most}" if len(found) > most else str(len(found))
        raise FileError(
            "ambiguous",
            f"{which}old is found at {count} places in {shown(path)} (lines {lines}{more}); "
            "add lines around it until it is unique, or set all",
        )
    return found


def _missing(text: str, old: str, edits: Sequence[Edit], number: int, path: str, which: str) -> str:
    """Return why a text is not found, with what comes near."""
    said = f"{which}old is not found in {shown(path)}."
    if any(old in lf(edit.new) for n, edit in enumerate(edits, 1) if n != number):
        return f"{said} Another edit of the call would bring it in, but all edits see the original text; make a separate call."
    if len(edits) > 1:
        said += " Nothing was changed; all edits see the original text."
    near = explain(text, old)
    return f"{said} {near}" if near else said


def _replaced(text: Text, places: _Places, found: Sequence[tuple[int, int, str, int]]) -> str:
    """Return the text with the replacements. A line break that is added is the one of its place."""
    original, parts, last = text.text, [], 0
    mixed = "\r\n" in original and not text.crlf
    always = "\r\n" if text.crlf else "\n"
    for start, end, new, _ in found:
        start, end = places.original(start), places.original(end)
        parts.append(original[last:start])
        if "\n" in new:
            kind = text.break_at(start) if mixed else always
            new = new.replace("\n", kind) if kind != "\n" else new
        parts.append(new)
        last = end
    parts.append(original[last:])
    return "".join(parts)
