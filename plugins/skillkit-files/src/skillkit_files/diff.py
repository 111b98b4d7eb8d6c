"""The unified diff of a change, for people: approvals and results show it."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise

from .changes import Change
from .folder import FileError, shown
from .text import decode, lf, sendable

__all__ = ["diff_of", "summary"]

_CONTEXT = 3
_PIECE = 500  # lines after which a text is cut where both are alike: comparing costs the square of a piece
_MOST_LINES = 2_000  # lines of a piece that are compared
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
    out: list[str] = []
    added = removed = 0
    for (i, j), (k, m) in pairwise([(0, 0), *_cuts(left, right), (len(left), len(right))]):
        if max(k - i, m - j) > _MOST_LINES:
            out.append(f"@@ -{start + i + 1},{k - i} +{start + j + 1},{m - j} @@")
            out.append(f"[{k - i} lines become {m - j}: too many to compare]")
            added, removed = added + m - j, removed + k - i
            continue
        for line in islice(difflib.unified_diff(left[i:k], right[j:m], n=_CONTEXT, lineterm=""), 2, None):
            if line.startswith("@@"):
                out.append(_shifted(line, start + i, start + j))
                continue
            added += line[0] == "+"
            removed += line[0] == "-"
            text, marker, rest = line.partition("\n\\ ")
            out.append((text if len(text) <= _WIDTH else f"{text[:_WIDTH]}[...]") + marker + rest)
    return sendable("\n".join(out) + "\n"), added, removed


def _cuts(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Return where both texts can be cut: in the middle of lines that are alike, about a line that each has once."""
    once = {line: n for n, line in enumerate(right)}
    counts = Counter(left), Counter(right)
    around = 2 * _CONTEXT + 1
    pairs = [
        (n, once[line])
        for n, line in enumerate(left)
        if counts[0][line] == 1 and counts[1][line] == 1
        and left[max(0, n - around) : n + around] == right[max(0, once[line] - around) : once[line] + around]
    ]  # fmt: skip
    # The longest row of pairs that goes down in both texts: what was moved stands apart.
    ends: list[int] = []
    rows: list[tuple[tuple[int, int], int | None]] = []
    last: list[int] = []
    for pair in pairs:
        at = bisect_left(ends, pair[1])
        rows.append((pair, last[at - 1] if at else None))
        ends[at : at + 1], last[at : at + 1] = [pair[1]], [len(rows) - 1]
    row, at_row = [], last[-1] if last else None
    while at_row is not None:
        pair, at_row = rows[at_row]
        row.append(pair)
    cuts = [(0, 0)]
    for pair in reversed(row):
        if min(pair[0] - cuts[-1][0], pair[1] - cuts[-1][1]) >= _PIECE:
            cuts.append(pair)
    return cuts[1:]


def _shifted(line: str, old_by: int, new_by: int) -> str:
    """Return the head of a hunk with the numbers of the whole file."""

    def shift(part: str, by: int) -> str:
        first, comma, count = part[1:].partition(",")
        return f"{part[0]}{int(first) + by}{comma}{count}"

    _, old, new, _ = line.split(" ")
    return f"@@ {shift(old, old_by)} {shift(new, new_by)} @@"
