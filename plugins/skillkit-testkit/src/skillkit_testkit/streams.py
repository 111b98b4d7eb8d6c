"""For tests of what decodes a wire: what is wrong with the events of an answer, and events with a mistake put in."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from skillkit_core.errors import ProviderError
from skillkit_core.messages import (
    AssistantMessage,
    Block,
    ImageBlock,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    message_from_dict,
    message_to_dict,
)
from skillkit_core.models import TokenUsage
from skillkit_core.stream import MessageBuilder, StreamEvent

__all__ = ["NONSENSE", "problems_of", "spoiled"]

_DEEP = "[" * 1_500 + "]" * 1_500
NONSENSE: Sequence[str] = (
    *(
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1",
        str(2**63),
        str(-(2**70)),
        "1" * 400,
        "1" * 5_000,
        "0.5",
        "-1.5",
        "1e308",
    ),
    *('""', '"x"', '"\\u0000"', '"\\ud800"', '"a\\udc00b"', '"0"', "[]", "{}", "[null]", "[[]]", "[{}]", "[1,2]"),
    *('{"a":null}', '{"type":null}', '{"text":1}', "NaN", "-Infinity", "1e999", "[" * 30 + "]" * 30, _DEEP),
)
"""JSON texts, and texts that nearly are, that no server should put where something else belongs."""


def spoiled(event: Any, dice: random.Random, names: Sequence[str] = ()) -> str:
    """``event``, a JSON value, as text with one to four mistakes: a field missing, added, or with nonsense in it.

    ``names``: of fields that may be added beside the event's own.
    """
    value = json.loads(json.dumps(event))
    put: list[str] = []
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        places = list(_places(value))
        if not places:
            break
        holder, key = dice.choice(places)
        put.append(dice.choice(NONSENSE))
        mark = f"\ue000{len(put) - 1}\ue000"
        way = dice.random()
        if way < 0.25 and isinstance(holder, dict):
            del holder[key]
        elif way < 0.35 and isinstance(holder, dict) and names:
            holder[dice.choice(names)] = mark
        else:
            holder[key] = mark
    text = json.dumps(value, ensure_ascii=False)
    for number, nonsense in enumerate(put):
        text = text.replace(f'"\ue000{number}\ue000"', nonsense)
    return text


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def problems_of(events: Sequence[StreamEvent]) -> list[str]:
    """What is wrong with the events of one answer, one line each; empty: everything that the contract says holds.

    One terminal event, at the end; blocks that start, grow and end, in order and under an index of their own; values of
    the declared types; counts of tokens that can be summed; a message that can be kept as JSON and read again.
    """
    out = [*_terminals(events), *_brackets(events)]
    builder = MessageBuilder()
    for event in events:
        out += _fields(event)
        builder.add(event)
    if not out:
        out += _message(builder.message())
    return out


def _terminals(events: Sequence[StreamEvent]) -> Iterator[str]:
    found = [n for n, e in enumerate(events) if e.terminal]
    if found != [len(events) - 1]:
        yield f"terminal events at {found} of {len(events)}, not one at the end"


def _brackets(events: Sequence[StreamEvent]) -> Iterator[str]:
    open_blocks: dict[int | None, str] = {}
    used: set[int | None] = set()
    for event in events:
        name, _, step = event.type.rpartition("_")
        if step == "start":
            if event.index in used:
                yield f"{event.type} for index {event.index}, which has had a block"
            open_blocks[event.index] = name
            used.add(event.index)
        elif step == "delta":
            if open_blocks.get(event.index) != name:
                yield f"{event.type} outside its block {event.index}"
            if not event.content:
                yield f"{event.type} without content"
        elif step == "end" and open_blocks.pop(event.index, None) != name:
            yield f"{event.type} for index {event.index}, where no such block is open"
    if events and events[-1].type == "done" and open_blocks:
        yield f"blocks that never end: {open_blocks}"


def _fields(event: StreamEvent) -> Iterator[str]:
    if type(event.content) is not str:
        yield f"content {event.content!r}"
    if event.index is not None and (type(event.index) is not int or event.index < 0):
        yield f"index {event.index!r}"
    for name in ("tool_name", "tool_call_id", "raw_stop_reason", "response_id"):
        if not isinstance(getattr(event, name), str | None):
            yield f"{name} {getattr(event, name)!r}"
    reason: Any = event.stop_reason
    if reason is not None and not isinstance(reason, StopReason):
        yield f"stop_reason {reason!r}"
    if event.usage is not None:
        yield from _usage(event.usage)
    if event.type == "error":
        error: Any = event.error
        if isinstance(error, ProviderError):
            str(error).encode()
            json.dumps(error.to_dict())
        else:
            yield f"error {error!r}"


def _usage(usage: TokenUsage) -> Iterator[str]:
    for name in ("input", "output", "cache_read", "cache_write", "reasoning"):
        count = getattr(usage, name)
        if type(count) is not int or not 0 <= count < 1e15:
            yield f"usage.{name} {count!r}"


def _message(message: AssistantMessage) -> Iterator[str]:
    for block in message.content:
        yield from _block(block)
    text = json.dumps(message_to_dict(message), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        yield "the message holds a lone surrogate"
    message_from_dict(json.loads(text))


def _block(block: Block) -> Iterator[str]:
    names: tuple[str, ...] = ()
    if isinstance(block, (TextBlock, RefusalBlock)):
        names = ("text",)
    elif isinstance(block, ThinkingBlock):
        names = ("thinking", "signature", "data")
    elif isinstance(block, ImageBlock):
        names = ("data", "url", "mime_type")
    elif isinstance(block, ToolCall):
        names = ("id", "name", "raw_args")
    for name in names:
        if not isinstance(getattr(block, name), str | None):
            yield f"{type(block).__name__}.{name} {getattr(block, name)!r}"
