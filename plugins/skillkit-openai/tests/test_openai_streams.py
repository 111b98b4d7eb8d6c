"""The conversion tables by themselves: pure, indifferent to how an answer is cut into events, legal after every prefix."""

from __future__ import annotations

import asyncio
import copy
import gc
import itertools
import json
import sys
import tracemalloc
from collections.abc import Iterable
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings, strategies as st
from skillkit_openai import ChatReader, OpenAIAdapter, OpenAIResponsesAdapter, chat_table, responses_table, tag
from skillkit_openai.reader import Reader
from skillkit_openai.responses_stream import ResponsesState
from skillkit_openai.versions import Versions
from skillkit_transport import SSEDecoder, Watch, decode, encode

from skillkit_core.abort import AbortSignal
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import AssistantMessage, RefusalBlock, StopReason, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import MessageBuilder, StreamEvent, StreamTable

FEW = settings(deadline=None)
words = st.text(min_size=1, max_size=12)
arguments = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=8) | st.none(), max_size=3)


def pieces(text: str, cuts: Iterable[int]) -> list[str]:
    """``text`` cut at the given places."""
    at = [0, *sorted({c % (len(text) + 1) for c in cuts}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(at) if a < b]


@st.composite
def answers(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Parts of an answer: thinking, then text, then calls, each optional."""
    parts: list[tuple[str, Any]] = []
    if draw(st.booleans()):
        parts.append(("thinking", draw(words)))
    kind = draw(st.sampled_from(["text", "refusal", None]))
    if kind:
        parts.append((kind, draw(words)))
    for number in range(draw(st.integers(0, 3))):
        parts.append(("call", (f"call_{number}", draw(st.sampled_from(["add", "find"])), json.dumps(draw(arguments)))))
    return parts


@st.composite
def chat_streams(draw: st.DrawFn) -> tuple[list[tuple[str, Any]], list[dict[str, Any]]]:
    """An answer, and chunks that say it."""
    parts = draw(answers())
    cuts = st.lists(st.integers(0, 50), max_size=4)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    field = {
        "thinking": draw(st.sampled_from(["reasoning_content", "reasoning", "reasoning_text"])),
        "text": "content",
        "refusal": "refusal",
    }
    at = 0
    for kind, value in parts:
        if kind != "call":
            deltas += [{field[kind]: p} for p in pieces(value, draw(cuts))]
            continue
        id, name, raw = value
        deltas.append(
            {"tool_calls": [{"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}
        )
        deltas += [{"tool_calls": [{"index": at, "function": {"arguments": p}}]} for p in pieces(raw, draw(cuts))]
        at += 1
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if at else "stop"}]})
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
    return parts, [*chunks, {"id": "c", "choices": [], "usage": usage}]


@st.composite
def responses_streams(draw: st.DrawFn) -> tuple[list[tuple[str, Any]], list[dict[str, Any]]]:
    """An answer, and the events of the Responses API that say it; some servers leave deltas out."""
    parts = draw(answers())
    cuts = st.lists(st.integers(0, 50), max_size=4)
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r"}}]
    output: list[dict[str, Any]] = []
    for at, (kind, value) in enumerate(parts):
        item, started, delta, text = _item(kind, value, at)
        events.append({"type": "response.output_item.added", "output_index": at, "item": started})
        place = {"output_index": at, "content_index": 0, "item_id": item["id"]}
        if draw(st.booleans()):
            events += [{"type": delta, **place, "delta": p} for p in pieces(text, draw(cuts))]
        if draw(st.booleans()):
            field = {"call": "arguments", "refusal": "refusal"}.get(kind, "text")
            events.append({"type": delta.replace(".delta", ".done"), **place, field: text})
        if draw(st.booleans()):
            events.append({"type": "response.output_item.done", "output_index": at, "item": item})
        if draw(st.booleans()):
            events.append({"type": "keepalive"})
        output.append(item)
    usage = {"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}
    done = {"id": "r", "status": "completed", "output": output, "usage": usage}
    return parts, [*events, {"type": "response.completed", "response": done}]


def _item(kind: str, value: Any, at: int) -> tuple[dict[str, Any], dict[str, Any], str, str]:
    id = f"item_{at}"
    if kind == "thinking":
        item = {"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": value}]}
        return item, {**item, "summary": []}, "response.reasoning_summary_text.delta", value
    if kind == "call":
        call, name, raw = value
        item = {"id": id, "type": "function_call", "call_id": call, "name": name, "arguments": raw}
        return item, {**item, "arguments": ""}, "response.function_call_arguments.delta", raw
    part = {"type": "output_text", "text": value} if kind == "text" else {"type": "refusal", "refusal": value}
    item = {"id": id, "type": "message", "role": "assistant", "content": [part]}
    delta = "response.output_text.delta" if kind == "text" else "response.refusal.delta"
    return item, {**item, "content": []}, delta, value


def fold(events: Iterable[StreamEvent]) -> AssistantMessage:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder.message()


def parts_of(message: AssistantMessage) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for block in message.content:
        if isinstance(block, ThinkingBlock):
            out.append(("thinking", block.thinking))
        elif isinstance(block, TextBlock):
            out.append(("text", block.text))
        elif isinstance(block, RefusalBlock):
            out.append(("refusal", block.text))
        elif isinstance(block, ToolCall):
            out.append(("call", (block.id, block.name, block.raw_args)))
            assert block.args == json.loads(block.raw_args)
    return out


def run(table: StreamTable[Any], events: list[dict[str, Any]], acc: Any) -> list[StreamEvent]:
    return table.replay(copy.deepcopy(events), acc)[0]


def chat_events(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [tag(copy.deepcopy(c)) for c in chunks]


@FEW
@given(chat_streams())
def test_chat_chunks_say_the_answer_however_they_are_cut(stream: tuple[Any, Any]) -> None:
    parts, chunks = stream
    events = run(chat_table, [*chat_events(chunks), {"type": "done"}], ChatReader())
    message = fold(events)
    assert parts_of(message) == parts
    assert [e.type for e in events if e.terminal] == ["done"]
    assert events[-1].terminal
    assert (message.usage.input, message.usage.cache_read, message.usage.output) == (6, 4, 5)
    calls = any(kind == "call" for kind, _ in parts)
    assert message.stop_reason is (
        StopReason.tool_calls if calls else StopReason.refusal if ("refusal" in dict(parts)) else StopReason.stop
    )


@FEW
@given(responses_streams())
def test_responses_events_say_the_answer_whatever_the_server_leaves_out(stream: tuple[Any, Any]) -> None:
    parts, raw = stream
    events = run(responses_table, raw, ResponsesState())
    message = fold(events)
    assert parts_of(message) == parts
    said = "".join(v for kind, v in parts if kind in ("text", "refusal"))
    assert "".join(e.content for e in events if e.type == "text_delta") == said
    assert [e.type for e in events if e.terminal] == ["done"]
    assert (message.usage.input, message.usage.cache_read, message.usage.output) == (6, 4, 5)


@pytest.mark.spec("9.43")
@FEW
@given(chat_streams(), st.integers(0, 100))
def test_a_cut_chat_stream_is_a_prefix_and_one_protocol_error(stream: tuple[Any, Any], cut: int) -> None:
    parts, chunks = stream
    events = run(chat_table, [*chat_events(chunks[: cut % (len(chunks) - 1)]), {"type": "eof"}], ChatReader())
    _check_cut(parts, events)


@pytest.mark.spec("9.43")
@FEW
@given(responses_streams(), st.integers(0, 100))
def test_a_cut_responses_stream_is_a_prefix_and_one_protocol_error(stream: tuple[Any, Any], cut: int) -> None:
    parts, raw = stream
    events = run(responses_table, [*raw[: cut % len(raw)], {"type": "eof"}], ResponsesState())
    _check_cut(parts, events)


def _check_cut(parts: list[tuple[str, Any]], events: list[StreamEvent]) -> None:
    message = fold(events)
    assert [e.type for e in events if e.terminal] == ["error"]
    assert message.stop_reason is StopReason.error
    said = "".join(v for k, v in parts if k in ("text", "refusal"))
    assert said.startswith("".join(b.text for b in message.content if isinstance(b, (TextBlock, RefusalBlock))))
    for call in message.tool_calls:
        assert call.args is not None or call.incomplete


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "tool_calls", "index", "id", "function", "usage", "error", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
typed = st.builds(
    lambda kind, value: {**value, "type": kind} if isinstance(value, dict) else value,
    st.sampled_from(sorted(responses_table.types)),
    json_values | st.fixed_dictionaries({"response": json_values, "item": json_values, "output_index": json_values}),
)


@pytest.mark.spec("9.43")
@pytest.mark.parametrize("adapter_class", [OpenAIAdapter, OpenAIResponsesAdapter])
@FEW
@given(data=st.lists(st.binary(max_size=30) | json_values.map(encode) | typed.map(encode), max_size=6))
def test_whatever_a_server_sends_the_stream_ends_with_one_terminal_event(adapter_class: Any, data: list[bytes]) -> None:
    async def main() -> list[StreamEvent]:
        watch = Watch(AbortSignal())
        adapter = adapter_class(None, base_url="http://localhost/v1")
        body = b"".join(b"data: " + d.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n\n" for d in data)
        response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
        reader, acc, out = Reader(adapter, response, watch, True), adapter.start(), []
        while not any(e.terminal for e in out):
            events, acc = await reader.next(acc)
            out.extend(events)
        watch.close()
        return out

    events = asyncio.run(main())
    assert len([e for e in events if e.terminal]) == 1
    fold(events)


@FEW
@given(chat_streams())
def test_a_reader_changes_nothing_of_what_it_reads(stream: tuple[Any, Any]) -> None:
    reader = ChatReader()
    for event in [*chat_events(stream[1]), {"type": "done"}]:
        before = copy.deepcopy(event)
        events, again = chat_table.convert(event, reader)
        assert again is reader and event == before and all(isinstance(e, StreamEvent) for e in events)


@FEW
@given(responses_streams())
def test_the_responses_table_is_pure(stream: tuple[Any, Any]) -> None:
    acc = ResponsesState()
    for event in stream[1]:
        before = copy.deepcopy(event)
        first, second = responses_table.convert(event, acc), responses_table.convert(event, acc)
        assert list(first[0]) == list(second[0])
        assert first[1] == second[1]
        assert event == before
        acc = first[1]


@FEW
@given(chat_streams())
def test_an_answer_that_is_not_streamed_gives_the_same_message(stream: tuple[Any, Any]) -> None:
    parts, _ = stream
    values = dict(parts)
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": raw}}
        for kind, (id, name, raw) in ((k, v) for k, v in parts if k == "call")
    ]
    message = {"content": values.get("text"), "reasoning": values.get("thinking"), "refusal": values.get("refusal")}
    body = {"choices": [{"index": 0, "message": {**message, "tool_calls": calls}, "finish_reason": "stop"}]}
    events, _ = OpenAIAdapter(None, base_url="http://localhost/v1").whole(body, ChatReader())
    assert parts_of(fold(events)) == parts


def test_recorded_streams_convert_purely(cases: list[Any]) -> None:
    adapter = OpenAIResponsesAdapter(None, base_url="http://localhost/v1")
    count = 0
    for case in cases:
        if case.api != "openai-responses" or not case.stream or len(case.body) > 20_000:
            continue
        count += 1
        decoder, acc = SSEDecoder(), adapter.start()
        for _, data in [*decoder.feed(case.body), *decoder.close()]:
            if data[:6] == b"[DONE]":
                continue
            first, second = adapter.convert(decode(data), acc), adapter.convert(decode(data), acc)
            assert [(e.type, e.content, e.block) for e in first[0]] == [(e.type, e.content, e.block) for e in second[0]]
            acc = first[1]
    assert count > 80


def test_calls_that_share_an_index_are_told_apart_by_id() -> None:
    chunks = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": i, "function": {"name": "f", "arguments": "{}"}}]}}]}
        for i in ("a", "b")
    ]
    message = fold(run(chat_table, [*chat_events(chunks), {"type": "done"}], ChatReader()))
    assert [c.id for c in message.tool_calls] == ["a", "b"]


def test_a_length_stop_marks_the_call_that_was_cut() -> None:
    calls = [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x": 1'}}]
    chunks = [{"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "length"}]}]
    message = fold(run(chat_table, [*chat_events(chunks), {"type": "done"}], ChatReader()))
    assert message.stop_reason is StopReason.length
    assert (message.tool_calls[0].args, message.tool_calls[0].incomplete) == (None, True)


def test_arguments_that_are_not_an_object_are_kept_as_text() -> None:
    calls = [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "[1, NaN]"}}]
    chunks = [{"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}]
    call = fold(run(chat_table, [*chat_events(chunks), {"type": "done"}], ChatReader())).tool_calls[0]
    assert (call.args, call.raw_args, call.incomplete) == (None, "[1, NaN]", False)


def test_an_error_in_a_choice_is_the_error_of_the_answer() -> None:
    choice = {
        "index": 0,
        "delta": {"content": "Hel"},
        "finish_reason": "error",
        "error": {"code": 502, "message": "down"},
    }
    events = run(chat_table, chat_events([{"choices": [choice]}]), ChatReader())
    error = events[-1].error
    assert isinstance(error, ProviderError)
    assert (error.kind, error.message) == (ErrorKind.server, "down")
    assert fold(events).text == "Hel"


def test_an_item_that_the_terminal_event_forgets_is_kept() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "add", "arguments": ""}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a": 1}'},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    got = run(responses_table, events, ResponsesState())
    assert [e.type for e in got][-2:] == ["tool_call_end", "done"]
    assert fold(got).tool_calls[0].args == {"a": 1}
    assert fold(got).stop_reason is StopReason.tool_calls


def chunk(**delta: Any) -> dict[str, Any]:
    return tag({"id": "x", "choices": [{"index": 0, "delta": delta}]})


NUMBERED = {  # what the first and the second fragment of a call say of it, beside a name and arguments
    "by an index": lambda n: ({"index": n, "id": f"c{n}"}, {"index": n}),
    "by an index from 1 on": lambda n: ({"index": n + 1, "id": f"c{n}"}, {"index": n + 1}),
    "without an index": lambda n: ({"id": f"c{n}"}, {}),
    "without an index and with the id again": lambda n: ({"id": f"c{n}"}, {"id": f"c{n}"}),
    "without an index and an id for every fragment": lambda n: ({"id": f"c{n}"}, {"id": f"d{n}"}),
    "without an index and without an id": lambda n: ({}, {}),
    "with one index": lambda n: ({"index": 0, "id": f"c{n}"}, {"index": 0, "id": f"c{n}"}),
    "with an index in the second fragment": lambda n: ({"id": f"c{n}"}, {"index": 0}),
}


def lines_of_calls(size: int, how: str) -> int:
    """How many lines of Python an answer with so many calls takes."""
    lines = 0

    def counted(frame: Any, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return counted

    chunks = []
    for n in range(size):
        for said, function in zip(
            NUMBERED[how](n), ({"name": "add", "arguments": '{"n":'}, {"arguments": f"{n}}}"}), strict=True
        ):
            chunks.append(chunk(tool_calls=[{**said, "function": function}]))
    reader, events, before = ChatReader(), [], sys.gettrace()
    sys.settrace(counted)
    try:
        for one in chunks:
            events += chat_table.convert(one, reader)[0]
        events += chat_table.convert({"type": "done"}, reader)[0]
    finally:
        sys.settrace(before)
    assert [call.args for call in fold(events).tool_calls] == [{"n": n} for n in range(size)]
    return lines


@pytest.mark.parametrize("how", NUMBERED)
def test_many_calls_in_one_answer_are_linear_however_a_server_numbers_them(how: str) -> None:
    lines_of_calls(1, how)  # the first answer imports what it needs
    few, some, many = (lines_of_calls(size, how) for size in (20, 40, 80))
    assert many - some < 2.05 * (some - few), (few, some, many)


@pytest.mark.parametrize(
    ("delta", "end"),
    [
        ({"content": "four"}, "text_end"),
        ({"reasoning_content": "four"}, "thinking_end"),
        ({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "four"}}]}, "tool_call_end"),
    ],
)
def test_a_long_answer_leaves_the_garbage_collector_next_to_nothing(delta: dict[str, Any], end: str) -> None:
    acc = ChatReader()
    chunks = [chunk(**delta)] * 4_000
    gc.collect()
    before = len(gc.get_objects())
    for event in chunks:
        _, acc = chat_table.convert(event, acc)
    assert len(gc.get_objects()) - before < 200, "what the accumulator keeps is not an object for every delta"
    events, _ = chat_table.convert({"type": "done"}, acc)
    block = next(e.block for e in events if e.type == end) if end != "text_end" else None
    said = (
        block.thinking if isinstance(block, ThinkingBlock) else block.raw_args if isinstance(block, ToolCall) else None
    )
    assert said in (None, "four" * 4_000)


def chat_calls(count: int) -> list[dict[str, Any]]:
    fragments = ({"id": "c", "function": {"name": "f", "arguments": ""}}, {"function": {"arguments": "{}"}})
    chunks = [chunk(tool_calls=[{"index": n, **f}]) for n in range(count) for f in fragments]
    return [*chunks, {"type": "done"}]


def responses_calls(count: int) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    items = [{"type": "function_call", "id": f"f{n}", "call_id": f"c{n}", "name": "f"} for n in range(count)]
    for at, item in enumerate(items):
        out.append({"type": "response.output_item.added", "output_index": at, "item": item})
        out.append({"type": "response.function_call_arguments.delta", "output_index": at, "delta": "{}"})
        out.append({"type": "response.output_item.done", "output_index": at, "item": {**item, "arguments": "{}"}})
    whole = [{**item, "arguments": "{}", "id": item["id"][::-1]} for item in items]  # other ids, as some servers do it
    return [*out, {"type": "response.completed", "response": {"status": "completed", "output": whole}}]


@pytest.mark.parametrize(("table", "calls", "start"), [
    (chat_table, chat_calls, ChatReader), (responses_table, responses_calls, ResponsesState),
])  # fmt: skip
def test_many_calls_in_one_answer_take_memory_and_work_that_grow_with_their_number(
    table: StreamTable[Any], calls: Any, start: Any
) -> None:
    """All accumulators are kept: together they would be quadratic if each had a copy of the calls."""

    def grown(count: int) -> tuple[int, int]:
        events, work = calls(count), 0

        def step(frame: Any, event: str, arg: Any) -> None:
            nonlocal work
            work += 1

        kept = [start()]
        gc.collect()
        tracemalloc.start()
        sys.setprofile(step)
        try:
            out = []
            for event in events:
                made, acc = table.convert(event, kept[-1])
                out += made
                kept.append(acc)
            size = tracemalloc.get_traced_memory()[0]
        finally:
            sys.setprofile(None)
            tracemalloc.stop()
        assert [e.type for e in out].count("tool_call_end") == count
        for number in () if start is ChatReader else (3, len(events) // 2):  # an old accumulator still goes on
            again, acc = table.convert(events[number], kept[number])
            assert (list(again), acc) == (list(table.convert(events[number], kept[number])[0]), kept[number + 1])
        return size, work

    (size, work), (size_of_more, work_of_more) = grown(100), grown(800)
    assert size_of_more < 12 * size and work_of_more < 12 * work, "eight times the calls"


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.integers()), max_size=30))
@FEW
def test_each_version_of_a_mapping_stays_as_it_was(steps: list[tuple[int, int, int]]) -> None:
    versions: list[tuple[Versions[int, int], dict[int, int]]] = [(Versions(), {})]
    for place, key, value in steps:
        mapping, model = versions[place % len(versions)]  # a version may have many successors
        versions.append((mapping.plus(key, value), model | {key: value}))
    for mapping, model in versions:
        assert list(mapping.items()) == list(model.items()) and mapping == model


def test_each_citation_is_kept_once_and_those_of_the_whole_answer_come_with_any_chunk() -> None:
    acc = ChatReader()
    out: list[StreamEvent] = []
    sources = ["https://a.example", {"url": "https://b.example", "title": "B"}]
    for n in range(3):
        event = chunk(content="x", annotations=[{"type": "url_citation", "n": n}])
        events, acc = chat_table.convert({**event, "citations": sources}, acc)
        out += events
    events, acc = chat_table.convert({"type": "done"}, acc)
    block = next(e.block for e in events if e.type == "text_end")
    assert isinstance(block, TextBlock)
    assert [dict(c) for c in block.citations] == [
        {"type": "url_citation", "n": 0},
        {"url": "https://a.example"},
        {"url": "https://b.example", "title": "B"},
        {"type": "url_citation", "n": 1},
        {"type": "url_citation", "n": 2},
    ]
