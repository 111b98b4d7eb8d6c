"""Edits of a text: found exactly once, all or none, taken back byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple

__all__ = ["OPERATIONS", "Edited", "Status", "edit", "headings", "revision_of"]

Status = Literal["applied", "conflict", "rejected", "overlap"]
OPERATIONS = ("insert_after_heading", "replace_range", "delete_range")
NEAR = 3  # candidates of an operation that is not clear
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*\Z", re.S)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOSING = re.compile(r"(?:\A|[ \t]+)#+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)\Z", re.S)


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of a list of operations.

    Attributes:
        status: ``conflict``: the text is not the one that the operations are about; ``rejected``: at least one of them was;
            ``overlap``: two of them touch the same characters.
        document: the new text; where the status is not ``applied``, the text as it was.
        operations: for each operation ``ok``, ``not_found``, ``ambiguous``, ``empty`` (a text that it needs is missing, or is
            none that a file can hold) or ``unknown_operation``.
        candidates: for each operation that is not clear what it may mean, one line each.
        undo: the text before.
    """

    status: Status
    document: str
    operations: tuple[str, ...] = ()
    candidates: tuple[tuple[str, ...], ...] = ()
    undo: str = ""


class _Span(NamedTuple):
    """Characters that are replaced; an insertion has none."""

    start: int
    end: int
    text: str


class _Found(NamedTuple):
    code: str
    span: _Span | None = None
    candidates: tuple[str, ...] = ()


def revision_of(document: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of a text, in hexadecimal."""
    return sha256(document.encode(errors="surrogatepass")).hexdigest()


def edit(document: str, operations: Sequence[Mapping[str, Any]], pre_hash: str | None = None) -> Edited:
    """Apply operations to a text, all of them or none.

    Every operation sees the text before any of them. ``replace_range`` and ``delete_range`` name their place by
    ``original_text``, which must be there exactly once; ``insert_after_heading`` by ``heading``. Nothing is normalised, with one
    exception: where all line ends of the text are CRLF, a lone LF of an operation becomes CRLF.

    Args:
        document: the text.
        operations: objects with ``op``, and ``heading`` or ``original_text``, and ``text``.
        pre_hash: the revision of the text that they are about (:func:`revision_of`); ``None``: not known.
    """
    if pre_hash is not None and pre_hash != revision_of(document):
        return Edited("conflict", document, undo=document)
    end = _line_end(document)
    found = [_place(document, operation, end) for operation in operations]
    codes, candidates = tuple(one.code for one in found), tuple(one.candidates for one in found)
    if any(code != "ok" for code in codes):
        return Edited("rejected", document, codes, candidates, document)
    spans = [one.span for one in found if one.span is not None]
    order = sorted(range(len(spans)), key=lambda i: (spans[i].start, spans[i].end > spans[i].start, i))
    if _overlap([spans[i] for i in order]):
        return Edited("overlap", document, codes, candidates, document)
    pieces, place = [], 0
    for span in (spans[i] for i in order):
        pieces += [document[place : span.start], span.text]
        place = span.end
    return Edited("applied", "".join([*pieces, document[place:]]), codes, candidates, document)


def _overlap(spans: Sequence[_Span]) -> bool:
    """Return whether two of the spans, sorted by place, share a character, or one is inserted inside another."""
    reached = 0
    for span in spans:
        if span.start < reached:
            return True
        reached = max(reached, span.end)
    return False


def _line_end(document: str) -> str:
    """Return CRLF where all line ends are, else LF."""
    lone = re.search(r"(?<!\r)\n|\r(?!\n)", document)
    return "\r\n" if "\r\n" in document and lone is None else "\n"


def _fitted(text: str, end: str) -> str:
    return re.sub(r"(?<!\r)\n", "\r\n", text) if end == "\r\n" else text


def _place(document: str, operation: Any, end: str) -> _Found:
    """Return where an operation works. A model may have left out anything; what it left out is not guessed."""
    kind = operation.get("op") if isinstance(operation, Mapping) else None
    if kind not in OPERATIONS:
        return _Found("unknown_operation")
    new = "" if kind == "delete_range" else _text(operation, "text", end)
    named = _text(operation, "heading" if kind == "insert_after_heading" else "original_text", end)
    if new is None or not named:
        return _Found("empty")
    if kind == "insert_after_heading":
        return _after_heading(document, named, new, end)
    return _at(document, named, new)


def _text(operation: Mapping[str, Any], name: str, end: str) -> str | None:
    """Return a text of an operation; ``None``: there is none, or none that UTF-8 can hold."""
    text = operation.get(name)
    if not isinstance(text, str) or _SURROGATE.search(text):
        return None
    return _fitted(text, end)


def _at(document: str, original: str, new: str) -> _Found:
    places = list(_occurrences(document, original))
    if not places:
        return _Found("not_found", candidates=_similar(document, original))
    if len(places) > 1:
        lines = tuple(_line_at(document, place) for place in places[:NEAR])
        return _Found("ambiguous", candidates=lines)
    return _Found("ok", _Span(places[0], places[0] + len(original), new))


def _occurrences(document: str, text: str) -> Iterator[int]:
    """Yield where a text begins, at most twice ``NEAR`` times; occurrences may overlap."""
    place, count = document.find(text), 0
    while place >= 0 and count < 2 * NEAR:
        yield place
        place, count = document.find(text, place + 1), count + 1


def _after_heading(document: str, heading: str, text: str, end: str) -> _Found:
    wanted = _title(heading)
    if not wanted:
        return _Found("empty")
    known = list(headings(document))
    places = [(title, place) for title, place in known if title == wanted]
    if len(places) > 1:
        return _Found("ambiguous", candidates=tuple(_line_at(document, place - 1) for _, place in places[:NEAR]))
    if not places:
        from difflib import get_close_matches

        return _Found(
            "not_found", candidates=tuple(get_close_matches(wanted, [title for title, _ in known], NEAR, 0.5))
        )
    place = places[0][1]
    if not text:
        return _Found("ok", _Span(place, place, ""))
    before = "" if document[:place].endswith(("\n", "\r")) else end
    after = "" if text.endswith(("\n", "\r")) else end
    return _Found("ok", _Span(place, place, f"{before}{text}{after}"))


def headings(document: str) -> Iterator[tuple[str, int]]:
    """Yield the ATX headings outside of fences: their text, and the place behind their line."""
    place, fence = 0, ""
    for line in re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", document):
        place += len(line)
        bare = line.rstrip("\r\n").removeprefix("\ufeff")
        mark = _FENCE.match(bare)
        if fence:
            closes = mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip()
            fence = "" if closes else fence
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif (found := _ATX.match(bare)) is not None:
            yield _closed(found[2] or ""), place


def _title(heading: str) -> str:
    """Return the text of a heading as it was given: with or without its marks."""
    bare = heading.strip(" \t\r\n")
    found = _ATX.match(bare)
    return _closed(found[2] or "") if found is not None else _closed(bare)


def _closed(text: str) -> str:
    return _CLOSING.sub("", text.strip(" \t")).strip(" \t")


def _line_at(document: str, place: int) -> str:
    """Return the line of a place, with its number."""
    begin = max(document.rfind("\n", 0, place), document.rfind("\r", 0, place)) + 1
    line = re.split(r"[\r\n]", document[begin : begin + 200], maxsplit=1)[0]
    return f"line {document.count(chr(10), 0, begin) + 1}: {line[:80]}"


def _similar(document: str, original: str) -> tuple[str, ...]:
    """Return the lines that are nearest to the first line of a text that is not there."""
    from difflib import get_close_matches

    first = next((line.strip() for line in original.splitlines() if line.strip()), "")[:200]
    lines = [line.strip() for line in document.splitlines()[:5_000] if line.strip()]
    return tuple(line[:80] for line in get_close_matches(first, lines, NEAR, 0.6)) if first else ()
