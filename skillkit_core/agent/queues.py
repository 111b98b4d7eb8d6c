"""What waits to be said to a run: steering, follow-ups, and messages for the next run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..errors import AgentError, RunAborted
from ..messages import Block, TextBlock, UserMessage
from .receipt import Receipt

__all__ = ["QueueItem", "Queues"]

Kind: TypeAlias = Literal["steer", "follow_up", "next_run"]


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One queued message; it is known by its id, never by its text."""

    id: str
    kind: Kind
    text: str
    images: tuple[Block, ...] = ()
    receipt: Receipt | None = field(default=None, compare=False, repr=False)  # of one that may begin a run

    def message(self, ts: float) -> UserMessage:
        """The item as a user message."""
        text = (TextBlock(self.text),) if self.text else ()
        return UserMessage(content=(*text, *self.images), source=self.kind, ts=ts)


class Queues:
    """The three queues of an agent. Every accepted item is consumed once, returned, or still here (I14)."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        # Tuples: they are short, nearly always empty, and every session has three.
        self._queues: dict[Kind, tuple[QueueItem, ...]] = {"steer": (), "follow_up": (), "next_run": ()}
        self._count = 0
        self._consumed: set[str] | None = None
        self._changed = changed
        self._lock = threading.Lock()  # abort() clears from any thread

    def put(self, kind: Kind, text: str, images: Sequence[Block] = (), receipt: Receipt | None = None) -> str:
        """Queue a message; gives its id."""
        with self._lock:
            self._count += 1
            item = QueueItem(f"q{self._count}", kind, text, tuple(images), receipt)
            if receipt is not None:
                receipt.id = item.id
            self._queues[kind] += (item,)
        self._changed()
        return item.id

    def take(self, kind: Kind, mode: Literal["one_at_a_time", "all"] = "one_at_a_time") -> list[QueueItem]:
        """Consume the next item, or all of them."""
        with self._lock:
            queue = self._queues[kind]
            items = list(queue if mode == "all" else queue[:1])
            if not items:
                return items
            self._queues[kind] = queue[len(items) :]
            if self._consumed is None:
                self._consumed = set()
            self._consumed.update(item.id for item in items)
        self._changed()
        return items

    def put_back(self, item: QueueItem) -> None:
        """Undo a ``take``: what was taken could not be said after all."""
        with self._lock:
            self._queues[item.kind] = (item, *self._queues[item.kind])
            if self._consumed is not None:
                self._consumed.discard(item.id)
        self._changed()

    def cancel(self, item_id: str) -> Literal["cancelled", "already_consumed", "already_cleared"]:
        """Take an item out of its queue."""
        with self._lock:
            item = next((i for queue in self._queues.values() for i in queue if i.id == item_id), None)
            if item is None:
                return "already_consumed" if item_id in (self._consumed or ()) else "already_cleared"
            self._queues[item.kind] = tuple(i for i in self._queues[item.kind] if i is not item)
        if item.receipt is not None:
            item.receipt.fail(AgentError("the message was taken back before it was said"))
        self._changed()
        return "cancelled"

    def clear(self) -> list[QueueItem]:
        """Take out and return what waits for the running run; messages for the next run stay."""
        with self._lock:
            items = [*self._queues["steer"], *self._queues["follow_up"]]
            self._queues["steer"] = self._queues["follow_up"] = ()
        for item in items:
            if item.receipt is not None:
                item.receipt.fail(RunAborted("the run was aborted before the message was said"))
        if items:
            self._changed()
        return items

    def wanting(self) -> Receipt | None:
        """Of the messages that may begin a run, the first one for which none has begun."""
        with self._lock:
            every = [*self._queues["steer"], *self._queues["follow_up"]]
        return next((i.receipt for i in every if i.receipt is not None and i.receipt.wants_run), None)

    def forsake(self, error: AgentError) -> None:
        """Say to whoever waits for a response that there will be none."""
        with self._lock:
            every = [*self._queues["steer"], *self._queues["follow_up"]]
        for item in every:
            if item.receipt is not None:
                item.receipt.fail(error)

    def waiting(self, kind: Kind) -> tuple[str, ...]:
        """The ids that wait, oldest first."""
        return tuple(item.id for item in self._queues[kind])

    def __bool__(self) -> bool:
        return bool(self._queues["steer"] or self._queues["follow_up"])
