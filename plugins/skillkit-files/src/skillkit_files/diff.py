"""The unified diff of a change, for people: approvals and results show it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import islice

from .changes import Change
from .folder import FileError, shown
from .text import decode, lf, sendable

__all__ = ["diff_of", "summary"]

_CONTEXT = 3
_MOST_LINES = 20_000  # lines between the first and the last difference that are compared
_MOST_CHARS = 40_000
_WIDTH = 500


def summary(changes: Sequence[Change]) -> tuple[list[dict[str, object]], str]:
    """Return the facts of each change (``path, kind, added, removed``, and ``from`` of a move), and their diff."""
    files: list[dict[str, object]] = []
    parts: list[str] = []
    room = _MOST_CHARS
    moved = {change.source for change in changes if change.source is not None}
    for change in changes:
        if change.gone and change.path in moved:
            continue
        kind = "delete" if change.gone else "move" if change.source else "add" if change.new else "change"
        text, added, removed = diff_of(change)
        fact: dict[str, object] = {"path": change.path, "kind": kind, "added": added, "removed": removed}
        if change.source is not None:
            fact["from"] = change.source
        files.append(fact)
        if len(text) > room:
            text = f"{text[:room].rpartition(chr(10))[0]}\n[the diff is longer]\n" if room > 0 else ""
        room -= len(text)
        parts.append(text)
    return files, "".join(parts)


def diff_of(change: Change) -> tuple[str, int, int]:
    """Return the unified diff of a change, and how many lines it adds and removes."""
    whose = change.owner or change.before
    old_name = "/dev/null" if whose is None else f"a/{shown(change.source or change.path)}"
    new_name = "/dev/null" if change.gone else f"b/{shown(change.path)}"
    head = f"--- {old_name}\n+++ {new_name}\n"
    before = whose.data if whose is not None else b""
    after = b"" if change.gone else change.after if change.after is not None else before
    notes = ""
    if whose is not None and change.mode is not None and change.mode != whose.mode:
        notes = f"old mode {whose.mode:o}\nnew mode {change.mode:o}\n"
    if change.source is not None:
        notes += f"rename from {shown(change.source)}\nrename to {shown(change.path)}\n"
    if before is None or after is None or (whose is not None and whose.link is not None):
        return f"{head}{notes}[the content is not compared]\n", 0, 0
    if before == after:
        return f"{head}{notes}", 0, 0
    try:
        old, new = _lines(before, change.path), _lines(after, change.path)
    except FileError:
        return f"{head}{notes}Binary files differ\n", 0, 0
    hunks, added, removed = _hunks(old, new)
    return f"{notes}{head}{hunks}", added, removed


def _lines(data: bytes, path: str) -> list[str]:
    lines = lf(decode(data, path).text).split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]


def _hunks(old: list[str], new: list[str]) -> tuple[str, int, int]:
    """Return the hunks and how many lines they add and remove."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    # only what lies between is compared, with the lines around it
    start = max(0, head - _CONTEXT)
    end = max(0, tail - _CONTEXT)
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(left), len(right)) > _MOST_LINES:
        added, removed = len(new) - head - tail, len(old) - head - tail
        note = (
            f"@@ -{head + 1},{removed} +{head + 1},{added} @@\n[{removed} lines become {added}: too many to compare]\n"
        )
        return note, added, removed
    out, added, removed = [], 0, 0
    for line in islice(difflib.unified_diff(left, right, n=_CONTEXT, lineterm=""), 2, None):
        if line.startswith("@@"):
            out.append(_shifted(line, start))
            continue
        added += line[0] == "+"
        removed += line[0] == "-"
        text, marker, rest = line.partition("\n\\ ")
        out.append((text if len(text) <= _WIDTH else f"{text[:_WIDTH]}[...]") + marker + rest)
    return sendable("\n".join(out) + "\n"), added, removed


def _shifted(line: str, by: int) -> str:
    """Return the head of a hunk with the numbers of the whole file."""

    def shift(part: str) -> str:
        first, comma, count = part[1:].partition(",")
        return f"{part[0]}{int(first) + by}{comma}{count}"

    _, old, new, _ = line.split(" ")
    return f"@@ {shift(old)} {shift(new)} @@"
