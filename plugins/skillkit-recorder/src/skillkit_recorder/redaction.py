"""Secrets out of a recording, also those that a provider or a tool gave in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["redacted"]

JSON = dict[str, Any]
Redact = Callable[[str], str]


def redacted(lines: Iterable[JSON], redact: Redact) -> list[JSON]:
    """``lines`` with every text redacted. What several lines share, they share afterwards, too."""
    lines = list(lines)
    copy = _Copy(redact, _in_pieces(lines, redact))
    return [copy.line(line) for line in lines]


class _Copy:
    """Copies JSON values; ``instead`` has the texts of objects, by the identity of the object."""

    def __init__(self, redact: Redact, instead: Mapping[int, tuple[str, str]]) -> None:
        self._redact = redact
        self._instead = instead
        self._copies: dict[int, tuple[Any, Any]] = {}  # the originals stay alive, so that an id means one object

    def line(self, value: Any) -> Any:
        """A copy of a JSON value."""
        if isinstance(value, str):
            return self._redact(str(value))
        if not isinstance(value, (dict, list, tuple)):
            return value
        known = self._copies.get(id(value))
        if known is not None:
            return known[1]
        copy: Any
        if isinstance(value, dict):
            copy = {self._redact(k): self.line(v) for k, v in value.items()}
            if id(value) in self._instead:
                key, text = self._instead[id(value)]
                if text:
                    copy[key] = text
                else:  # as an empty text is written
                    copy.pop(key, None)
        else:
            copy = [self.line(item) for item in value]
        self._copies[id(value)] = (value, copy)
        return copy


def _in_pieces(lines: list[JSON], redact: Redact) -> dict[int, tuple[str, str]]:
    """Where a secret is spread over pieces: the object of each piece, the key of its text, and what to say instead."""
    found = _Pieces()
    for line in lines:
        found.take(line)
    instead: dict[int, tuple[str, str]] = {}
    for pieces in found.updates.values():
        if not found.streamed.issuperset(map(id, pieces)):  # handlers that wait are told several at once
            _join(pieces, "content", "", redact, instead)
    for pieces in found.streams.values():
        _join(pieces, "content", "", redact, instead)
    for pieces in found.outputs.values():
        _join(pieces, "output", "***", redact, instead)  # an output that is empty is not shown
    return instead


def _join(pieces: list[JSON], key: str, rest: str, redact: Redact, instead: dict[int, tuple[str, str]]) -> None:
    """Have the first piece say it all, if a secret shows in none of them alone."""
    texts = [piece.get(key, "") for piece in pieces]
    whole = redact("".join(texts))
    if whole != "".join(map(redact, texts)):
        instead |= {id(piece): (key, rest) for piece in pieces[1:]} | {id(pieces[0]): (key, whole)}


class _Pieces:
    """The pieces of answers and outputs, each in order."""

    def __init__(self) -> None:
        self.streams: dict[Any, list[JSON]] = {}
        self.updates: dict[Any, list[JSON]] = {}
        self.outputs: dict[Any, list[JSON]] = {}
        self.streamed: set[int] = set()
        self._messages: Counter[Any] = Counter()  # of each agent

    def take(self, line: JSON) -> None:
        """Take up a line."""
        if line["type"] == "stream":
            event = line["event"]
            self.streamed.add(id(event))
            if event["type"].endswith("_delta"):
                self.streams.setdefault((line["request"], event["type"], event.get("index")), []).append(event)
        elif line["type"] == "tool_output":
            self.outputs.setdefault(("tool", line["call"], line.get("stream")), []).append(line)
        elif line["type"] == "event":
            self._event(line["event"])

    def _event(self, event: JSON) -> None:
        agent, inner = event.get("agent"), event.get("event", {})
        if event["type"] == "message_start":
            self._messages[agent] += 1
        elif event["type"] == "message_update" and inner["type"].endswith("_delta"):
            which = (agent, self._messages[agent], inner["type"], inner.get("index"))
            self.updates.setdefault(which, []).append(inner)
        elif event["type"] == "tool_execution_update":
            shown = ("event", agent, event["tool_call_id"], event.get("stream"))
            self.outputs.setdefault(shown, []).append(event)
