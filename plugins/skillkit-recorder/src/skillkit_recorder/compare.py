"""Events of a replay against those of the recording: which are missing, which are new, and what in them differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .differences import ABSENT, Difference, differing
from .forms import title
from .joining import JoinedEvents

__all__ = ["Comparison", "MessagesSeen", "compared"]

JSON = Mapping[str, Any]
MESSAGES = frozenset({"messages", "tool_results"})
WINDOW = 64  # how far ahead the two are looked through for the place where they agree again
AT_MOST = 500  # differences


class MessagesSeen:
    """Remembers pairs of messages that differ, so that one is told once and not in every list that holds it."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def new(self, expected: Any, got: Any) -> bool:
        """Whether these two have not been told yet."""
        key = json.dumps([expected, got], sort_keys=True, default=str)
        if key in self._told:
            return False
        self._told.add(key)
        return True


def compared(expected: JSON, got: JSON, seen: MessagesSeen) -> Iterator[tuple[str, Any, Any]]:
    """As :func:`differing`, for an event or a request; a pair of messages that differs is told only once."""
    for key in [*expected, *(k for k in got if k not in expected)]:
        one, two = expected.get(key, ABSENT), got.get(key, ABSENT)
        if key in MESSAGES and isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
            shared = min(len(one), len(two))
            for n in range(shared):
                if one[n] is not two[n] and one[n] != two[n] and seen.new(one[n], two[n]):
                    yield from differing(one[n], two[n], f"{key}[{n}]")
            for n, (_, left, right) in enumerate(differing(one[shared:], two[shared:]), shared):
                yield f"{key}[{n}]", left, right
        elif key != "message" or (one != two and seen.new(one, two)):
            yield from differing(one, two, key)


def _kind(event: JSON) -> tuple[Any, ...]:
    """What two events must have in common to be the same event."""
    message = event.get("message")
    role = message.get("role") if isinstance(message, Mapping) else event.get("role")
    inner = event.get("event")
    return (
        event.get("type"),
        event.get("tool_call_id"),
        role,
        inner.get("type") if isinstance(inner, Mapping) else inner,
    )


class Comparison:
    """Takes the events of a replay in order and compares them in the end.

    Args:
        expected: place in the recording and event. types: only these; ``None``: all.
        complete: the recording does not end in the middle of a run; else what comes after its last event is not compared.
    """

    def __init__(
        self, expected: Sequence[tuple[int, JSON]], types: frozenset[str] | None, complete: bool = True
    ) -> None:
        self._types = types
        known = JoinedEvents()
        places = [place for place, event in expected if self._wanted(event) and known.add(event)]
        self._expected = list(zip(places, known.all, strict=True))
        self._numbers = known.numbers
        self._complete = complete
        self._taken = JoinedEvents()
        self._got: list[JSON] = []
        self.open = True

    def _wanted(self, event: JSON) -> bool:
        return self._types is None or event.get("type") in self._types

    def add(self, event: JSON) -> bool:
        """Take an event; whether it is the one that was recorded here, as far as a glance shows."""
        if not self.open or not self._wanted(event):
            return True
        n = len(self._taken)
        if not self._taken.add(event):
            return True
        return n < len(self._expected) and _kind(self._expected[n][1]) == _kind(event)

    @property
    def place(self) -> int:
        """How far the recording has been played."""
        n = min(len(self._taken), len(self._expected))
        return self._expected[n - 1][0] if n else 0

    # --- the end ------------------------------------------------------------------------------------------------

    def differences(self) -> list[Difference]:
        """What differs, in the order of the recording."""
        seen, out = MessagesSeen(), []
        self._got = self._taken.all
        kinds = [_kind(event) for _, event in self._expected], [_kind(event) for event in self._got]
        pairs = list(self._pairs(*kinds))
        while not self._complete and pairs and pairs[-1][0] is None:
            pairs.pop()
        for i, j in pairs:
            out += list(self._told(i, j, seen))
            if len(out) >= AT_MOST:
                what = f"there are more than {AT_MOST} differences; the others are not told"
                return [*out[:AT_MOST], Difference("events", what=what, place=out[AT_MOST - 1].place)]
        return out

    def _told(self, i: int | None, j: int | None, seen: MessagesSeen) -> Iterator[Difference]:
        if j is None:
            assert i is not None
            place, event = self._expected[i]
            yield Difference(self._name(i), "", event, what=_missing(event), place=place)
        elif i is None:
            before = min(j, len(self._expected))
            place, number = (self._expected[before - 1][0], self._numbers[before - 1]) if before else (0, 0)
            yield Difference(f"after event {number}", "", got=self._got[j], what=_extra(self._got[j]), place=place)
        else:
            place, event = self._expected[i]
            if event == self._got[j]:
                return
            for path, one, two in compared(event, self._got[j], seen):
                yield Difference(self._name(i), path, one, two, place=place)

    def _name(self, i: int) -> str:
        return f"event {self._numbers[i]}, {title(self._expected[i][1])}"

    def _pairs(self, expected: Sequence[Any], got: Sequence[Any]) -> Iterator[tuple[int | None, int | None]]:
        """Which event of the replay is which of the recording; ``None`` on the side where it is missing."""
        i = j = 0
        while i < len(expected) and j < len(got):
            if expected[i] == got[j]:
                yield i, j
                i, j = i + 1, j + 1
                continue
            more_i, more_j = _agreement(expected[i : i + WINDOW], got[j : j + WINDOW])
            for _ in range(more_i):
                yield i, None
                i += 1
            for _ in range(more_j):
                yield None, j
                j += 1
        yield from ((n, None) for n in range(i, len(expected)))
        yield from ((None, n) for n in range(j, len(got)))


def _agreement(expected: Sequence[Any], got: Sequence[Any]) -> tuple[int, int]:
    """How many events to pass over on both sides until the next two of each agree: as few as possible."""
    for total in range(1, len(expected) + len(got)):
        for a in range(min(total, len(expected) - 1), -1, -1):
            b = total - a
            if b < len(got) and expected[a : a + 2] == got[b : b + 2]:
                return a, b
    return len(expected), len(got)


def _missing(event: JSON) -> str:
    return f"expected, but it did not come{_about(event)}"


def _extra(event: JSON) -> str:
    return f"{title(event)} came, which was not recorded{_about(event)}"


def _about(event: JSON) -> str:
    for key in ("reason", "error", "text"):
        if isinstance(event.get(key), str) and event[key]:
            return f" ({' '.join(event[key].split())[:80]})"
    return ""
