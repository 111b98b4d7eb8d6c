"""Conversion of the Messages API's events into SkillKit's: a table of pure functions.

Source of the events: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.frozen import EMPTY, FrozenDict, freeze
from skillkit_core.messages import ProviderBlock, StopReason, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.models import TokenUsage
from skillkit_core.stream import StreamEvent, StreamTable, parse_tool_args

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
}


class Open(NamedTuple):
    """A content block that has started: its ``type`` on the wire, and the block as ``content_block_start`` gave it."""

    type: str
    start: Mapping[str, Any]


Tail: TypeAlias = "tuple[Tail | None, int, str, Any]"


class Accumulator(NamedTuple):
    """What the converters must remember between events. Immutable; every event makes a new one.

    Attributes:
        tail: fragments of the open blocks, newest first: ``(older, block index, kind of delta, fragment)``. A linked list,
            so that adding is constant in time and nothing is ever changed.
        open: started blocks by index.
        blocks: how many blocks have started.
        usage: the provider's own numbers so far.
        response_id, stop_reason: as far as known.
        finished: a terminal event was given.
    """

    tail: Tail | None = None
    open: Mapping[int, Open] = {}
    blocks: int = 0
    usage: Mapping[str, Any] = EMPTY
    response_id: str | None = None
    stop_reason: str | None = None
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


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


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
    count = acc.blocks
    if not count:
        for block in message.get("content") or ():
            out += whole_block(block, count)
            count += 1
    return out, acc._replace(
        blocks=count,
        usage=_merge_usage(acc.usage, message.get("usage")),
        response_id=message.get("id") or acc.response_id,
        stop_reason=message.get("stop_reason") or acc.stop_reason,
    )


@messages_table.on("message_delta")
def message_delta(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """Stop reason and final usage; both are kept for the terminal event."""
    delta = event.get("delta")
    reason = delta.get("stop_reason") if isinstance(delta, Mapping) else None
    return (), acc._replace(
        usage=_merge_usage(acc.usage, event.get("usage")),
        stop_reason=reason or acc.stop_reason,
    )


@messages_table.on("message_stop")
def message_stop(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """The end: blocks that the server forgot to end are ended, then ``done``."""
    if acc.finished:
        return (), acc
    out: list[StreamEvent] = []
    for index in sorted(acc.open):
        ended, acc = _end(index, acc)
        out += ended
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
    return out, acc._replace(finished=True)


@messages_table.on("ping")
def ping(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """Keeps the connection open; says nothing."""
    return (), acc


@messages_table.on("error")
def error(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """An error in mid-stream; the HTTP status was 200, so the ``type`` of the error decides what it is."""
    if acc.finished:
        return (), acc
    return (failure(acc, error_of_body(event, status=200)),), acc._replace(finished=True)


# ---------------------------------------------------------------- content blocks


@messages_table.on("content_block_start")
def content_block_start(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """A block begins; what the wire gives whole is kept for the end of the block."""
    start = event.get("content_block")
    if not isinstance(start, Mapping):
        return (), acc
    index = _index(event, acc.blocks)
    kind = start.get("type")
    acc = acc._replace(
        open={**acc.open, index: Open(str(kind), start)},
        blocks=max(acc.blocks, index + 1),
    )
    if kind == "text":
        out = [StreamEvent("text_start", index=index)]
        text = start.get("text")
        if text:
            out.append(StreamEvent("text_delta", text, index=index))
            acc = acc._replace(tail=(acc.tail, index, "text_delta", text))
        for citation in start.get("citations") or ():
            acc = acc._replace(tail=(acc.tail, index, "citations_delta", citation))
        return out, acc
    if kind == "thinking":
        out = [StreamEvent("thinking_start", index=index)]
        text = start.get("thinking")
        if text:
            out.append(StreamEvent("thinking_delta", text, index=index))
            acc = acc._replace(tail=(acc.tail, index, "thinking_delta", text))
        return out, acc
    if kind == "tool_use":
        call_id, name = str(start.get("id") or ""), str(start.get("name") or "")
        return (StreamEvent("tool_call_start", tool_name=name, tool_call_id=call_id, index=index),), acc
    return (), acc


@messages_table.on("content_block_delta")
def content_block_delta(event: Mapping[str, Any], acc: Accumulator) -> Converted:
    """A fragment of an open block."""
    delta = event["delta"]
    kind = delta["type"]
    index = event["index"]
    opened = acc.open.get(index)
    if opened is None:
        return _unannounced(event, acc)
    if kind == "text_delta":
        text = delta["text"]
        if not text or opened.type != "text":
            return (), acc
        tail = (acc.tail, index, kind, text)
        return (StreamEvent("text_delta", text, index=index),), Accumulator(tail, *acc[1:])
    if kind == "input_json_delta":
        text = delta["partial_json"]
        if not text:
            return (), acc
        acc = Accumulator((acc.tail, index, kind, text), *acc[1:])
        if opened.type != "tool_use":
            return (), acc
        return (StreamEvent("tool_call_delta", text, index=index),), acc
    if kind == "thinking_delta":
        text = delta["thinking"]
        if not text or opened.type != "thinking":
            return (), acc
        tail = (acc.tail, index, kind, text)
        return (StreamEvent("thinking_delta", text, index=index),), Accumulator(tail, *acc[1:])
    if kind in ("signature_delta", "citations_delta"):
        value = delta.get("signature" if kind == "signature_delta" else "citation")
        return (), Accumulator((acc.tail, index, kind, value), *acc[1:])
    return (), Accumulator((acc.tail, index, kind, delta), *acc[1:])


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
    """A block ends: it is given whole, with everything the deltas did not say."""
    return _end(_index(event, acc.blocks - 1), acc)


def _index(event: Mapping[str, Any], default: int) -> int:
    index = event.get("index")
    return index if type(index) is int else default


def _end(index: int, acc: Accumulator) -> Converted:
    opened = acc.open.get(index)
    if opened is None:
        return (), acc
    fragments: list[tuple[str, Any]] = []
    rest: list[tuple[int, str, Any]] = []
    cell = acc.tail
    while cell is not None:
        older, owner, kind, fragment = cell
        if owner == index:
            fragments.append((kind, fragment))
        else:
            rest.append((owner, kind, fragment))
        cell = older
    tail: Tail | None = None
    for owner, kind, fragment in reversed(rest):
        tail = (tail, owner, kind, fragment)
    fragments.reverse()
    still = {k: v for k, v in acc.open.items() if k != index}
    return _finished(index, opened, fragments), acc._replace(tail=tail, open=still)


def _joined(fragments: Iterable[tuple[str, Any]], kind: str) -> str:
    return "".join([f for k, f in fragments if k == kind])


def _finished(index: int, opened: Open, fragments: list[tuple[str, Any]]) -> Sequence[StreamEvent]:
    start = opened.start
    if opened.type == "text":
        citations = tuple(freeze(f) for k, f in fragments if k == "citations_delta" and isinstance(f, Mapping))
        text_block = TextBlock(_joined(fragments, "text_delta"), citations) if citations else None
        return (StreamEvent("text_end", index=index, block=text_block),)
    if opened.type == "thinking":
        signature = next((f for k, f in reversed(fragments) if k == "signature_delta" and f), start.get("signature"))
        thinking = ThinkingBlock(_joined(fragments, "thinking_delta"), signature or None)
        return (StreamEvent("thinking_end", index=index, block=thinking),)
    if opened.type == "tool_use":
        raw = _joined(fragments, "input_json_delta")
        out: list[StreamEvent] = []
        if not raw and start.get("input"):
            raw = json.dumps(start["input"], ensure_ascii=False, separators=(",", ":"))
            out.append(StreamEvent("tool_call_delta", raw, index=index))
        call = tool_call(start, raw)
        out.append(StreamEvent("tool_call_end", tool_name=call.name, tool_call_id=call.id, index=index, block=call))
        return out
    if opened.type == "redacted_thinking":
        return (StreamEvent("block", index=index, block=_redacted(start)),)
    data = dict(start)
    for kind, fragment in fragments:
        if kind == "input_json_delta":
            continue
        if isinstance(fragment, Mapping):
            _fold(data, fragment)
    raw = _joined(fragments, "input_json_delta")
    if raw:
        data["input"] = _json_or_text(raw)
    return (StreamEvent("block", index=index, block=ProviderBlock(opened.type, freeze(data))),)


def _fold(data: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Apply a delta of a kind this code does not know: strings are continued, everything else is replaced."""
    for key, value in delta.items():
        if key == "type" or value is None:
            continue
        old = data.get(key)
        data[key] = old + value if isinstance(old, str) and isinstance(value, str) else value


def _json_or_text(raw: str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def tool_call(start: Mapping[str, Any], raw: str) -> ToolCall:
    """A finished ``tool_use`` block. A whole text that is no JSON object is not incomplete, it is wrong (args ``None``)."""
    args = parse_tool_args(raw)
    extra = {k: v for k, v in start.items() if k not in ("type", "id", "name", "input") and v is not None}
    return ToolCall(
        str(start.get("id") or ""),
        str(start.get("name") or ""),
        args,
        raw,
        incomplete=args is None and not _whole(raw),
        provider_data=freeze(extra) if extra else EMPTY,
    )


def _whole(raw: str) -> bool:
    """Whether ``raw`` is one JSON value (perhaps not an object, perhaps with a ``NaN``)."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _redacted(start: Mapping[str, Any]) -> ThinkingBlock:
    return ThinkingBlock(redacted=True, data=str(start.get("data") or ""))


# ---------------------------------------------------------------- answers that arrive whole


def whole_block(block: Any, index: int) -> list[StreamEvent]:
    """The events of a content block that arrived in one piece."""
    if not isinstance(block, Mapping):
        return []
    opened = Open(str(block.get("type")), block)
    fragments: list[tuple[str, Any]] = []
    out: list[StreamEvent] = []
    if opened.type == "text":
        text = block.get("text") or ""
        fragments = [("text_delta", text), *(("citations_delta", c) for c in block.get("citations") or ())]
        out.append(StreamEvent("text_start", index=index))
        if text:
            out.append(StreamEvent("text_delta", text, index=index))
    elif opened.type == "thinking":
        text = block.get("thinking") or ""
        fragments = [("thinking_delta", text)]
        out.append(StreamEvent("thinking_start", index=index))
        if text:
            out.append(StreamEvent("thinking_delta", text, index=index))
    elif opened.type == "tool_use":
        call_id, name = str(block.get("id") or ""), str(block.get("name") or "")
        out.append(StreamEvent("tool_call_start", tool_name=name, tool_call_id=call_id, index=index))
    out += _finished(index, opened, fragments)
    return out


def message_events(message: Mapping[str, Any], acc: Accumulator | None = None) -> Converted:
    """The events of an answer that came as one JSON object: exactly what a stream of it would have given."""
    events, acc = message_start({"message": message}, acc or Accumulator())
    ended, acc = message_stop({}, acc)
    return [*events, *ended], acc
