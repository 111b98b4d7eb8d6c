"""What happens to the output items of a Responses answer: they begin, grow, and end, each with its events.

An item that no delta spoke of is said by the first event that has it whole; whatever repeats it afterwards says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from skillkit_core.messages import Block, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import StreamEvent

from .responses_blocks import CALLS, item_block, part_block, text_field, text_of_block, thought_of, written
from .responses_state import Item, ResponsesState
from .versions import Versions

__all__ = [
    "Out",
    "abandon",
    "begin_part",
    "call_event",
    "call_written",
    "close",
    "end_part",
    "open_item",
    "part_written",
    "streamed",
    "thought",
]

Out: TypeAlias = list[StreamEvent]

_ENDED = TextBlock("")  # of a part that ended without anybody saying what was in it


def _with(at: int, item: Item, acc: ResponsesState) -> ResponsesState:
    return acc._replace(items=acc.items.plus(at, item))


def streamed(at: int, acc: ResponsesState) -> ResponsesState:
    """With the item ``at`` said by deltas, which ``*.done`` events only repeat."""
    item = acc.items[at]
    return acc if item.streamed else _with(at, item._replace(streamed=True), acc)


def open_item(at: int, item: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """Begin an item."""
    kind = text_field(item, "type") or "unknown"
    if kind == "message":
        new = Item(kind, {}, first=acc.next, id=text_field(item, "id"), phase=text_field(item, "phase"))
        return _with(at, new, acc._replace(next=acc.next + 1))
    index = acc.next
    id = text_field(item, "id")
    call_id = text_field(item, "call_id") or id
    new = Item(kind, {0: (index, None)}, text_field(item, "name"), call_id, id=id)
    if kind == "reasoning":
        out.append(StreamEvent("thinking_start", index=index))
    elif kind in CALLS:
        out.append(call_event("tool_call_start", new))
    return _with(at, new, acc._replace(next=index + 1))


def begin_part(at: int, number: int, acc: ResponsesState, out: Out) -> tuple[int, ResponsesState]:
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
    return index, _with(at, item, acc if kept else acc._replace(next=index + 1))


def end_part(at: int, number: int, part: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """End a part of a message, or put it right where it says more than before."""
    block = part_block(part, acc.items[at].phase)
    if block is None:
        return acc
    new = number not in acc.items[at].parts
    if new:
        acc = begin_part(at, number, _with(at, acc.items[at]._replace(done=False), acc), out)[1]
    item = acc.items[at]
    index, before = item.parts[number]
    if block.text and (new or (before is None and not item.streamed)):
        out.append(StreamEvent("text_delta", block.text, index=index))
    if before is None:
        # An end without the text leaves what the deltas said.
        out.append(StreamEvent("text_end", index=index, block=block if block.text or new else None))
    elif block.text and before != block:
        out.append(StreamEvent("block", index=index, block=block))
    return _with(at, item._replace(parts={**item.parts, number: (index, block)}), acc)


def part_written(at: int, number: int, part: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """A part of a message that came whole, where no delta has said it."""
    item = acc.items.get(at)
    if item is None:
        if part_block(part) is None:
            return acc
        acc = open_item(at, {"type": "message"}, acc, out)
        item = acc.items[at]
    if item.kind != "message" or item.streamed or item.done or item.parts.get(number, (0, None))[1] is not None:
        return acc
    return end_part(at, number, part, acc, out)


def thought(at: int, of: str, number: int, text: str, acc: ResponsesState, out: Out) -> ResponsesState:
    """A part of the reasoning that came whole, where no delta has said it.

    ``of``: ``summary`` or ``content``; whichever comes first is what is said.
    """
    if not text:
        return acc
    if at not in acc.items:
        acc = open_item(at, {"type": "reasoning"}, acc, out)
    item = acc.items[at]
    if item.kind != "reasoning" or item.streamed or item.done or any(o != of or n == number for o, n in item.said):
        return acc
    out.append(StreamEvent("thinking_delta", text, index=item.parts[0][0]))
    return _with(at, item._replace(said=item.said | {(of, number)}), acc)


def call_written(at: int, call: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """The arguments of a call that came whole, where no delta has said them.

    A call that nobody announced waits for the end of its item, which has the id that its result goes to; where none comes
    it is made of what is known.
    """
    item = acc.items.get(at)
    if item is None:
        if not text_field(call, "name") and not written(call):
            return acc
        kind, id = text_field(call, "type"), text_field(call, "id")
        return _with(at, Item(kind, {}, id=id, waiting=call), acc)
    if item.kind not in CALLS or item.streamed or item.said or item.done or item.waiting or not written(call):
        return acc
    out.append(call_event("tool_call_delta", item, written(call)))
    return _with(at, item._replace(said=frozenset({("arguments", 0)})), acc)


def close(at: int, item: Mapping[str, Any], acc: ResponsesState, out: Out) -> ResponsesState:
    """End an item with what its end says; an item that ended before is put right where the terminal event says more."""
    if at in acc.items and acc.items[at].kind != (text_field(item, "type") or "unknown"):
        acc = abandon(at, acc, out)  # the end of something else: both are kept
        acc = acc._replace(items=Versions({k: v for k, v in acc.items.items() if k != at}))
    waiting = acc.items[at].waiting if at in acc.items else None
    if waiting:
        item = {**waiting, **item}
    if at not in acc.items or waiting:
        acc = open_item(at, item, acc, out)
    known = acc.items[at]
    if known.kind == "message":
        if item.get("phase") and not known.phase:  # said at the end alone
            acc = _with(at, known._replace(phase=text_field(item, "phase")), acc)
        parts = [(n, p) for n, p in enumerate(_content(item)) if part_block(p) is not None]
        if not known.parts.keys() <= {n for n, _ in parts}:  # a server that counts parts its own way
            numbers = sorted(known.parts)
            parts = [(numbers[i] if i < len(numbers) else numbers[-1] + 1 + i, p) for i, (_, p) in enumerate(parts)]
        for number, part in parts:
            acc = end_part(at, number, part, acc, out)
        return abandon(at, acc, out)
    index, before = known.parts[0]
    block = item_block(item)
    if before is None:
        if not known.streamed and not known.said:
            _whole(item, known, out)
        out.append(_end_event(known, index, block))
    elif text_of_block(block) and text_of_block(block) != text_of_block(before):
        out.append(StreamEvent("block", index=index, block=block))
    return _with(at, known._replace(parts={0: (index, block)}, done=True), acc)


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
        out.append(call_event("tool_call_delta", known, written(item)))


def abandon(at: int, acc: ResponsesState, out: Out) -> ResponsesState:
    """End what is still open of an item, with what its deltas said."""
    item = acc.items[at]
    if item.waiting:
        return close(at, item.waiting, acc, out)
    parts = dict(item.parts)
    for number, (index, block) in item.parts.items():
        if block is not None:
            continue
        if item.kind in CALLS:
            out.append(call_event("tool_call_end", item))
        elif item.kind in ("message", "reasoning"):
            out.append(StreamEvent("text_end" if item.kind == "message" else "thinking_end", index=index))
        parts[number] = (index, _ENDED)
    return _with(at, item._replace(parts=parts, done=True), acc)


def _end_event(item: Item, index: int, block: Block) -> StreamEvent:
    if isinstance(block, ThinkingBlock):
        return StreamEvent("thinking_end", index=index, block=block)
    if isinstance(block, ToolCall):
        return StreamEvent("tool_call_end", tool_name=block.name, tool_call_id=block.id, index=index, block=block)
    return StreamEvent("block", index=index, block=block)


def call_event(kind: Any, item: Item, text: str = "") -> StreamEvent:
    """An event of a call that has begun."""
    return StreamEvent(kind, text, tool_name=item.name, tool_call_id=item.call_id, index=item.parts[0][0])
