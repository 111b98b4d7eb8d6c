"""The journal of a live session: numbered messages up to a bound, and the clients that follow them."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

from skillkit_core import Event, SkillKitError

__all__ = ["MOST_BYTES", "MOST_MESSAGES", "Client", "FellBehind", "Journal", "Message"]

MOST_MESSAGES = 4_000  # of a session, in memory
MOST_BYTES = 8 * 1024 * 1024
BEHIND_MESSAGES = 256  # of one client
BEHIND_BYTES = 4 * 1024 * 1024


class FellBehind(SkillKitError):
    """A client read too slowly, and was dropped.

    Attributes:
        after: the id of the last message that the client got; ``attach(after)`` goes on behind it.
    """

    def __init__(self, after: str) -> None:
        super().__init__("this client reads too slowly, and was left behind", hint=f"attach again after {after!r}")
        self.after = after


@dataclass(frozen=True, slots=True)
class Message:
    """What every client of a session is told.

    Attributes:
        id: ``EPOCH.N``. N grows with every message; the epoch is new for each process.
        type: ``event``, ``question``, ``question_answered``, ``question_withdrawn``, ``notice``, ``state``, ``closed``, or
            ``snapshot``, which stands for all messages before it.
        data: what it says, JSON values only.
        event: the event itself where ``data`` leaves out the history that the event carries.
    """

    id: str
    type: str
    data: Mapping[str, Any]
    event: Event | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the message as JSON."""
        return {"id": self.id, "type": self.type, **self.data}


class _Kept:
    """A message in the journal; of merged deltas the number of each, and how long the text is up to its end."""

    __slots__ = ("ends", "message", "number", "numbers", "size")

    def __init__(self, number: int, message: Message) -> None:
        self.number, self.message = number, message
        self.size = len(json.dumps(message.data, default=str))
        self.numbers: list[int] = []
        self.ends: list[int] = []

    def after(self, number: int) -> Message:
        """Return the message without the deltas up to ``number``."""
        place = bisect_right(self.numbers, number)
        if not place:
            return self.message
        rest = text_of(self.message.data["event"])[self.ends[place - 1] :]
        return replace(self.message, data={"event": with_text(self.message.data["event"], rest)})


def text_of(line: Mapping[str, Any]) -> str:
    """Return the piece of text that an event brings."""
    part = line.get("event") or line
    return str(part.get("content" if "event" in line else "output", ""))


def with_text(line: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the event with another piece of text."""
    return {**line, "event": {**line["event"], "content": text}} if "event" in line else {**line, "output": text}


class Journal:
    """The messages of one session in one process.

    Attributes:
        epoch: names this process and session.
        last: the number of the newest message.
    """

    def __init__(self, epoch: str, *, most: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES) -> None:
        self.epoch, self.last = epoch, 0
        self._most, self._most_bytes = most, most_bytes
        self._kept: deque[_Kept] = deque()
        self._bytes = 0
        self._first = 1  # the oldest number that can be replayed
        self._deltas: dict[tuple[Hashable, ...], list[_Kept]] = {}
        self._news: dict[asyncio.Event, None] = {}  # in the order in which they came
        self.closed = False

    def add(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        event: Event | None = None,
        delta: tuple[Hashable, ...] | None = None,
    ) -> Message:
        """Number a message and keep it. ``delta`` names the text that an event goes on with, for :meth:`merge`."""
        self.last += 1
        message = Message(f"{self.epoch}.{self.last}", kind, data, event)
        kept = _Kept(self.last, message)
        self._kept.append(kept)
        self._bytes += kept.size
        if delta is not None:
            self._deltas.setdefault(delta, []).append(kept)
        while len(self._kept) > self._most or (self._bytes > self._most_bytes and len(self._kept) > 1):
            oldest = self._kept.popleft()
            self._bytes -= oldest.size
            self._first = oldest.number + 1
        for news in self._news:
            news.set()
        return message

    def merge(self, place: tuple[Hashable, ...]) -> Callable[[], None]:
        """End the texts whose name begins with ``place``; return what makes one message of the deltas of each."""
        ended = [self._deltas.pop(name) for name in list(self._deltas) if name[: len(place)] == place]
        return partial(self._merge, ended)

    def _merge(self, ended: Sequence[Sequence[_Kept]]) -> None:
        gone: set[int] = set()
        for deltas in ended:
            pieces = [kept for kept in deltas if kept.number >= self._first]
            if len(pieces) < 2:
                continue
            texts = [text_of(kept.message.data["event"]) for kept in pieces]
            whole, last = "".join(texts), pieces[-1]
            end = 0
            for kept, text in zip(pieces, texts, strict=True):
                end += len(text)
                last.numbers.append(kept.number)
                last.ends.append(end)
            last.message = replace(last.message, data={"event": with_text(last.message.data["event"], whole)})
            gone |= {kept.number for kept in pieces[:-1]}
            self._bytes -= sum(kept.size for kept in pieces)
            last.size = len(json.dumps(last.message.data, default=str))
            self._bytes += last.size
        if gone:
            self._kept = deque(kept for kept in self._kept if kept.number not in gone)

    def number(self, message_id: str) -> int | None:
        """Return the number of a message of this epoch after which can be replayed; ``None``: it cannot."""
        epoch, _, digits = message_id.rpartition(".")
        if epoch != self.epoch or not digits.isdecimal():
            return None
        number = int(digits)
        return number if self._first - 1 <= number <= self.last else None

    def since(self, number: int) -> list[Message] | None:
        """Return the messages after a number; ``None`` when not all of them are kept."""
        if number < self._first - 1:
            return None
        found: list[Message] = []
        for kept in reversed(self._kept):
            if kept.number <= number:
                break
            found.append(kept.after(number))
        found.reverse()
        return found

    def size_since(self, number: int) -> int:
        """Return the bytes of the messages after a number."""
        total = 0
        for kept in reversed(self._kept):
            if kept.number <= number:
                break
            total += kept.size
        return total

    def close(self) -> None:
        """End the clients once they have read everything."""
        self.closed = True
        for news in self._news:
            news.set()

    def listen(self) -> asyncio.Event:
        """Return an event that is set with every message, for :meth:`deaf`."""
        news = asyncio.Event()
        self._news[news] = None
        return news

    def deaf(self, news: asyncio.Event) -> None:
        """Set the event no more."""
        self._news.pop(news, None)


class Client:
    """One front end at a session: yields the messages, each exactly once. Use it as an async context manager.

    Attributes:
        after: the id of the last message that the client got.
        answers: the kinds of questions that the client answers.

    Raises:
        FellBehind: while reading, when the client got too far behind.
    """

    def __init__(
        self,
        journal: Journal,
        start: Message | None,
        number: int,
        answers: frozenset[str],
        left: Callable[[Client], None],
    ) -> None:
        self.answers = answers
        self._journal, self._left = journal, left
        self._waiting: deque[Message] = deque([start] if start is not None else ())
        self._number, self._allowed = number, journal.last
        self._news: asyncio.Event | None = journal.listen()
        self.after = f"{journal.epoch}.{number}"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while not self._waiting:
            if self._news is None:
                raise StopAsyncIteration
            self._fetch()
            if not self._waiting:
                if self._journal.closed:
                    self.close()
                    raise StopAsyncIteration
                self._news.clear()
                await self._news.wait()
                self._allowed = self._journal.last  # a client that waited is as fast as it can be
        message = self._waiting.popleft()
        self.after = message.id
        return message

    def _fetch(self) -> None:
        """Take what is new; a client that lets more come than it may while it handles what it took is dropped."""
        journal = self._journal
        late = journal.last - self._allowed
        if late > BEHIND_MESSAGES or (late > 0 and journal.size_since(self._allowed) > BEHIND_BYTES):
            found = None
        else:
            found = journal.since(self._number)
        if found is None:
            self.close()
            raise FellBehind(self.after)
        self._waiting.extend(found)
        self._number = self._allowed = journal.last

    def close(self) -> None:
        """Leave the session. Idempotent."""
        if self._news is not None:
            self._journal.deaf(self._news)
            self._news = None
            self._waiting.clear()
            self._left(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()
