"""The conversion of the Responses API, streamed or whole, into SkillKit's events: :data:`responses_table`.

The table is keyed by the wire's own event types. Three events are ours: ``body`` (``{"type": "body", "response": ...}``, an
answer that was not streamed), ``done`` (a ``[DONE]`` line, which some servers send) and ``eof`` (the connection ended).

One output item is one block, but a message item is one block per content part. Blocks are in order of first appearance.
``response.output_item.done`` and the terminal event repeat everything, so deltas are passed on and not kept. The other
``*.done`` events repeat what deltas said, and say it where a server sends no deltas.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import RefusalBlock, StopReason
from skillkit_core.stream import StreamEvent, StreamTable

from .errors import protocol_error, stream_error
from .responses_blocks import CALLS, delta_of, text_field
from .responses_items import (
    Out,
    abandon,
    begin_part,
    call_event,
    call_written,
    close,
    end_part,
    open_item,
    part_written,
    streamed,
    thought,
)
from .responses_state import Item, ResponsesState, index_of, moved, place
from .usage import responses_usage

__all__ = ["Item", "ResponsesState", "broken", "responses_table"]

log = logging.getLogger("skillkit_openai")

Converted: TypeAlias = tuple[Iterable[StreamEvent], ResponsesState]
_ENDS = (None, "completed", "incomplete")
_UNDER_WAY = ("in_progress", "queued")


def _unknown(kind: str) -> None:
    log.debug("ignored a Responses event of type %s", kind)


responses_table: StreamTable[ResponsesState] = StreamTable(on_unknown=_unknown)


@responses_table.on("response.created", "response.in_progress", "response.queued")
def begun(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """The answer has a name."""
    response = event.get("response") or {}
    return (), acc._replace(response_id=text_field(response, "id") or acc.response_id)


@responses_table.on(
    "response.output_text.annotation.added",
    "response.reasoning_summary_part.added",
    "done",
)
def repeated(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """What the end of the part or item says again."""
    return (), acc


@responses_table.on("response.output_item.added")
def item_added(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """An item begins."""
    out: Out = []
    at, item = index_of(event, acc), event.get("item") or {}
    if acc.over:
        return out, acc
    known = acc.items.get(at)
    if known is not None:
        if not known.done or item.get("id") in (None, known.id):
            return out, acc
        acc = moved(at, acc)  # a server that gives all items one index
    return out, open_item(at, item, acc, out)


@responses_table.on("response.content_part.added")
def part_added(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A part of a message begins; parts of reasoning items belong to the one thinking block."""
    out: Out = []
    kind = (event.get("part") or {}).get("type")
    if kind in ("output_text", "refusal") and not acc.over:
        acc = begin_part(index_of(event, acc), event.get("content_index") or 0, acc, out)[1]
    return out, acc


@responses_table.on("response.output_text.delta", "response.refusal.delta")
def text_delta(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A piece of text."""
    if acc.over:
        return (), acc
    out: Out = []
    at = index_of(event, acc)
    index, acc = begin_part(at, event.get("content_index") or 0, acc, out)
    delta = delta_of(event)
    if delta and index >= 0:
        out.append(StreamEvent("text_delta", delta, index=index))
        acc = streamed(at, acc)
    return out, acc


@responses_table.on("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
def thinking_delta(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A piece of a summary, or of the reasoning itself where the server shows it."""
    if acc.over:
        return (), acc
    out: Out = []
    at = index_of(event, acc)
    if at not in acc.items:
        acc = open_item(at, {"type": "reasoning"}, acc, out)
    item, delta = acc.items[at], delta_of(event)
    if delta and item.kind == "reasoning" and not item.done and not item.said:
        out.append(StreamEvent("thinking_delta", delta, index=item.parts[0][0]))
        acc = streamed(at, acc)
    return out, acc


@responses_table.on("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")
def call_delta(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A piece of a call's arguments."""
    at = index_of(event, acc)
    item, delta = acc.items.get(at), delta_of(event)
    if item is None or not delta or item.done or item.said or item.waiting or acc.over or item.kind not in CALLS:
        return (), acc
    return [call_event("tool_call_delta", item, delta)], streamed(at, acc)


@responses_table.on("response.output_text.done", "response.refusal.done")
def text_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """The text of a part of a message is whole."""
    out: Out = []
    if acc.over:
        return out, acc
    kind = "refusal" if event["type"] == "response.refusal.done" else "text"
    part = {"type": kind, kind: text_field(event, kind)}
    if part[kind]:
        acc = part_written(index_of(event, acc), event.get("content_index") or 0, part, acc, out)
    return out, acc


@responses_table.on("response.reasoning_summary_text.done", "response.reasoning_summary_part.done")
def summary_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A part of a summary is whole."""
    out: Out = []
    text = text_field(event, "text") or text_field(event.get("part") or {}, "text")
    if not acc.over:
        acc = thought(index_of(event, acc), "summary", event.get("summary_index") or 0, text, acc, out)
    return out, acc


@responses_table.on("response.reasoning_text.done")
def reasoning_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A part of the reasoning itself is whole."""
    out: Out = []
    if not acc.over:
        number = event.get("content_index") or 0
        acc = thought(index_of(event, acc), "content", number, text_field(event, "text"), acc, out)
    return out, acc


@responses_table.on("response.function_call_arguments.done", "response.custom_tool_call_input.done")
def call_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """The arguments of a call are whole."""
    out: Out = []
    custom = event["type"] == "response.custom_tool_call_input.done"
    call = {
        "type": "custom_tool_call" if custom else "function_call",
        "id": text_field(event, "item_id"),
        "name": text_field(event, "name"),
        "input" if custom else "arguments": event.get("input" if custom else "arguments"),
    }
    return out, acc if acc.over else call_written(index_of(event, acc), call, acc, out)


@responses_table.on("response.content_part.done")
def part_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A part of a message is whole."""
    out: Out = []
    at, number, part = index_of(event, acc), event.get("content_index") or 0, event.get("part") or {}
    item = acc.items.get(at)
    if acc.over:
        return out, acc
    if part.get("type") == "reasoning_text":
        acc = thought(at, "content", number, text_field(part, "text"), acc, out)
    elif item is None:
        acc = part_written(at, number, part, acc, out)
    elif item.kind == "message":
        acc = end_part(at, number, part, acc, out)
    return out, acc


@responses_table.on("response.output_item.done")
def item_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """An item is whole."""
    out: Out = []
    return out, acc if acc.over else close(index_of(event, acc), event.get("item") or {}, acc, out)


@responses_table.on("response.completed", "response.incomplete", "response.failed", "response.cancelled", "body")
def ended(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """The answer is over. The terminal event repeats the whole output; what no event has said before is said now."""
    if acc.over:
        return (), acc
    response = event.get("response")
    if not isinstance(response, Mapping):
        return [_ended(protocol_error("the answer is no response", response), acc, {})], _over(acc)
    acc = acc._replace(response_id=text_field(response, "id") or acc.response_id)
    out: Out = []
    output = response.get("output")
    taken: set[int] = set()
    ids = {known.id: at for at, known in acc.items.items()}
    for number, item in enumerate(output or ()):
        at = place(number, item, acc, taken, ids)
        taken.add(at)
        acc = close(at, item, acc, out)
    for at in acc.items:
        if not acc.items[at].done:
            acc = abandon(at, acc, out)
    out.append(_terminal(response, output, acc))
    return out, _over(acc)


@responses_table.on("error", "response.error", "server_error", "api_error")
def failed(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """An error in mid-stream; the fields are flat, or in ``error`` where a server copies its HTTP errors.

    The terminal event ``response.failed`` usually follows and has the rest; else the end of the connection ends the answer.
    """
    if acc.over:
        return (), acc
    body = event.get("error") or {k: v for k, v in event.items() if k != "type"}
    return (), acc._replace(error=stream_error(body))


@responses_table.on("eof")
def eof(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """The connection ended, which is an error before the terminal event."""
    if acc.over:
        return (), acc
    return [broken(acc, protocol_error("the stream ended without a terminal event"))], _over(acc)


def broken(acc: ResponsesState, error: ProviderError) -> StreamEvent:
    """The terminal event for a failure from outside the wire: the connection, a time-out, an abort."""
    return _ended(error if acc.error is None or error.kind is ErrorKind.aborted else acc.error, acc, {})


def _over(acc: ResponsesState) -> ResponsesState:
    return acc._replace(over=True)


def _terminal(response: Mapping[str, Any], output: Any, acc: ResponsesState) -> StreamEvent:
    status = response.get("status")
    if not isinstance(status, str):
        status = None
    error = response.get("error")
    if status == "failed" or error:
        return _ended(acc.error or stream_error(error or {"message": "the response failed"}), acc, response)
    if status == "cancelled":
        return _ended(ProviderError("the response was cancelled", kind=ErrorKind.aborted), acc, response)
    usage = response.get("usage")
    if status is None and not isinstance(output, list):
        return _ended(protocol_error("the answer is no response", response), acc, response)
    # A word of the server's own ("complete") beside output and usage is that of an answer that has ended.
    if status in _UNDER_WAY or (status not in _ENDS and not (isinstance(output, list) and isinstance(usage, Mapping))):
        return _ended(protocol_error(f"the response has the status {status!r}"), acc, response)
    return StreamEvent(
        "done",
        usage=responses_usage(usage) if isinstance(usage, Mapping) else None,
        stop_reason=_stop_reason(status, response.get("incomplete_details"), acc),
        raw_stop_reason=status,
        response_id=acc.response_id,
    )


def _stop_reason(status: str | None, details: Any, acc: ResponsesState) -> StopReason:
    if status == "incomplete":
        reason = details.get("reason") if isinstance(details, Mapping) else None
        return StopReason.refusal if reason == "content_filter" else StopReason.length
    items = acc.items.values()
    if any(item.kind in CALLS for item in items):
        return StopReason.tool_calls
    blocks = [block for item in items if item.kind == "message" for _, block in item.parts.values()]
    return StopReason.refusal if blocks and all(isinstance(b, RefusalBlock) for b in blocks) else StopReason.stop


def _ended(error: ProviderError, acc: ResponsesState, response: Mapping[str, Any]) -> StreamEvent:
    usage = response.get("usage")
    return StreamEvent(
        "error",
        error=error,
        usage=responses_usage(usage) if isinstance(usage, Mapping) else None,
        raw_stop_reason=response.get("status") if isinstance(response.get("status"), str) else None,
        response_id=acc.response_id,
    )
