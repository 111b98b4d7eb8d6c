"""Events in which the deltas of a block are one.

A handler that waits is told several deltas at once, so how many updates there are is not the run's to decide; what they say is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["JoinedEvents"]

JSON = Mapping[str, Any]
BRACKETS = frozenset({"message_start", "message_end"})


class JoinedEvents:
    """Collects events.

    Attributes:
        numbers: which one each of them is, counted from 1 without joining.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._events: list[JSON] = []
        self._taken = 0
        self._block: tuple[Any, ...] | None = None  # whose deltas come
        self._pieces: list[JSON] = []
        self._place = 0

    def __len__(self) -> int:
        return len(self._events)

    def add(self, event: JSON) -> bool:
        """Take an event; whether it is one of its own."""
        self._taken += 1
        inner = event.get("event")
        if event.get("type") == "message_update" and isinstance(inner, Mapping):
            block = (inner.get("type"), inner.get("index")) if str(inner.get("type")).endswith("_delta") else None
            if block is not None and block == self._block:
                self._pieces.append(inner)
                return False
            self._end()
            if block is not None:
                self._block, self._pieces, self._place = block, [inner], len(self._events)
        elif event.get("type") in BRACKETS:
            self._end()
        self._events.append(event)
        self.numbers.append(self._taken)
        return True

    def _end(self) -> None:
        pieces = self._pieces
        if len(pieces) > 1:
            whole = {k: v for piece in reversed(pieces) for k, v in piece.items()}
            whole["content"] = "".join(piece.get("content", "") for piece in pieces)
            self._events[self._place] = {**self._events[self._place], "event": whole}
        self._block, self._pieces = None, []

    @property
    def all(self) -> list[JSON]:
        """The events."""
        self._end()
        return self._events
