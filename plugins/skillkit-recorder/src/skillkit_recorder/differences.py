"""Differences between what was recorded and what a replay did, in words that say where."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ABSENT", "Difference", "differing"]

SHOWN = 80
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class _Absent:
    """What is not there."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        where: which event, request or call: ``event 12, tool_execution_end of shout (call_1)``, ``request 3``.
        path: the place in it: ``messages[4].content[0].text``; empty: it is about the whole.
        expected: what was recorded. got: what the replay gave. ``ABSENT`` for nothing.
        what: in words, where it is not about two values.
        place: where it belongs in the recording, for sorting.
    """

    where: str
    path: str = ""
    expected: Any = ABSENT
    got: Any = ABSENT
    what: str = ""
    place: int = 0

    def __str__(self) -> str:
        if self.what:
            return f"{self.where}: {self.what}"
        expected, got = _pair(self.expected, self.got)
        place = f"{self.where}: {self.path}" if self.path else self.where
        return f"{place}: expected {expected}, got {got}"

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON; a value that is not there is left out."""
        out: dict[str, Any] = {"where": self.where, "path": self.path, "text": str(self)}
        out |= {k: v for k, v in (("expected", self.expected), ("got", self.got)) if v is not ABSENT}
        return out


def _pair(expected: Any, got: Any) -> tuple[str, str]:
    """Two values as short texts; of long texts the part in which they differ."""
    if isinstance(expected, str) and isinstance(got, str) and max(len(expected), len(got)) > SHOWN:
        same = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), None)
        start = max(0, (min(len(expected), len(got)) if same is None else same) - SHOWN // 3)
        return _excerpt(expected, start), _excerpt(got, start)
    return _short(expected), _short(got)


def _excerpt(text: str, start: int) -> str:
    shown = json.dumps(text[start : start + SHOWN], ensure_ascii=False)[1:-1]
    return f'"{"..." if start else ""}{shown}{"..." if start + SHOWN < len(text) else ""}"'


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def differing(expected: Any, got: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every place in which two JSON values differ: path, expected, got."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key in [*expected, *(k for k in got if k not in expected)]:
            below = (f"{path}.{key}" if path else key) if _NAME.match(key) else f"{path}[{json.dumps(key)}]"
            yield from differing(expected.get(key, ABSENT), got.get(key, ABSENT), below)
    elif isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        for n in range(max(len(expected), len(got))):
            one = expected[n] if n < len(expected) else ABSENT
            two = got[n] if n < len(got) else ABSENT
            yield from differing(one, two, f"{path}[{n}]")
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield path, expected, got
