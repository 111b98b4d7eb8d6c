"""Streams in pieces, cut streams, and what holds for any stream (property tests on the accumulator)."""

from __future__ import annotations

import copy
import gc
import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_anthropic.decoder import AnswerDecoder
from skillkit_anthropic.wire import Accumulator, message_events, messages_table
from skillkit_transport import SSEDecoder

from skillkit_core.errors import ErrorKind
from skillkit_core.messages import ProviderBlock, StopReason, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import MessageBuilder


def decode(body: bytes, cuts: list[int] | None = None, *, close: bool = True) -> list[Any]:
    decoder = AnswerDecoder()
    edges = [0, *(cuts or []), len(body)]
    out = []
    for start, end in itertools.pairwise(edges):
        if start < end:
            out += decoder.feed(body[start:end])
    if close and not decoder.acc.finished:
        out += decoder.close()
    return out


def plain(events: list[Any]) -> list[Any]:
    """Events with errors as comparable values."""
    return [
        (e.type, e.content, e.tool_name, e.tool_call_id, e.index, e.usage, e.stop_reason, e.block, e.raw_stop_reason)
        + ((str(e.error), e.error.kind) if e.error else ())
        for e in events
    ]


def built(events: list[Any]) -> MessageBuilder:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder


def streams(cases: list[Any]) -> list[Any]:
    found = [c for c in cases if c.index["stream"] and c.index["status"] == 200]
    assert len(found) > 100
    return found


def test_the_same_bytes_in_any_pieces_give_the_same_events(cases):
    dice = random.Random(7)
    for case in streams(cases):
        body = case.body
        whole = plain(decode(body))
        assert whole[-1][0] in ("done", "error"), case.id
        lines = [i + 1 for i, byte in enumerate(body) if byte == 0x0A]
        at_random = sorted(dice.sample(range(len(body)), min(200, len(body) - 1)))
        for cuts in (list(range(1, len(body))), lines, at_random):
            assert plain(decode(body, cuts)) == whole, case.id


@pytest.mark.spec("9.43")
def test_a_stream_cut_anywhere_leaves_a_legal_part_of_the_answer_and_one_error(cases):
    dice = random.Random(11)
    tried = 0
    for case in streams(cases):
        body, full = case.body, decode(case.body)
        if full[-1].type != "done":
            continue
        blocks = built(full).blocks()
        text = "".join(b.text for b in blocks if isinstance(b, TextBlock))
        edges = [i + 2 for i in range(len(body)) if body[i : i + 2] == b"\n\n"]
        last = max(i for i in range(len(body)) if body.startswith(b'"message_stop"', i))
        chosen = sorted({*dice.sample(edges, min(12, len(edges))), *dice.sample(range(last), min(12, last)), 0})
        for cut in chosen:
            if cut > last:
                continue
            tried += 1
            events = decode(body[:cut])
            assert [e.terminal for e in events].count(True) == 1
            assert events[-1].type == "error"
            assert events[-1].error.kind is ErrorKind.protocol
            assert plain(events[:-1]) == plain(full)[: len(events) - 1]
            part = built(events)
            assert part.stop_reason is StopReason.error
            assert text.startswith("".join(b.text for b in part.blocks() if isinstance(b, TextBlock)))
            ended = {e.tool_call_id for e in events if e.type == "tool_call_end"}
            for call in part.blocks():
                if isinstance(call, ToolCall) and call.id not in ended:
                    assert call.args is None or not call.raw_args or json.loads(call.raw_args) == call.args
                    assert call.incomplete == (call.args is None)
    assert tried > 1500


def test_a_streamed_answer_and_the_same_answer_whole_become_the_same_message(cases):
    for case in cases:
        if case.index["stream"] or case.index["status"] != 200:
            continue
        message = json.loads(case.body)
        whole, acc = message_events(message)
        assert acc.finished
        pieces = decode(sse(as_stream(message)))
        assert built(pieces).blocks() == built(whole).blocks(), case.id
        assert pieces[-1].usage == whole[-1].usage
        assert pieces[-1].raw_stop_reason == whole[-1].raw_stop_reason


# ---------------------------------------------------------------- building streams


def sse(events: list[dict[str, Any]], newline: str = "\n") -> bytes:
    lines = [f"event: {e['type']}{newline}data: {json.dumps(e)}{newline}{newline}" for e in events]
    return "".join(lines).encode("utf-8", "surrogatepass")


def as_stream(message: dict[str, Any], pieces: Any = lambda text: [text]) -> list[dict[str, Any]]:
    """The events with which a server would have streamed ``message``; ``pieces`` cuts a text."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for i, block in enumerate(message["content"]):
        kind = block["type"]
        opening, deltas = dict(block), []
        if kind == "text":
            opening |= {"text": ""}
            deltas = [{"type": "text_delta", "text": p} for p in pieces(block["text"])]
            if block.get("citations"):
                opening["citations"] = []
                deltas += [{"type": "citations_delta", "citation": c} for c in block["citations"]]
        elif kind == "thinking":
            opening |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"])]
            if block.get("signature"):
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif kind.endswith("tool_use"):
            opening |= {"input": {}}
            # a call without arguments: empty text or "{}", both are seen
            raw = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":")) if block["input"] else ""
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(raw)]]
        out.append({"type": "content_block_start", "index": i, "content_block": opening})
        out += [{"type": "content_block_delta", "index": i, "delta": d} for d in deltas]
        out.append({"type": "content_block_stop", "index": i})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": message.get("stop_sequence")}
    out.append({"type": "message_delta", "delta": delta, "usage": message["usage"]})
    out.append({"type": "message_stop"})
    return out


texts = st.text(min_size=1, max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
wire_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.fixed_dictionaries(
        {
            "type": st.just("text"),
            "text": texts,
            "citations": st.lists(
                st.fixed_dictionaries({"type": st.just("char_location"), "cited_text": texts}), min_size=1
            ),
        }
    ),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": st.text(max_size=40), "signature": texts}),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": texts}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": st.from_regex(r"toolu_[A-Za-z0-9]{6}", fullmatch=True),
            "name": st.just("look"),
            "input": st.dictionaries(texts, json_values, max_size=4),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("server_tool_use"),
            "id": texts,
            "name": texts,
            "input": st.dictionaries(texts, json_values, max_size=3),
        }
    ),
    st.fixed_dictionaries({"type": st.just("brand_new_block"), "payload": json_values}),
)
messages = st.fixed_dictionaries(
    {
        "type": st.just("message"),
        "id": st.just("msg_1"),
        "role": st.just("assistant"),
        "model": st.just("m"),
        "content": st.lists(wire_blocks, max_size=5),
        "stop_reason": st.sampled_from(["end_turn", "tool_use", "max_tokens", "stop_sequence", "a_new_reason"]),
        "usage": st.fixed_dictionaries(
            {
                "input_tokens": st.integers(0, 10**6),
                "output_tokens": st.integers(0, 10**6),
                "cache_read_input_tokens": st.integers(0, 10**6) | st.none(),
            }
        ),
    }
)


def meant(block: dict[str, Any]) -> Any:
    kind = block["type"]
    if kind == "text":
        return TextBlock(block["text"], tuple(block.get("citations", ())))
    if kind == "thinking":
        return ThinkingBlock(block["thinking"], block["signature"])
    if kind == "redacted_thinking":
        return ThinkingBlock(redacted=True, data=block["data"])
    if kind == "tool_use":
        return (block["id"], block["name"], block["input"])
    return ProviderBlock(kind, block)


@settings(deadline=None)
@given(message=messages, data=st.data())
def test_any_message_arrives_as_it_was_meant_however_it_is_cut(message, data):
    dice = random.Random(data.draw(st.integers(0, 2**32)))

    def pieces(text: str) -> list[str]:
        cuts = sorted(dice.sample(range(len(text) + 1), min(len(text), 3)))
        return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    events = as_stream(message, pieces)
    for _ in range(data.draw(st.integers(0, 3))):
        events.insert(
            dice.randrange(1, len(events)), data.draw(st.sampled_from([{"type": "ping"}, {"type": "news", "x": 1}]))
        )
    body = sse(events, data.draw(st.sampled_from(["\n", "\r\n"])))
    cuts = sorted(dice.sample(range(1, len(body)), min(9, len(body) - 1)))
    got = decode(body, cuts)
    assert got[-1].type == "done"
    blocks = built(got).blocks()
    seen = [(b.id, b.name, b.args) if isinstance(b, ToolCall) else b for b in blocks]
    assert seen == [meant(b) for b in message["content"]]
    assert got[-1].raw_stop_reason == message["stop_reason"]
    usage, sent = got[-1].usage, message["usage"]
    assert (usage.input, usage.output) == (sent["input_tokens"], sent["output_tokens"])
    assert usage.cache_read == (sent["cache_read_input_tokens"] or 0)
    assert plain(got)[-1] == plain(message_events(message)[0])[-1]


@settings(max_examples=60, deadline=None)
@given(message=messages)
def test_converting_changes_neither_the_event_nor_the_accumulator_and_can_be_repeated(message):
    acc = Accumulator()
    for event in as_stream(message, lambda t: [t[:3], t[3:]]):
        before = copy.deepcopy((event, acc))
        first = messages_table.convert(event, acc)
        assert (event, acc) == before
        assert messages_table.convert(event, acc) == first
        acc = first[1]


fragments = st.fixed_dictionaries(
    {
        "type": st.sampled_from([*sorted(messages_table.types), "nonsense"]) | json_values,
        "index": st.integers(-1, 3) | json_values,
        "message": json_values,
        "delta": st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ["text_delta", "input_json_delta", "thinking_delta", "citations_delta", "odd_delta"]
                ),
                "text": texts | json_values,
                "partial_json": texts | json_values,
                "thinking": texts | json_values,
                "citation": json_values,
            }
        )
        | json_values,
        "content_block": st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "tool_use", "thinking", "server_tool_use"]), "input": json_values}
        )
        | json_values,
        "usage": json_values,
        "error": json_values,
    }
)


@pytest.mark.spec("9.43")
@settings(deadline=None)
@given(events=st.lists(fragments, max_size=12), garbage=st.binary(max_size=20))
def test_whatever_a_server_sends_there_is_one_terminal_event_and_no_exception(events, garbage):
    got = decode(sse(events) + garbage)
    assert [e.terminal for e in got].count(True) == 1
    assert got[-1].terminal
    message = built(got).message()
    assert message.stop_reason is not None


@settings(deadline=None)
@given(raw=st.text(max_size=30), cut=st.integers(0, 30))
def test_tool_arguments_are_kept_as_written_and_parsed_only_when_whole(raw, cut):
    value = json.dumps({"a": raw, "b": [1, 2.5, None]})
    part = value[: max(0, len(value) - cut)]
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    got = decode(sse(events))
    (call,) = built(got).blocks()
    assert call.raw_args == part
    if part == value:
        assert call.args == json.loads(value)
        assert not call.incomplete
    elif part:
        assert call.args is None
        assert call.incomplete
    assert got[-1].stop_reason is StopReason.length


@pytest.mark.parametrize(
    ("raw", "stop", "incomplete"),
    [
        ("[1]", "max_tokens", False),
        ('{"a": NaN}', "max_tokens", False),
        ('{"a": 1', "max_tokens", True),
        ("nul", "max_tokens", True),
        ('{"a": 1', "tool_use", False),
        ("nul", "tool_use", False),
    ],
)
def test_arguments_that_are_no_object_are_wrong_unless_the_answer_was_cut_in_them(raw, stop, incomplete):
    message = {"id": "m", "content": [], "usage": {}, "stop_reason": stop}
    events = as_stream(message)
    start = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    events[1:1] = [
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": raw}},
        {"type": "content_block_stop", "index": 0},
    ]
    (call,) = built(decode(sse(events))).blocks()
    assert (call.args, call.incomplete, call.raw_args) == (None, incomplete, raw)


def test_a_delta_of_a_block_that_was_never_opened_opens_it():
    events = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "message_stop"},
    ]
    got = decode(sse(events))
    assert [e.type for e in got] == ["text_start", "text_delta", "text_end", "done"]


def test_lone_surrogates_in_a_stream_do_not_end_it():
    data = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    events = decode(b"event: content_block_delta\ndata: " + data + b"\n\n", close=False)
    assert [e.content for e in events if e.type == "text_delta"] == ["a\ufffd"]


@pytest.mark.spec("9.43")
def test_two_ends_are_one():
    stop = {"type": "message_stop"}
    got = decode(sse([stop, stop, {"type": "error", "error": {"type": "api_error", "message": "late"}}]))
    assert [e.type for e in got] == ["done"]


def test_the_recorded_bytes_decode_without_event_lines(cases):
    case = next(c for c in streams(cases) if "tool_call" in c.index["features"])
    pairs = SSEDecoder().feed(case.body)
    bare = b"".join(b"data: " + data + b"\n\n" for _, data in pairs)
    assert plain(decode(bare)) == plain(decode(case.body))


def test_blocks_that_share_an_index_or_are_never_ended_stay_apart():
    def start(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def text(index: int, value: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": value}}

    events = [
        start(0, type="text", text="a"),
        text(0, "b"),
        {"type": "content_block_stop", "index": 0},
        start(0, type="text", text=""),
        text(0, "c"),
        start(0, type="tool_use", id="t", name="n", input={"x": 1}),
        start(7, type="text", text=""),
        text(7, "d"),
        {"type": "message_stop"},
    ]
    blocks = built(decode(sse(events))).blocks()
    assert [b.text if isinstance(b, TextBlock) else (b.name, b.args) for b in blocks] == [
        "ab",
        "c",
        ("n", {"x": 1}),
        "d",
    ]


def test_the_end_mark_of_another_protocol_is_skipped():
    stop = sse([{"type": "message_stop"}])
    assert [e.type for e in decode(b"data: [DONE]\n\n" + stop + b"data: [DONE]\n\n")] == ["done"]


@pytest.mark.parametrize(
    ("kind", "start", "delta"),
    [
        ("text", {"text": ""}, {"type": "text_delta", "text": "four"}),
        ("thinking", {"thinking": ""}, {"type": "thinking_delta", "thinking": "four"}),
        ("tool_use", {"id": "a", "name": "f", "input": {}}, {"type": "input_json_delta", "partial_json": "four"}),
    ],
)
def test_a_long_answer_leaves_the_garbage_collector_next_to_nothing(
    kind: str, start: dict[str, Any], delta: dict[str, Any]
) -> None:
    begun = {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **start}}
    _, acc = messages_table.convert(begun, Accumulator())
    citation = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "c"}}
    deltas = [{"type": "content_block_delta", "index": 0, "delta": delta}] * 4_000
    gc.collect()
    before = len(gc.get_objects())
    for event in deltas:
        _, acc = messages_table.convert(event, acc)
    assert len(gc.get_objects()) - before < 200, "what the accumulator keeps is not an object for every delta"
    _, acc = messages_table.convert({"type": "content_block_delta", "index": 0, "delta": citation}, acc)
    events, acc = messages_table.convert({"type": "message_stop"}, acc)
    block = events[0].block
    said = block.raw_args if isinstance(block, ToolCall) else getattr(block, kind)
    assert said == "four" * 4_000


@given(
    st.lists(st.text(min_size=1, max_size=3) | st.integers(1_000, 1_100).map(lambda n: "x" * n), max_size=12), st.data()
)
@settings(max_examples=60, deadline=None)
def test_fragments_of_any_length_and_of_blocks_side_by_side_are_put_together(
    texts: list[str], data: st.DataObject
) -> None:
    acc = Accumulator()
    said = ["", ""]
    for index in (0, 1):
        begun = {"type": "content_block_start", "index": index, "content_block": {"type": "thinking", "thinking": ""}}
        _, acc = messages_table.convert(begun, acc)
    for text in texts:
        index = data.draw(st.integers(0, 1))
        delta = {"type": "thinking_delta", "thinking": text}
        _, acc = messages_table.convert({"type": "content_block_delta", "index": index, "delta": delta}, acc)
        said[index] += text
    events, acc = messages_table.convert({"type": "content_block_stop", "index": 1}, acc)
    last, _ = messages_table.convert({"type": "message_stop"}, acc)
    assert [e.block.thinking for e in (*events, *last) if e.type == "thinking_end"] == [said[1], said[0]]
