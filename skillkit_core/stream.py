"""Streams: the events of a streamed answer, the table that converts a wire into events, and the fold into a message."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, final

from .errors import ErrorKind, ProviderError
from .frozen import EMPTY, freeze
from .messages import AssistantMessage, Block, RefusalBlock, StopReason, TextBlock, ThinkingBlock, ToolCall, clean
from .models import TokenUsage

__all__ = ["MessageBuilder", "StreamEvent", "StreamTable", "StreamType", "parse_tool_args"]

StreamType: TypeAlias = Literal[
    "text_start", "text_delta", "text_end", "thinking_start", "thinking_delta", "thinking_end",
    "tool_call_start", "tool_call_delta", "tool_call_end", "tool_result", "block", "done", "error",
]  # fmt: skip


@final
@dataclass(slots=True, unsafe_hash=True)
class StreamEvent:
    """One event of a streamed answer: the roadmap's twelve types, and ``block`` for a block that arrives whole.

    Handlers share an event, so nobody assigns to its fields; :func:`dataclasses.replace` makes a changed one. The class does
    not enforce this: an event is made for every delta, and making a frozen one takes a third more time.

    Attributes:
        type: type of the event. ``done`` and ``error`` are terminal: exactly one of them ends a stream.
        content: the delta's text; for ``tool_call_delta`` a fragment of the arguments' JSON; for ``tool_result`` the
            result's text; for ``done`` (of a run) the whole answer.
        tool_name: name of the tool (tool call events).
        tool_call_id: id of the call (tool call events).
        error: the error (``error``).
        index: position of the content block in the message, counted from 0, stable over the block's events.
        usage: tokens that the provider reported (terminal events of an adapter, and any earlier event).
        stop_reason: why the answer ended (terminal events).
        block: the finished block, on ``block``, and on ``*_end`` where the adapter knows more than the deltas (a signature,
            parsed arguments).
        message: terminal events: the assistant message. The loop fills it; adapters may leave it out.
        raw_stop_reason: the provider's own word (terminal events of an adapter).
        response_id: the provider's name for the answer (any event).
    """

    type: StreamType
    content: str = ""
    tool_name: str | None = None
    tool_call_id: str | None = None
    error: Exception | None = None
    index: int | None = None
    usage: TokenUsage | None = None
    stop_reason: StopReason | None = None
    block: Block | None = None
    message: AssistantMessage | None = None
    raw_stop_reason: str | None = None
    response_id: str | None = None

    @property
    def terminal(self) -> bool:
        """Whether the event is the last one of its stream."""
        return self.type in ("done", "error")


A = TypeVar("A")
Converter: TypeAlias = Callable[[Any, A], tuple[Iterable[StreamEvent], A]]


class StreamTable(Generic[A]):
    """Converts a provider's events into SkillKit's, one pure function per event type.

    ``convert(event, acc)`` looks up the function for the event's ``type`` and returns ``(events, new accumulator)``: no events
    for intermediate state, one for a direct mapping, several where a provider's event holds several. An unknown type gives no
    events, keeps the accumulator, and calls ``on_unknown(type)``. Without one, an event that has no type is a ``protocol`` error.

    Example:
        >>> table = StreamTable()
        >>> @table.on("chunk")
        ... def chunk(event, acc):
        ...     return [StreamEvent("text_delta", event["text"], index=0)], acc
        >>> table.convert({"type": "chunk", "text": "hi"}, {})[0][0].content
        'hi'
    """

    def __init__(self, *, key: str = "type", on_unknown: Callable[[str], None] | None = None) -> None:
        self._handlers: dict[str, Converter[A]] = {}
        self._key = key
        self._on_unknown = on_unknown

    def on(self, *types: str) -> Callable[[Converter[A]], Converter[A]]:
        """Return a decorator for the function that converts events of these types.

        Raises:
            ValueError: a type has a converter already.
        """

        def add(function: Converter[A]) -> Converter[A]:
            for name in types:
                if name in self._handlers:
                    raise ValueError(f"event type {name!r} has a converter already")
                self._handlers[name] = function
            return function

        return add

    @property
    def types(self) -> frozenset[str]:
        """The event types that have a converter."""
        return frozenset(self._handlers)

    def convert(self, event: Any, acc: A) -> tuple[Iterable[StreamEvent], A]:
        """Return the SkillKit events of one provider event, and the accumulator to pass with the next."""
        # Nearly all events are dicts, and checking that costs a tenth of the other check.
        if type(event) is dict or isinstance(event, Mapping):
            kind = event.get(self._key)
        else:
            kind = getattr(event, self._key, None)
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            if self._on_unknown is not None:
                self._on_unknown(str(kind))
            elif not isinstance(kind, str):
                raise ProviderError(f"the server sent an event without {self._key!r}", kind=ErrorKind.protocol)
            return (), acc
        return handler(event, acc)

    def replay(self, events: Iterable[Any], acc: A) -> tuple[list[StreamEvent], A]:
        """Return the SkillKit events of a whole recording, and the last accumulator."""
        out: list[StreamEvent] = []
        for event in events:
            more, acc = self.convert(event, acc)
            out.extend(more)
        return out, acc


def parse_tool_args(raw: str) -> Mapping[str, Any] | None:
    """Return the arguments in ``raw``, none for an empty text, or ``None`` when ``raw`` is not one strict JSON object."""
    if not raw.strip():
        return EMPTY

    try:
        value = _strict.decode(raw)
        if not isinstance(value, dict):
            return None
        args: Mapping[str, Any] = freeze(_legal(value) if "\\ud" in raw or "\\uD" in raw else value)
        return args
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


_strict = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _legal(value: Any) -> Any:
    """Return a JSON value without lone surrogates, which no file and no wire takes."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(k): _legal(v) for k, v in value.items()}
    return [_legal(v) for v in value] if isinstance(value, list) else value


class _Open:
    __slots__ = ("id", "kind", "name", "parts")

    def __init__(self, kind: str, id: str = "", name: str = "") -> None:
        self.kind = kind
        self.id = id
        self.name = name
        self.parts: list[str] = []

    def block(self, complete: bool) -> Block:
        text = clean("".join(self.parts))
        if self.kind == "text":
            return TextBlock(text)
        if self.kind == "thinking":
            return ThinkingBlock(text)
        args = parse_tool_args(text)
        return ToolCall(self.id, self.name, args, text, incomplete=not complete and args is None)


_DELTAS = frozenset(("text_delta", "thinking_delta", "tool_call_delta"))


class MessageBuilder:
    """Folds the stream events of one answer into an :class:`AssistantMessage`, in linear time.

    :meth:`message` and :meth:`blocks` may be called at any time. :meth:`add` does nothing after a terminal event.

    Attributes:
        usage: tokens as the adapter reported them last.
        early: that was at the beginning of a block, so that what came of the block since is not in it.
    """

    __slots__ = ("_blocks", "_next", "early", "error", "raw_stop_reason", "response_id", "stop_reason", "usage")

    def __init__(self) -> None:
        self._blocks: dict[int, Block | _Open] = {}
        self._next = 0
        self.usage: TokenUsage | None = None
        self.early = False
        self.stop_reason: StopReason | None = None
        self.raw_stop_reason: str | None = None
        self.response_id: str | None = None
        self.error: Exception | None = None

    def add(self, event: StreamEvent) -> None:
        """Fold one more event of the adapter."""
        if self.stop_reason is not None:
            return
        kind = event.type
        if event.usage is not None and event.usage != self.usage:
            self.usage, self.early = event.usage, kind.endswith("_start")
        if event.response_id is not None:
            self.response_id = event.response_id
        index = event.index
        if kind in _DELTAS:  # nearly all events
            current = self._blocks.get(index)  # type: ignore[arg-type]  # None is no block's index
            if type(current) is _Open:
                current.parts.append(event.content)
                return
        if kind == "done" or kind == "error":
            self._finish(event)
            return
        if kind == "block":
            if event.block is not None:
                self._blocks[self._next if index is None else index] = event.block
                self._next = max(self._next, -1 if index is None else index) + 1
            return
        name, _, step = kind.rpartition("_")
        if kind == "tool_result":
            return
        if index is None:
            index = self._next if step == "start" or not self._blocks else self._next - 1
        current = self._blocks.get(index)
        if current is None or step == "start":
            current = _Open(name, event.tool_call_id or "", event.tool_name or "")
            self._blocks[index] = current
            self._next = max(self._next, index + 1)
        if not isinstance(current, _Open):
            return
        if step == "delta":
            current.parts.append(event.content)
        elif step == "end":
            current.id = event.tool_call_id or current.id
            current.name = event.tool_name or current.name
            self._blocks[index] = event.block if event.block is not None else current.block(True)

    def _finish(self, event: StreamEvent) -> None:
        self.raw_stop_reason = event.raw_stop_reason
        self.error = event.error
        reason = event.stop_reason
        if event.type == "error":
            if self.error is None:
                self.error = ProviderError("the answer failed, and the adapter did not say why")
            aborted = isinstance(event.error, ProviderError) and event.error.kind is ErrorKind.aborted
            reason = reason or (StopReason.aborted if aborted else StopReason.error)
        self.stop_reason = reason or (StopReason.tool_calls if self._has_calls() else StopReason.stop)

    def _has_calls(self) -> bool:
        return any(
            isinstance(b, ToolCall) or (isinstance(b, _Open) and b.kind == "tool_call") for b in self._blocks.values()
        )

    @property
    def empty(self) -> bool:
        """Whether no block has arrived."""
        return not self._blocks

    def blocks(self) -> tuple[Block, ...]:
        """Return the content so far, in the order of the blocks, with what has arrived of unfinished blocks."""
        out: list[Block] = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            out.append(block.block(False) if isinstance(block, _Open) else block)
        return tuple(out)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(b.text for b in self.blocks() if isinstance(b, (TextBlock, RefusalBlock)))

    def fail(self, error: Exception) -> None:
        """End the message with an error, in place of any error of the stream."""
        self.error, self.stop_reason = error, StopReason.error

    def message(
        self,
        *,
        provider: str = "",
        api: str = "",
        model: str = "",
        ts: float = 0.0,
        stop_reason: StopReason | None = None,
    ) -> AssistantMessage:
        """Return the message so far."""
        return AssistantMessage(
            content=self.blocks(), provider=provider, api=api, model=model, ts=ts,
            stop_reason=stop_reason or self.stop_reason or StopReason.aborted, raw_stop_reason=self.raw_stop_reason,
            usage=self.usage or TokenUsage(), response_id=self.response_id,
            error=None if self.error is None else str(self.error),
        )  # fmt: skip
