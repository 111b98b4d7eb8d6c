"""The conversion of the Responses API, streamed or whole, into SkillKit's events: :data:`responses_table`.

The table is keyed by the wire's own event types. Three events are ours: ``body`` (``{"type": "body", "response": ...}``, an
answer that was not streamed), ``done`` (a ``[DONE]`` line, which some servers send) and ``eof`` (the connection ended).

One output item is one block, but a message item is one block per content part. Blocks are in order of first appearance.
``response.output_item.done`` and the terminal event repeat everything, so deltas are passed on and not kept.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import (
    Block,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
)
from skillkit_core.stream import StreamEvent, StreamTable

from .errors import protocol_error, stream_error
from .responses_blocks import CALLS, delta_of, item_block, part_block, text_field, text_of_block, thought_of, written
from .responses_state import Item, ResponsesState, index_of, moved, place
from .usage import responses_usage

__all__ = ["Item", "ResponsesState", "broken", "responses_table"]

log = logging.getLogger("skillkit_openai")
_ENDED = TextBlock("")  # of a part that ended without anybody saying what was in it


Converted: TypeAlias = tuple[Iterable[StreamEvent], ResponsesState]
Out: TypeAlias = list[StreamEvent]


def _unknown(kind: str) -> None:
    log.debug("ignored a Responses event of type %s", kind)


responses_table: StreamTable[ResponsesState] = StreamTable(on_unknown=_unknown)


@responses_table.on("response.created", "response.in_progress", "response.queued")
def begun(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """The answer has a name."""
    response = event.get("response") or {}
    return (), acc._replace(response_id=text_field(response, "id") or acc.response_id)


@responses_table.on(
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.refusal.done",
    "response.function_call_arguments.done",
    "response.custom_tool_call_input.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.done",
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
    return out, _open(at, item, acc, out)


@responses_table.on("response.content_part.added")
def part_added(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A part of a message begins; parts of reasoning items belong to the one thinking block."""
    out: Out = []
    kind = (event.get("part") or {}).get("type")
    if kind in ("output_text", "refusal") and not acc.over:
        acc = _part(index_of(event, acc), event.get("content_index") or 0, acc, out)[1]
    return out, acc


@responses_table.on("response.output_text.delta", "response.refusal.delta")
def text_delta(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A piece of text."""
    if acc.over:
        return (), acc
    out: Out = []
    index, acc = _part(index_of(event, acc), event.get("content_index") or 0, acc, out)
    delta = delta_of(event)
    if delta and index >= 0:
        out.append(StreamEvent("text_delta", delta, index=index))
    return out, acc


@responses_table.on("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
def thinking_delta(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A piece of a summary, or of the reasoning itself where the server shows it."""
    if acc.over:
        return (), acc
    out: Out = []
    at = index_of(event, acc)
    if at not in acc.items:
        acc = _open(at, {"type": "reasoning"}, acc, out)
    item, delta = acc.items[at], delta_of(event)
    if delta and item.kind == "reasoning" and not item.done:
        out.append(StreamEvent("thinking_delta", delta, index=item.parts[0][0]))
    return out, acc


@responses_table.on("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")
def call_delta(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A piece of a call's arguments."""
    item = acc.items.get(index_of(event, acc))
    delta = delta_of(event)
    if item is None or not delta or item.done or acc.over or item.kind not in CALLS:
        return (), acc
    return [_call_event("tool_call_delta", item, delta)], acc


@responses_table.on("response.content_part.done")
def part_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """A part of a message is whole."""
    out: Out = []
    at, number = index_of(event, acc), event.get("content_index") or 0
    item = acc.items.get(at)
    if item is not None and item.kind == "message" and not acc.over:
        acc = _end_part(at, number, event.get("part") or {}, acc, out)
    return out, acc


@responses_table.on("response.output_item.done")
def item_done(event: Mapping[str, Any], acc: ResponsesState) -> Converted:
    """An item is whole."""
    out: Out = []
    return out, acc if acc.over else _close(index_of(event, acc), event.get("item") or {}, acc, out)


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
    for number, item in enumerate(output or ()):
        at = place(number, item, acc, taken)
        taken.add(at)
        acc = _close(at, item, acc, out)
    for at in acc.items:
        if not acc.items[at].done:
            acc = _abandon(at, acc, out)
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


def _open(at: int, item: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    kind = text_field(item, "type") or "unknown"
    if kind == "message":
        new = Item(kind, {}, first=acc.next, id=text_field(item, "id"), phase=text_field(item, "phase"))
        return acc._replace(items={**acc.items, at: new}, next=acc.next + 1)
    index = acc.next
    id = text_field(item, "id")
    call_id = text_field(item, "call_id") or id
    new = Item(kind, {0: (index, None)}, text_field(item, "name"), call_id, id=id)
    if kind == "reasoning":
        out.append(StreamEvent("thinking_start", index=index))
    elif kind in CALLS:
        out.append(_call_event("tool_call_start", new))
    return acc._replace(items={**acc.items, at: new}, next=index + 1)


def _part(at: int, number: int, acc: ResponsesState, out: Out) -> tuple[int, ResponsesState]:
    """The block index of a part of a message, which begins if it has not; -1: nothing can be added to it."""
    item = acc.items.get(at)
    if item is not None:
        found = item.parts.get(number)
        if found is not None and found[1] is None and item.kind == "message":
            return found[0], acc
        if found is not None or item.done or item.kind != "message":
            return -1, acc
    else:
        item = Item("message", {})
    kept = not item.parts and item.first >= 0
    index = item.first if kept else acc.next
    out.append(StreamEvent("text_start", index=index))
    item = item._replace(parts={**item.parts, number: (index, None)})
    return index, acc._replace(items={**acc.items, at: item}, next=acc.next if kept else index + 1)


def _end_part(at: int, number: int, part: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """End a part of a message, or put it right where it says more than before."""
    block = part_block(part, acc.items[at].phase)
    if block is None:
        return acc
    new = number not in acc.items[at].parts
    if new:
        acc = _part(at, number, acc._replace(items={**acc.items, at: acc.items[at]._replace(done=False)}), out)[1]
    item = acc.items[at]
    index, before = item.parts[number]
    if new and block.text:
        out.append(StreamEvent("text_delta", block.text, index=index))
    if before is None:
        # An end without the text leaves what the deltas said.
        out.append(StreamEvent("text_end", index=index, block=block if block.text or new else None))
    elif block.text and before != block:
        out.append(StreamEvent("block", index=index, block=block))
    return acc._replace(items={**acc.items, at: item._replace(parts={**item.parts, number: (index, block)})})


def _close(at: int, item: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """End an item with what its end says; an item that ended before is put right where the terminal event says more."""
    if at in acc.items and acc.items[at].kind != (text_field(item, "type") or "unknown"):
        acc = _abandon(at, acc, out)  # the end of something else: both are kept
        acc = acc._replace(items={k: v for k, v in acc.items.items() if k != at})
    if at not in acc.items:
        acc = _open(at, item, acc, out)
        _whole(item, acc.items[at], out)
    known = acc.items[at]
    if known.kind == "message":
        if item.get("phase") and not known.phase:  # said at the end alone
            acc = acc._replace(items={**acc.items, at: known._replace(phase=text_field(item, "phase"))})
        parts = [(n, p) for n, p in enumerate(_content(item)) if part_block(p) is not None]
        if not known.parts.keys() <= {n for n, _ in parts}:  # a server that counts parts its own way
            numbers = sorted(known.parts)
            parts = [(numbers[i] if i < len(numbers) else numbers[-1] + 1 + i, p) for i, (_, p) in enumerate(parts)]
        for number, part in parts:
            acc = _end_part(at, number, part, acc, out)
        return _abandon(at, acc, out)
    index, before = known.parts[0]
    block = item_block(item)
    if before is None:
        out.append(_end_event(known, index, block))
    elif text_of_block(block) and text_of_block(block) != text_of_block(before):
        out.append(StreamEvent("block", index=index, block=block))
    return acc._replace(items={**acc.items, at: known._replace(parts={0: (index, block)}, done=True)})


def _content(item: Mapping[str, Any]) -> Iterable[Any]:
    """The parts of a message; some servers write its text alone."""
    content = item.get("content") or ()
    return [{"type": "output_text", "text": content}] if isinstance(content, str) else content


def _whole(item: Mapping[str, Any], known: Item, out: Out) -> None:
    """The deltas of an item that came in one piece."""
    if known.kind == "reasoning":
        text = thought_of(item)
        if text:
            out.append(StreamEvent("thinking_delta", text, index=known.parts[0][0]))
    elif known.kind in CALLS and written(item):
        out.append(_call_event("tool_call_delta", known, written(item)))


def _abandon(at: int, acc: ResponsesState, out: Out) -> ResponsesState:
    """End what is still open of an item, with what its deltas said."""
    item = acc.items[at]
    parts = dict(item.parts)
    for number, (index, block) in item.parts.items():
        if block is not None:
            continue
        if item.kind in CALLS:
            out.append(_call_event("tool_call_end", item))
        elif item.kind in ("message", "reasoning"):
            out.append(StreamEvent("text_end" if item.kind == "message" else "thinking_end", index=index))
        parts[number] = (index, _ENDED)
    return acc._replace(items={**acc.items, at: item._replace(parts=parts, done=True)})


def _end_event(item: Item, index: int, block: Block) -> StreamEvent:
    if isinstance(block, ThinkingBlock):
        return StreamEvent("thinking_end", index=index, block=block)
    if isinstance(block, ToolCall):
        return StreamEvent("tool_call_end", tool_name=block.name, tool_call_id=block.id, index=index, block=block)
    return StreamEvent("block", index=index, block=block)


def _call_event(kind: Any, item: Item, text: str = "") -> StreamEvent:
    return StreamEvent(kind, text, tool_name=item.name, tool_call_id=item.call_id, index=item.parts[0][0])


def _terminal(response: Mapping[str, Any], output: Any, acc: ResponsesState) -> StreamEvent:
    status = response.get("status")
    if not isinstance(status, str):
        status = None
    error = response.get("error")
    if status == "failed" or error:
        return _ended(acc.error or stream_error(error or {"message": "the response failed"}), acc, response)
    if status == "cancelled":
        return _ended(ProviderError("the response was cancelled", kind=ErrorKind.aborted), acc, response)
    if status not in ("completed", "incomplete") and not (status is None and isinstance(output, list)):
        if status is None:
            return _ended(protocol_error("the answer is no response", response), acc, response)
        return _ended(protocol_error(f"the response has the status {status!r}"), acc, response)
    usage = response.get("usage")
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
