"""The answer of a server on its way to our events: fields that are checked where they are read, blocks that open and close."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import Block, StopReason
from skillkit_core.models import TokenUsage
from skillkit_core.stream import StreamEvent

__all__ = ["AnswerWriter", "value_at"]

T = TypeVar("T")
_MISSING: Any = object()


def value_at(data: Any, kind: type[T], *path: str | int, default: T = _MISSING) -> T:
    """Return the value at ``path`` in what a server sent.

    What is not there, or of another type, is the server's fault: an error of kind ``protocol``, which the loop tries again. Any
    other exception in the code that reads an answer is a mistake of that code, kind ``unknown``, which is not tried again.

    Args:
        data: parsed JSON.
        kind: the type that the value must have. An ``int`` counts as a ``float``; ``bool`` counts as no number.
        path: names of fields and positions in lists, from the outside in.
        default: the value for a field that is absent or null; without it such a field is an error.

    Raises:
        ProviderError: the value is missing, or of another type.

    Example:
        >>> value_at({"usage": {"input": 3}}, int, "usage", "input")
        3
        >>> value_at({"usage": None}, int, "usage", "input", default=0)
        0
    """
    value = data
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            value = None
        if value is None:
            break
    if value is None and default is not _MISSING:
        return default
    fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if not fits:
        where = ".".join(map(str, path)) or "content"
        found = f"no {where}" if value is None else f"a {where} of type {type(value).__name__}, not {kind.__name__}"
        raise ProviderError(f"the server sent {found}", kind=ErrorKind.protocol, hint="try again")
    return cast("T", value)


@dataclass(slots=True)
class _Open:
    index: int
    kind: str
    fields: dict[str, str] = field(default_factory=dict)


class AnswerWriter:
    """Writes the events of one answer: says what came, and blocks begin, grow and end by themselves.

    Text and thinking are one block until something else comes. Calls stay open until the answer ends, for some wires send the
    fragments of several calls in turns.

    Attributes:
        usage: tokens that the server reported so far; the last event carries it. ``None``: it reports none.
        response_id: the provider's name for the answer.
        finished: :meth:`done` was called. What is written later counts for nothing.
    """

    __slots__ = ("_calls", "_events", "_last", "_next", "_text", "finished", "response_id", "usage")

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []
        self._next = 0
        self._text: _Open | None = None
        self._calls: dict[Any, _Open] = {}
        self._last: Any = None
        self.usage: TokenUsage | None = None
        self.response_id: str | None = None
        self.finished: StreamEvent | None = None

    def text(self, piece: str) -> None:
        """Add a piece of the answer's text; an empty one is passed over."""
        self._add("text", piece)

    def thinking(self, piece: str) -> None:
        """Add a piece of readable thinking; an empty one is passed over."""
        self._add("thinking", piece)

    def block(self, block: Block) -> None:
        """Add a block that arrived whole, such as thinking with its signature, or a refusal."""
        self.end()
        self._emit("block", self._index(), block=block)

    def call(self, id: str, name: str, arguments: str = "", key: Any = None) -> None:
        """Begin a tool call.

        Args:
            id: the wire's id of the call; empty: one is made.
            name: of the tool, as the model wrote it.
            arguments: the text of its arguments, as far as it is there.
            key: what tells the fragments of this call from those of others (the wire's index); default: the last call's.
        """
        self.end()
        index = self._index()
        opened = _Open(index, "tool_call", {"tool_call_id": id or f"call_{index}", "tool_name": name})
        self._last = index if key is None else key
        self._calls[self._last] = opened
        self._emit("tool_call_start", index, **opened.fields)
        self.arguments(arguments, self._last)

    def arguments(self, piece: str, key: Any = None) -> None:
        """Add a fragment of the arguments' JSON to the call of ``key``; default: to the last one.

        Raises:
            ProviderError: there is no such call.
        """
        opened = self._calls.get(self._last if key is None else key)
        if opened is None:
            raise ProviderError("the server sent arguments of a call that did not begin", kind=ErrorKind.protocol)
        if piece:
            self._emit("tool_call_delta", opened.index, piece, **opened.fields)

    def end(self, block: Block | None = None) -> None:
        """End the open text or thinking, with ``block`` where the wire knows more than the pieces (a signature)."""
        if self._text is not None:
            self._emit(f"{self._text.kind}_end", self._text.index, block=block)
        self._text = None

    def done(self, reason: StopReason | None = None, word: str | None = None) -> None:
        """End the answer.

        Args:
            reason: default: ``tool_calls`` where there are calls, else ``stop``.
            word: the provider's own.
        """
        if self.finished is not None:
            return
        self.end()
        for opened in self._calls.values():
            self._emit("tool_call_end", opened.index, **opened.fields)
        reason = reason or (StopReason.tool_calls if self._calls else StopReason.stop)
        self.finished = StreamEvent(
            "done", usage=self.usage, stop_reason=reason, raw_stop_reason=word, response_id=self.response_id
        )

    def take(self) -> list[StreamEvent]:
        """Return the events that were written since the last call, without the one that ends the answer."""
        taken, self._events = self._events, []
        return taken

    def _add(self, kind: str, piece: str) -> None:
        if not piece:
            return
        if self._text is None or self._text.kind != kind:
            self.end()
            self._text = _Open(self._index(), kind)
            self._emit(f"{kind}_start", self._text.index)
        self._emit(f"{kind}_delta", self._text.index, piece)

    def _index(self) -> int:
        self._next += 1
        return self._next - 1

    def _emit(self, type: Any, index: int, content: str = "", **fields: Any) -> None:
        if self.finished is None:
            self._events.append(StreamEvent(type, content, index=index, **fields))
