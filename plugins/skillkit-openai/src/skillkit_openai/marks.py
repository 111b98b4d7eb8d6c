"""Cache breakpoints on Chat Completions, for servers that hand ``cache_control`` on to models that cache by it.

They go into text parts: of the system message, which stands behind the tools for such models and so covers them too, and
of the last two messages of the user or a tool. The last is what this request writes; the one before is what the request
before wrote, and this one reads. OpenRouter's recorded answers show reads and writes at exactly these places.

A request may have four breakpoints, so those of the messages have to move on. The one that goes is where this request
first differs from the one before. Two are the fewest that find what was written without the server's looking back, which
Claude's does for twenty blocks; a third that stayed for a request more would put the first difference a message earlier.
All messages that may be marked are lists of parts, so that nothing but the field itself comes and goes.

https://openrouter.ai/docs/features/prompt-caching
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from skillkit_transport import encode

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import LLMMessage

from .dialect import Dialect
from .history import Encoder, History

__all__ = ["MarkedHistory", "Marks", "marks_for"]

_ALL = 3
_KEPT = 8  # messages that may still be marked: the last ones, and the images that follow tool results


class Marks(NamedTuple):
    """Where breakpoints go: on the system message, and on as many of the last ``messages``; at most four in all."""

    messages: int
    hour: bool

    @property
    def field(self) -> dict[str, str]:
        """The value of ``cache_control``."""
        return {"type": "ephemeral", "ttl": "1h"} if self.hour else {"type": "ephemeral"}

    def system(self, text: str) -> list[dict[str, Any]]:
        """The content of the system message."""
        return [{"type": "text", "text": text, "cache_control": self.field}]


def marks_for(dialect: Dialect, request: LLMRequest) -> Marks | None:
    """The breakpoints of a request; ``None``: it has none, or its settings hold a ``cache_control`` of their own."""
    wanted = dialect.cache_control
    if wanted == "off" or (wanted == "auto" and not dialect.cached) or "cache_control" in request.settings.extra:
        return None
    if wanted != "auto":
        return Marks(_ALL - 1, wanted == "1h")
    count = next((n for pattern, n in dialect.cached if fnmatchcase(request.model.id, pattern)), 0)
    return Marks(count - 1, False) if count else None


class MarkedHistory(History):
    """A history whose last messages end in breakpoints, which move on with it; what is before them stays as it is."""

    __slots__ = ("_marks", "_places")

    def __init__(self, key: Any, make: Callable[[], Encoder], marks: Marks) -> None:
        super().__init__(key, make)
        self._marks = marks
        self._places: list[tuple[int, int, Any]] = []  # of messages that may be marked: start, end, the item

    def items(self, messages: Sequence[LLMMessage]) -> bytes:
        """As without breakpoints, but for the messages that have one."""
        plain = super().items(messages)
        places = [p for p in self._places if p[1] <= len(plain)]
        out, at = [], 0
        for start, end, item in places[max(0, len(places) - self._marks.messages) :]:
            out += [plain[at:start], encode(self._marked(item))]
            at = end
        # Images behind the newest results were written for this request alone.
        self._places = [p for p in places if p[1] <= len(self._buffer)]
        return b"".join((*out, plain[at:]))

    def _write(self, buffer: bytearray, items: Iterable[Any]) -> None:
        if not buffer:
            self._places.clear()
        for item in items:
            if buffer:
                buffer += b","
            start = len(buffer)
            markable = item["role"] != "assistant"
            if markable and self._marks.messages:
                item = _in_parts(item)
            buffer += encode(item)
            if markable:
                self._places.append((start, len(buffer), item))
        del self._places[:-_KEPT]

    def _marked(self, item: dict[str, Any]) -> dict[str, Any]:
        content = item["content"]
        if isinstance(content, str):  # blank
            return item
        at = next((n for n in reversed(range(len(content))) if content[n].get("text", "").strip()), None)
        if at is None:  # nothing but images: only text can be marked
            return item
        marked = {**content[at], "cache_control": self._marks.field}
        return {**item, "content": [*content[:at], marked, *content[at + 1 :]]}


def _in_parts(item: dict[str, Any]) -> dict[str, Any]:
    """A message with its text as a part, which alone can hold a breakpoint; blank text holds none."""
    content = item["content"]
    if not isinstance(content, str) or not content.strip():
        return item
    return {**item, "content": [{"type": "text", "text": content}]}
