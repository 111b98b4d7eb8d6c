"""Conversion of the Messages API's events into SkillKit's: a table of pure functions.

Source of the events: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.frozen import EMPTY, FrozenDict, freeze
from skillkit_core.messages import StopReason, ToolCall
from skillkit_core.models import TokenUsage
from skillkit_core.stream import StreamEvent, StreamTable

from .blocks import Open, call_delta, finished, text_in
from .errors import error_of_body

__all__ = [
    "STOP_REASONS",
    "Accumulator",
    "Converted",
    "Open",
    "failure",
    "message_events",
    "messages_table",
    "usage_of",
]

log = logging.getLogger(__name__)

STOP_REASONS = {
    "end_turn": StopReason.stop,
    "stop_sequence": StopReason.stop,
    "tool_use": StopReason.tool_calls,
    "max_tokens": StopReason.length,
    "model_context_window_exceeded": StopReason.length,
    "pause_turn": StopReason.pause,
    "compaction": StopReason.pause,
    "refusal": StopReason.refusal,
    # Of servers that translate from Chat Completions and hand its words through.
    "stop": StopReason.stop,
    "tool_calls": StopReason.tool_calls,
    "length": StopReason.length,
    "content_filter": StopReason.refusal,
}


_CELL = 1_024  # characters

Tail: TypeAlias = "tuple[Tail | None, int, str, Any]"


class Accumulator(NamedTuple):
    """What the converters must remember between events. Immutable; every event makes a new one.

    Attributes:
        tail: fragments of the open blocks, newest first: ``(older, position of the block, kind of delta,
            fragment)``. A linked list,
            so that adding is constant in time and nothing is ever changed.
        open: started blocks by their index on the wire.
        blocks: how many blocks have started.
        usage: the provider's own numbers so far.
        response_id, stop_reason: as far as known.
        container: id of the provider's sandbox that the answer's code ran in.
        finished: a terminal event was given.
    """

    tail: Tail | None = None
    open: Mapping[int, Open] = {}
    blocks: int = 0
    usage: Mapping[str, Any] = EMPTY
    response_id: str | None = None
    stop_reason: str | None = None
    container: str | None = None
    finished: bool = False


Converted: TypeAlias = "tuple[Sequence[StreamEvent], Accumulator]"

messages_table: StreamTable[Accumulator] = StreamTable(
    on_unknown=lambda kind: log.debug("event type %r of the Messages API is unknown and was ignored", kind)
)


def usage_of(raw: Mapping[str, Any]) -> TokenUsage | None:
    """The provider's numbers in SkillKit's disjoint buckets; ``None`` when it sent none.

    ``input_tokens`` excludes cached tokens already; ``output_tokens`` includes thinking, which is a bucket of its own here.
    """
    if not raw:
        return None
    details = raw.get("output_tokens_details")
    reasoning = _count(details.get("thinking_tokens")) if isinstance(details, Mapping) else 0
    output = _count(raw.get("output_tokens"))
    reasoning = min(reasoning, output)
    return TokenUsage(
        input=_count(raw.get("input_tokens")),
        output=output - reasoning,
        cache_read=_count(raw.get("cache_read_input_tokens")),
        cache_write=_count(raw.get("cache_creation_input_tokens")),
        reasoning=reasoning,
        raw=freeze(raw),
    )


_MOST = 10**12  # more is no count of tokens


def _count(value: Any) -> int:
    """``value`` as a number of tokens; 0 for what cannot be one."""
    return int(value) if type(value) in (int, float) and 0 < value <= _MOST else 0


def _merge_usage(old: Mapping[str, Any], new: Any) -> Mapping[str, Any]:
    """Later numbers are totals and replace earlier ones; a null says nothing."""
    if not isinstance(new, Mapping) or not new:
        return old
    return FrozenDict({**old, **{k: freeze(v) for k, v in new.items() if v is not None or k not in old}})


def failure(acc: Accumulator, error: ProviderError) -> StreamEvent:
    """The terminal event for a stream that failed, with what is known so far."""
    reason = StopReason.aborted if error.kind is ErrorKind.aborted else StopReason.error
    return StreamEvent(
        "error",
        error=error,
        usage=usage_of(acc.usage),
        stop_reason=reason,
        raw_stop_reason=acc.stop_reason,
        response_id=acc.response_id,
    )


# ---------------------------------------------------------------- message events


@messages_table.on("message_start")
def message_start(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """Identity and first usage. Programmatic tool calls arrive here whole, as content of the message."""
    message = event.get("message")
    if not isinstance(message, Mapping):
        return (), acc
    out: list[StreamEvent] = []
    if not acc.blocks:
        for block in message.get("content") or ():
            started, acc = content_block_start({"content_block": block}, acc)
            ended, acc = _end(acc.blocks - 1, acc)
            out += (*started, *ended)
    return out, acc._replace(
        usage=_merge_usage(acc.usage, message.get("usage")),
        response_id=text_in(message.get("id")) or acc.response_id,
        stop_reason=text_in(message.get("stop_reason")) or acc.stop_reason,
        container=_container(message) or acc.container,
    )


@messages_table.on("message_delta")
def message_delta(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """Stop reason and final usage; both are kept for the terminal event."""
    delta = event.get("delta")
    if not isinstance(delta, Mapping):
        delta = EMPTY
    return (), acc._replace(
        usage=_merge_usage(acc.usage, event.get("usage")),
        stop_reason=text_in(delta.get("stop_reason")) or acc.stop_reason,
        container=_container(delta) or acc.container,
    )


def _container(holder: Mapping[str, Any]) -> str | None:
    container = holder.get("container")
    found = container.get("id") if isinstance(container, Mapping) else None
    return found if isinstance(found, str) else None


@messages_table.on("message_stop")
def message_stop(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """The end: blocks that the server forgot to end are ended, then ``done``."""
    if acc.finished:
        return (), acc
    out = _end_all(acc)
    raw = acc.stop_reason
    out.append(
        StreamEvent(
            "done",
            usage=usage_of(acc.usage),
            stop_reason=STOP_REASONS.get(raw) if raw else None,
            raw_stop_reason=raw,
            response_id=acc.response_id,
        )
    )
    return out, acc._replace(tail=None, open={}, finished=True)


@messages_table.on("ping")
def ping(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """Keeps the connection open; says nothing."""
    return (), acc


@messages_table.on("error")
def error(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """An error in mid-stream; the HTTP status was 200, so the ``type`` of the error decides what it is."""
    if acc.finished:
        return (), acc
    if not isinstance(event.get("error"), (Mapping, str)):  # its fields stand in the event itself
        event = {"error": event}
    return (failure(acc, error_of_body(event, status=200)),), acc._replace(finished=True)


# ---------------------------------------------------------------- content blocks


@messages_table.on("content_block_start")
def content_block_start(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """A block begins; what the wire gives whole is kept for the end of the block."""
    start = event.get("content_block")
    if not isinstance(start, Mapping):
        return (), acc
    kind, index = start.get("type"), _index(event, acc.blocks)
    out: list[StreamEvent] = []
    if index in acc.open:  # a server that forgets to end its blocks
        ended, acc = _end(index, acc)
        out += ended
    position, tail = acc.blocks, acc.tail
    told = usage_of(acc.usage) if position == 0 else None  # what has been told by now, for an answer that is cut off
    call_id = name = None
    if kind == "tool_use":
        call_id, name = str(start.get("id") or ""), str(start.get("name") or "")
        out.append(StreamEvent("tool_call_start", tool_name=name, tool_call_id=call_id, index=position, usage=told))
    elif kind == "text" or kind == "thinking":
        out.append(StreamEvent("text_start" if kind == "text" else "thinking_start", index=position, usage=told))
        text = text_in(start.get(kind))
        if text:
            out.append(StreamEvent("text_delta" if kind == "text" else "thinking_delta", text, index=position))
            tail = (tail, position, f"{kind}_delta", text)
        for citation in start.get("citations") or ():
            tail = (tail, position, "citations_delta", citation)
    opened = Open(str(kind), start, position, call_id, name)
    return out, acc._replace(tail=tail, open={**acc.open, index: opened}, blocks=position + 1)


@messages_table.on("content_block_delta")
def content_block_delta(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """A fragment of an open block."""
    delta = event["delta"]
    kind = delta["type"]
    index = event["index"]
    opened = acc.open.get(index)
    if opened is None:
        return _unannounced(event, acc)
    position = opened.position
    if kind == "text_delta":
        text = text_in(delta["text"])
        if not text or opened.type != "text":
            return (), acc
        tail = _longer(acc.tail, position, kind, text)
        return (StreamEvent("text_delta", text, index=position),), Accumulator(tail, *acc[1:])
    if kind == "input_json_delta":
        text = text_in(delta["partial_json"])
        if not text:
            return (), acc
        acc = Accumulator(_longer(acc.tail, position, kind, text), *acc[1:])
        if opened.type != "tool_use":
            return (), acc
        return (call_delta(opened, text),), acc
    if kind == "thinking_delta":
        text = text_in(delta["thinking"])
        if not text or opened.type != "thinking":
            return (), acc
        tail = _longer(acc.tail, position, kind, text)
        return (StreamEvent("thinking_delta", text, index=position),), Accumulator(tail, *acc[1:])
    if kind in ("signature_delta", "citations_delta"):
        value = delta.get("signature" if kind == "signature_delta" else "citation")
        return (), Accumulator((acc.tail, position, kind, value), *acc[1:])
    return (), Accumulator((acc.tail, position, kind, delta), *acc[1:])


def _longer(tail: Tail | None, position: int, kind: str, text: str) -> Tail:
    """``tail`` and ``text``. Short texts share a cell: a cell for each delta would feed the garbage collector."""
    if tail is not None:
        older, owner, last, known = tail
        if owner == position and last == kind and len(known) < _CELL:
            return older, position, kind, known + text
    return tail, position, kind, text


def _unannounced(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """A delta of a block that never started: text and thinking start it, nothing else can."""
    kind = event["delta"]["type"]
    implied = {"text_delta": "text", "thinking_delta": "thinking"}.get(kind)
    index = event["index"]
    if implied is None or type(index) is not int:
        log.debug("%s for content block %r, which is not open, was ignored", kind, index)
        return (), acc
    started, acc = content_block_start({"index": index, "content_block": {"type": implied}}, acc)
    events, acc = content_block_delta(event, acc)
    return [*started, *events], acc


@messages_table.on("content_block_stop")
def content_block_stop(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """A block ends: it is given whole, with everything the deltas did not say.

    A tool call whose arguments are no JSON ends with the message: only its stop reason says whether they were cut off.
    """
    ended, rest = _end(_index(event, acc.blocks - 1), acc)
    if any(isinstance(e.block, ToolCall) and e.block.incomplete for e in ended):
        return (), acc
    return ended, rest


def _index(event: Mapping[str, Any], default: int) -> int:
    index = event.get("index")
    return index if type(index) is int else default


def _end(index: int, acc: Accumulator) -> Converted:
    """End the block with this index on the wire: take its fragments out of the list, oldest first."""
    opened = acc.open.get(index)
    if opened is None:
        return (), acc
    fragments: list[tuple[str, Any]] = []
    rest: list[tuple[int, str, Any]] = []
    cell = acc.tail
    while cell is not None:
        older, owner, kind, fragment = cell
        if owner == opened.position:
            fragments.append((kind, fragment))
        else:
            rest.append((owner, kind, fragment))
        cell = older
    tail: Tail | None = None
    for owner, kind, fragment in reversed(rest):
        tail = (tail, owner, kind, fragment)
    fragments.reverse()
    still = {k: v for k, v in acc.open.items() if k != index}
    return finished(opened, fragments), acc._replace(tail=tail, open=still)


def _end_all(acc: Accumulator) -> list[StreamEvent]:
    """The ends of all open blocks, in order; one walk over the fragments, however many blocks there are."""
    fragments: dict[int, list[tuple[str, Any]]] = {opened.position: [] for opened in acc.open.values()}
    cell = acc.tail
    while cell is not None:
        cell, owner, kind, fragment = cell
        if owner in fragments:
            fragments[owner].append((kind, fragment))
    cut = STOP_REASONS.get(acc.stop_reason or "") is not StopReason.tool_calls
    out: list[StreamEvent] = []
    for opened in sorted(acc.open.values(), key=lambda o: o.position):
        out += finished(opened, fragments[opened.position][::-1], cut=cut)
    return out


# ---------------------------------------------------------------- answers that arrive whole


def message_events(message: Mapping[str, Any], acc: Accumulator | None = None) -> Converted:
    """The events of an answer that came as one JSON object: exactly what a stream of it would have given."""
    events, acc = message_start({"message": message}, acc or Accumulator())
    ended, acc = message_stop({}, acc)
    return [*events, *ended], acc
