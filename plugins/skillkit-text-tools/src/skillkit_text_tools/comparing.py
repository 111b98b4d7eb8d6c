"""Two texts are compared by lines, so that the one can be made of the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

__all__ = ["compare_texts"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MANY = 3_000  # lines, above which common ones are no anchors: the time would grow with their square


def compare_texts(a: str, b: str) -> dict[str, Any]:
    """Return how two texts differ.

    Returns:
        ``identical``, and ``changes``: pieces in order with ``op`` (``equal``, ``delete``, ``insert``, ``replace``) and the
        lines of both sides as ``a`` and ``b``. The ``a`` joined are the first text, the ``b`` the second, to the character.
    """
    left, right = _LINE.findall(a), _LINE.findall(b)
    start = _same(left, right)
    end = _same(left[start:][::-1], right[start:][::-1])
    inner = (left[start : len(left) - end], right[start : len(right) - end])
    matcher = SequenceMatcher(None, *inner, autojunk=max(map(len, inner)) > _MANY)
    changes = [("equal", left[:start], right[:start])]
    changes += [(op, inner[0][i:j], inner[1][m:n]) for op, i, j, m, n in matcher.get_opcodes()]
    changes.append(("equal", left[len(left) - end :], right[len(right) - end :]))
    return {"identical": a == b, "changes": list(_told(changes))}


def _same(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many lines at the beginning are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _told(changes: Sequence[tuple[str, Sequence[str], Sequence[str]]]) -> Iterator[dict[str, str]]:
    """Yield the pieces that hold something, neighbours of one kind as one."""
    last: dict[str, str] = {}
    for op, old, new in changes:
        if not old and not new:
            continue
        piece = {"op": op} | ({"a": "".join(old)} if old else {}) | ({"b": "".join(new)} if new else {})
        if last and last["op"] == op == "equal":
            last["a"], last["b"] = last["a"] + piece["a"], last["b"] + piece["b"]
            continue
        if last:
            yield last
        last = piece
    if last:
        yield last
