"""The conversation as a wire writes it, kept serialised in ``request.scratch`` and appended to as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from skillkit_transport import encode

from skillkit_core.messages import LLMMessage

__all__ = ["Encoder", "History", "history_of"]


class Encoder(Protocol):
    """Writes messages of one conversation, in order, for one target."""

    def add(self, message: LLMMessage) -> Iterable[Any]:
        """The wire's items of ``message``."""

    def tail(self) -> Iterable[Any]:
        """Items that stand after the last message and before whatever comes next."""


class History:
    """The items of a conversation as JSON, comma after comma.

    Appending a message serialises that message alone. A sequence that does not continue the one before it (compaction, a
    transform, another branch) is written anew.
    """

    __slots__ = ("_buffer", "_encoder", "_make", "_messages", "key")

    def __init__(self, key: Any, make: Callable[[], Encoder]) -> None:
        self.key = key
        self._make = make
        self._messages: list[LLMMessage] = []
        self._encoder = make()
        self._buffer = bytearray()

    def items(self, messages: Sequence[LLMMessage]) -> bytes:
        """All items, without the brackets around them. The text of one call is a prefix of the next one's."""
        known = len(self._messages)
        # Comparing lists compares identities first, so an unchanged conversation costs nanoseconds per message; equal
        # messages have equal text.
        if known > len(messages) or self._messages != list(messages[:known]):
            self._messages, self._encoder, self._buffer, known = [], self._make(), bytearray(), 0
        for message in messages[known:]:
            self._write(self._buffer, self._encoder.add(message))
            self._messages.append(message)
        tail = list(self._encoder.tail())
        if not tail:
            return bytes(self._buffer)
        whole = self._buffer[:]
        self._write(whole, tail)
        return bytes(whole)

    def _write(self, buffer: bytearray, items: Iterable[Any]) -> None:
        for item in items:
            if buffer:
                buffer += b","
            buffer += encode(item)


def history_of(scratch: dict[str, Any], key: Any, start: Callable[[], History]) -> History:
    """The history of this session for the target ``key``; only the newest target's is kept."""
    found = scratch.get("openai.history")
    if not isinstance(found, History) or found.key != key:
        found = scratch["openai.history"] = start()
    return found
