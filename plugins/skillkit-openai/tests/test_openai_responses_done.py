"""Responses of servers that send no deltas: what only the ``*.done`` events say is said, and never twice."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from skillkit_openai import OpenAIResponsesAdapter
from skillkit_transport import SSEDecoder

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import AssistantMessage, RefusalBlock, StopReason, ThinkingBlock, ToolCall, UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

MODEL = ModelDefinition("m")
THOUGHTS = ("First. ", "Then.")
TEXT, CODE, ARGUMENTS = "Hello there.", "print(1)", '{"a": 1}'
PARTS = [{"type": "summary_text", "text": t} for t in THOUGHTS]
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs", "summary": PARTS, "encrypted_content": "E"},
    {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": TEXT}]},
    {"type": "function_call", "id": "fc", "call_id": "call", "name": "look", "arguments": ARGUMENTS},
    {"type": "custom_tool_call", "id": "ctc", "call_id": "custom", "name": "run", "input": CODE},
]


def event(kind: str, at: int, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": at, "item_id": ITEMS[at]["id"], **fields}


def said(ending: str, field: str) -> list[list[dict[str, Any]]]:
    """What each item says, in events that end in ``ending``: ``delta`` or ``done``."""
    return [
        [
            event(f"reasoning_summary_text.{ending}", 0, summary_index=n, **{field or "text": t})
            for n, t in enumerate(THOUGHTS)
        ],
        [event(f"output_text.{ending}", 1, content_index=0, **{field or "text": TEXT})],
        [event(f"function_call_arguments.{ending}", 2, **{field or "arguments": ARGUMENTS})],
        [event(f"custom_tool_call_input.{ending}", 3, **{field or "input": CODE})],
    ]


CALLS_DONE = ("response.function_call_arguments.done", "response.custom_tool_call_input.done")
DELTAS, DONE = said("delta", "delta"), said("done", "")
PARTS_DONE = [
    [event("reasoning_summary_part.done", 0, summary_index=n, part=p) for n, p in enumerate(PARTS)],
    [event("content_part.done", 1, content_index=0, part=ITEMS[1]["content"][0])],
    [],
    [],
]
BEGUN = [
    {**i, **{k: v for k, v in (("summary", []), ("content", []), ("arguments", ""), ("input", "")) if k in i}}
    for i in ITEMS
]


def last(output: Any = None, status: str = "completed") -> dict[str, Any]:
    return {"type": "response.completed", "response": {"id": "r", "status": status, "output": output}}


def played(loopback: Any, *events: Any) -> tuple[AssistantMessage, list[StreamEvent]]:
    async def main() -> list[StreamEvent]:
        async with loopback() as server:
            server.sse(*events)
            adapter = OpenAIResponsesAdapter(None, base_url=server.url)
            seen = [e async for e in adapter.stream(LLMRequest(MODEL, [UserMessage(content="hi")]))]
            await adapter.close()
        return seen

    return told(asyncio.run(main()))


def told(events: list[StreamEvent]) -> tuple[AssistantMessage, list[StreamEvent]]:
    builder = MessageBuilder()
    for e in events:
        builder.add(e)
    return builder.message(), events


def streamed(events: list[StreamEvent], kind: str) -> str:
    """What somebody who watches the stream has read."""
    return "".join(e.content for e in events if e.type == f"{kind}_delta")


@pytest.mark.parametrize("output", [None, [], ITEMS], ids=["no output", "empty output", "full output"])
@pytest.mark.parametrize("ends", [True, False], ids=["items end", "items do not end"])
@pytest.mark.parametrize("parts", [True, False], ids=["parts end", "parts do not end"])
@pytest.mark.parametrize("deltas", [True, False], ids=["deltas", "no deltas"])
def test_every_event_that_has_something_whole_says_it_once(
    deltas: bool, parts: bool, ends: bool, output: Any, loopback: Any
) -> None:
    stream: list[dict[str, Any]] = []
    for at, item in enumerate(ITEMS):
        stream.append(event("output_item.added", at, item=BEGUN[at]))
        stream += [*(DELTAS[at] if deltas else ()), *DONE[at], *(PARTS_DONE[at] if parts else ())]
        stream += [event("output_item.done", at, item=item)] if ends else []

    message, events = played(loopback, *stream, last(output))

    thought, _, call, custom = message.content
    assert isinstance(thought, ThinkingBlock)
    assert isinstance(call, ToolCall)
    assert isinstance(custom, ToolCall)
    assert (thought.thinking, message.text) == ("".join(THOUGHTS), TEXT)
    assert (call.id, call.name, call.args) == ("call", "look", {"a": 1})
    assert (custom.id, custom.name, custom.raw_args) == ("custom", "run", CODE)
    assert message.stop_reason is StopReason.tool_calls
    assert streamed(events, "thinking") == "".join(THOUGHTS)
    assert streamed(events, "text") == TEXT
    assert streamed(events, "tool_call") == ARGUMENTS + CODE


@pytest.mark.parametrize("output", [None, ITEMS[:3]], ids=["no output", "full output"])
@pytest.mark.parametrize("ends", [True, False], ids=["items end", "items do not end"])
def test_items_that_nobody_announced_are_said_all_the_same(ends: bool, output: Any, loopback: Any) -> None:
    done = [DONE[0], DONE[1], [{**DONE[2][0], "name": "look"}]]
    stream = [
        x for at in range(3) for x in (*done[at], *([event("output_item.done", at, item=ITEMS[at])] if ends else []))
    ]

    message, events = played(loopback, *stream, last(output))

    assert [b.type for b in message.content] == ["thinking", "text", "tool_call"]
    call = message.tool_calls[0]
    assert (call.id, call.name, call.args) == ("call" if ends or output else "fc", "look", {"a": 1})
    assert [e.tool_call_id for e in events if e.type.startswith("tool_call")] == [call.id] * 3
    assert (streamed(events, "thinking"), streamed(events, "text")) == ("".join(THOUGHTS), TEXT)
    assert streamed(events, "tool_call") == ARGUMENTS


def test_a_call_whose_name_nobody_says_is_kept_without_one(loopback: Any) -> None:
    message, events = played(loopback, *DONE[1], *DONE[2], last())

    assert [b.type for b in message.content] == ["text", "tool_call"]
    assert [(c.id, c.name, c.args) for c in message.tool_calls] == [("fc", "", {"a": 1})]
    assert events[-1].stop_reason is StopReason.tool_calls


def test_arguments_that_are_whole_before_their_item_begins_wait_for_its_end(loopback: Any) -> None:
    other = {**DONE[2][0], "name": "look"}
    late = event("function_call_arguments.delta", 2, delta=ARGUMENTS)

    message, events = played(loopback, other, late, event("output_item.done", 2, item=ITEMS[2]), last())

    assert [(c.id, c.raw_args) for c in message.tool_calls] == [("call", ARGUMENTS)]
    assert streamed(events, "tool_call") == ARGUMENTS


def test_reasoning_that_is_shown_itself_is_said_once(loopback: Any) -> None:
    item = {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    stream = [
        event("reasoning_text.done", 0, content_index=0, text="Hm."),
        event("content_part.done", 0, content_index=0, part=item["content"][0]),
        event("reasoning_summary_text.done", 0, summary_index=0, text="In short: hm."),
    ]

    message, events = played(loopback, *stream, *DONE[1], last())

    assert [b.type for b in message.content] == ["thinking", "text"]
    assert streamed(events, "thinking") == "Hm."


def test_a_refusal_that_comes_whole_is_a_refusal(loopback: Any) -> None:
    refused = event("refusal.done", 1, content_index=0, refusal="I cannot.")

    message, events = played(loopback, refused, last())

    assert message.content == (RefusalBlock("I cannot."),)
    assert (message.stop_reason, streamed(events, "text")) == (StopReason.refusal, "I cannot.")


def test_sources_that_come_with_the_end_of_a_text_are_kept(loopback: Any) -> None:
    source = {"type": "url_citation", "url": "https://x.example", "start_index": 0, "end_index": 5}
    cited = event("content_part.done", 1, content_index=0, part={**ITEMS[1]["content"][0], "annotations": [source]})

    message, events = played(loopback, *DONE[1], cited, last())

    assert (message.text, streamed(events, "text")) == (TEXT, TEXT)
    assert dict(message.content[0].citations[0]) == source  # type: ignore[union-attr]


@pytest.mark.parametrize("ends", [True, False], ids=["items end", "items do not end"])
def test_recorded_streams_say_the_same_without_their_deltas(ends: bool, cases: list[Any]) -> None:
    """Nor does the terminal event help: its output is taken out."""
    adapter = OpenAIResponsesAdapter(None, base_url="http://localhost/v1")

    def read(events: list[dict[str, Any]]) -> tuple[AssistantMessage, list[StreamEvent]]:
        acc, out = adapter.start(), []
        for value in events:
            more, acc = adapter.convert(value, acc)
            out.extend(more)
        return told(out)

    count = 0
    for case in cases:
        if case.api != "openai-responses" or not case.stream or case.provider != "openai":
            continue
        decoder = SSEDecoder()
        lines = [data for _, data in [*decoder.feed(case.body), *decoder.close()] if data[:1] == b"{"]
        usual, _ = read([json.loads(line) for line in lines])
        left = [json.loads(line) for line in lines]
        left = [e for e in left if not str(e.get("type")).endswith(".delta")]
        left = [e for e in left if ends or e.get("type") != "response.output_item.done"]
        for value in left:
            if value.get("type") == "response.completed":
                value["response"]["output"] = []
        whole = [e for e in left if e.get("type") in CALLS_DONE]
        if usual.stop_reason not in (StopReason.stop, StopReason.tool_calls):
            continue
        if not ends and len(whole) != len(usual.tool_calls):  # a recording without them
            continue
        count += 1
        got, events = read(left)
        assert got.text == usual.text, case.id
        assert [(c.id, c.name, c.raw_args) for c in got.tool_calls] == [
            (c.id, c.name, c.raw_args) for c in usual.tool_calls
        ], case.id
        thoughts = ["".join(b.thinking for b in m.content if isinstance(b, ThinkingBlock)) for m in (got, usual)]
        assert thoughts[0] == thoughts[1], case.id
        assert streamed(events, "text") == usual.text, case.id
    assert count > 60
