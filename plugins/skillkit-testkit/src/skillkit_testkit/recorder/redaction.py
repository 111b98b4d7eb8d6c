"""Secrets out of a recording, also those that a provider or a tool gave in pieces."""

from __future__ import annotations

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
    streams: dict[Any, list[JSON]] = {}
    outputs: dict[Any, list[JSON]] = {}
    shown: dict[Any, list[JSON]] = {}
    for line in lines:
        if line["type"] == "stream" and line["event"]["type"].endswith("_delta"):
            event = line["event"]
            streams.setdefault((line["request"], event["type"], event.get("index")), []).append(event)
        elif line["type"] == "tool_output":
            outputs.setdefault((line["call"], line.get("stream")), []).append(line)
        elif line["type"] == "event" and line["event"]["type"] == "tool_execution_update":
            event = line["event"]
            shown.setdefault((event["tool_call_id"], event.get("stream")), []).append(event)
    instead: dict[int, tuple[str, str]] = {}
    for key, rest, groups in (("content", "", streams), ("output", "***", outputs), ("output", "***", shown)):
        for pieces in groups.values():
            texts = [piece.get(key, "") for piece in pieces]
            whole = redact("".join(texts))
            if whole != "".join(
                map(redact, texts)
            ):  # the first piece says it all; an output that is empty is not shown
                instead |= {id(piece): (key, rest) for piece in pieces[1:]} | {id(pieces[0]): (key, whole)}
    return instead
