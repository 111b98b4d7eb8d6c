"""What arrives in pieces, shown without secrets: an end that may be the beginning of one waits for the next piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

from skillkit_core import event_to_dict
from skillkit_core.events.types import Event

if TYPE_CHECKING:
    from skillkit_core import Secrets

__all__ = ["EventLines", "Pieces"]


class Pieces:
    """Several texts, each in pieces."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held: dict[Hashable, str] = {}
        self._known: Any = None
        self._spellings: frozenset[str] = frozenset()

    def add(self, name: Hashable, piece: str) -> str:
        """Return what can be shown now of the text called ``name``, which goes on with ``piece``."""
        text = self._secrets.redact(self.rest(name) + piece)
        shown = len(text) - self._begun(text)
        if shown < len(text):
            self._held[name] = text[shown:]
        return text[:shown]

    def rest(self, name: Hashable) -> str:
        """Return what is held back of a text: it has ended."""
        return self._held.pop(name, "")

    def _begun(self, text: str) -> int:
        """Return how many characters at the end of ``text`` may be the beginning of a secret."""
        known = self._secrets.known
        if known is not self._known:
            self._known, self._spellings = known, frozenset(s for secret in known for s in _spellings(secret))
        lengths = (n for s in self._spellings for n in range(1, min(len(s), len(text) + 1)) if text.endswith(s[:n]))
        return max(lengths, default=0)


def _spellings(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as JSON writes it once and twice."""
    for text in (secret, _in_json(secret), _in_json(secret, ascii=False)):
        yield from (text, _in_json(text), _in_json(text, ascii=False))


def _in_json(text: str, *, ascii: bool = True) -> str:
    return json.dumps(text, ensure_ascii=ascii)[1:-1]


class EventLines:
    """Events as the lines of ``--json --events``, and as clients of a live session get them.

    Args:
        secrets: what nobody may see.
        to_dict: makes JSON of an event.
    """

    def __init__(self, secrets: Secrets, to_dict: Callable[[Event], dict[str, Any]] = event_to_dict) -> None:
        self._pieces, self._to_dict = Pieces(secrets), to_dict
        self._last: dict[tuple[Any, ...], tuple[dict[str, Any], str]] = {}  # of each text: its last line, and the key

    def of(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield what is to be written for an event; a piece that is held back comes with the next one, or at the end."""
        line = self._to_dict(event)
        part, key = line, "output"
        place: tuple[Any, ...] = (*event.agent_path, line.get("tool_call_id"))
        if event.type == "message_update":
            part, key = line["event"], "content"
            place = (*event.agent_path, None)
        if event.type == "tool_execution_update" or part["type"].endswith("_delta"):
            name = (*place, part.get("stream"), part.get("index"))
            part[key] = self._pieces.add(name, part.get(key, ""))
            self._last[name] = (line, key)
            if part[key]:
                yield line
            return
        if event.type in ("message_update", "message_end", "tool_execution_end"):
            if event.type == "message_end":
                place = (*event.agent_path, None)
            for name in [name for name in self._last if name[: len(place)] == place]:
                last, key = self._last.pop(name)
                if rest := self._pieces.rest(name):
                    yield {**last, **({"event": {**last["event"], key: rest}} if key == "content" else {key: rest})}
        yield line
