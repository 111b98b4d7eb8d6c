"""Nonsense on the wire: whatever arrives, an answer ends in one terminal event, is legal, and can be sent back."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.decoder import AnswerDecoder
from skillkit_testkit.streams import problems_of, spoiled
from skillkit_transport import SSEDecoder

from skillkit_core import repair
from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import AssistantMessage, StopReason, UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

ADAPTER = AnthropicAdapter(None, base_url="http://localhost", api_key="k")
NAMES = (
    "type",
    "index",
    "id",
    "error",
    "usage",
    "content",
    "delta",
    "content_block",
    "message",
    "stop_reason",
    "citations",
)
BLOCKS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"type": "thinking", "thinking": "", "signature": ""},
        [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "c2ln"}],
    ),
    ({"type": "redacted_thinking", "data": "eHg="}, []),
    (
        {"type": "text", "text": "", "citations": []},
        [
            {"type": "text_delta", "text": "Hel"},
            {"type": "text_delta", "text": "lo"},
            {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "x"}},
        ],
    ),
    (
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        [{"type": "input_json_delta", "partial_json": "{}"}],
    ),
    ({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, []),
    (
        {"type": "tool_use", "id": "t1", "name": "add", "input": {}},
        [{"type": "input_json_delta", "partial_json": '{"a"'}, {"type": "input_json_delta", "partial_json": ": 1}"}],
    ),
    ({"type": "tool_use", "id": "t2", "name": "now", "input": {}}, []),
]


def stream() -> list[dict[str, Any]]:
    usage = {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 1}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m", "content": [], "usage": usage}}]
    for index, (start, deltas) in enumerate(BLOCKS):
        out.append({"type": "content_block_start", "index": index, "content_block": start})
        out += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        out.append({"type": "content_block_stop", "index": index})
    out.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}})
    return [*out, {"type": "message_stop"}]


def sse(texts: Sequence[str]) -> bytes:
    return b"".join(b"data: " + t.encode("utf-8", "surrogatepass") + b"\n\n" for t in texts)


TEXTS = [json.dumps(e) for e in stream()]


def read(body: bytes, cuts: Sequence[int] = ()) -> list[StreamEvent]:
    """The events of a body that arrives in pieces."""
    decoder, out = AnswerDecoder(), []
    for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True):
        out += decoder.feed(body[a:b])
    return out if decoder.acc.finished else out + decoder.close()


def message_of(events: Sequence[StreamEvent]) -> AssistantMessage:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder.message()


def check(events: Sequence[StreamEvent]) -> None:
    """The events are legal, and so is the next request; ids that a server gave twice are the loop's to make unique."""
    assert problems_of(events) == []
    own = replace(message_of(events), provider=ADAPTER.provider, api=ADAPTER.api, model="m")
    history = repair((UserMessage(content="hi"), own, UserMessage(content="more")))
    problems = ADAPTER.validate(LLMRequest(ModelDefinition("m"), history))
    assert [p for p in problems if "used twice" not in p and "more than one result" not in p] == []


def vary(texts: Sequence[str], dice: random.Random) -> bytes:
    """A stream with something wrong: an event spoiled, events lost, doubled or in another order, bytes flipped, an end."""
    out = list(texts)
    way = dice.randrange(8)
    if way < 3:
        for at in dice.sample(range(len(out)), dice.choice((1, 1, 2))):
            out[at] = spoiled(json.loads(out[at]), dice, NAMES)
    elif way == 3:
        dice.shuffle(out)
    elif way == 4:
        for _ in range(dice.randrange(1, 4)):
            out.insert(dice.randrange(len(out) + 1), dice.choice(out))
    elif way == 5:
        out = [t for t in out if dice.random() < 0.8]
    body = bytearray(sse(out))
    if way == 6:
        for _ in range(dice.randrange(1, 4)):
            body[dice.randrange(len(body))] = dice.randrange(256)
    elif way == 7:
        del body[dice.randrange(len(body)) :]
    return bytes(body)


@settings(deadline=None)
@given(seed=st.integers(0, 2**48))
def test_a_stream_with_mistakes_ends_once_and_legally_and_the_conversation_goes_on(seed):
    dice = random.Random(seed)
    body = vary(TEXTS, dice)
    events = read(body, sorted(dice.sample(range(len(body) + 1), min(len(body), dice.randrange(6)))))
    check(events)
    assert [(e.type, e.content) for e in read(body)] == [(e.type, e.content) for e in events]


def test_recorded_streams_with_mistakes_end_once_and_legally(cases):
    chosen = [c for c in cases if c.index["stream"] and c.index["bytes"] < 15_000]
    for number in range(1_500):
        dice = random.Random(number)
        case = dice.choice(chosen)
        decoder = SSEDecoder()
        found = [d.decode("utf-8", "replace") for _, d in [*decoder.feed(case.body), *decoder.close()] if d[:1] == b"{"]
        try:
            check(read(vary([t for t in found if _is_json(t)], dice)))
        except AssertionError as error:
            raise AssertionError(f"{case.id}, mistake {number}") from error


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class _Answer:
    """A response as far as the adapter looks at it."""

    status_code = 200
    headers = {"content-type": "application/json"}  # noqa: RUF012 - never changed

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def aread(self) -> bytes:
        return self._body

    async def aclose(self) -> None:
        pass


@settings(deadline=None)
@given(seed=st.integers(0, 2**48))
def test_a_body_with_mistakes_ends_once_and_legally(seed):
    whole = {
        "type": "message",
        "id": "m",
        "content": [
            {**start, **{k: v for d in deltas for k, v in d.items() if k in start}} for start, deltas in BLOCKS
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }
    body = spoiled(whole, random.Random(seed), NAMES).encode("utf-8", "surrogatepass")

    class Adapter(AnthropicAdapter):
        async def _send(self, request, interrupt):
            return _Answer(body)

    async def run():
        adapter = Adapter(None, base_url="http://localhost", api_key="k")
        request = LLMRequest(ModelDefinition("m"), [UserMessage(content="hi")], stream=False)
        return [e async for e in adapter.stream(request)]

    check(asyncio.run(run()))


# ---------------------------------------------------------------- edge case 43


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_ends_that_come_twice_and_events_nobody_knows_change_nothing(seed):
    dice = random.Random(seed)
    unknown = [
        {"type": "news"},
        {"type": "ping"},
        {"type": "content_block_pulse", "index": 0},
        {"x": 1},
        {"type": None},
    ]
    late = [
        {"type": "message_stop"},
        {"type": "error", "error": {"type": "api_error", "message": "late"}},
        stream()[-2],
    ]
    more = list(TEXTS)
    for _ in range(dice.randrange(1, 5)):
        more.insert(dice.randrange(len(more)), json.dumps(dice.choice(unknown)))
    more += [json.dumps(dice.choice(late)) for _ in range(dice.randrange(4))]
    got = read(sse(more))
    assert problems_of(got) == []
    assert message_of(got) == message_of(read(sse(TEXTS)))


@pytest.mark.parametrize("where", ["both", "start", "end", "twice", "never"])
def test_usage_is_counted_once_wherever_it_comes(where):
    events = json.loads(json.dumps(stream()))
    if where in ("end", "never"):
        del events[0]["message"]["usage"]
    if where in ("start", "never"):
        del events[-2]["usage"]
    if where == "end":
        events[-2]["usage"] = {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 5}
    if where == "twice":
        events.insert(-1, events[-2])
    usage = message_of(read(sse([json.dumps(e) for e in events]))).usage
    expected = {"start": (9, 4, 1), "never": (0, 0, 0)}.get(where, (9, 4, 5))
    assert (usage.input, usage.cache_read, usage.output) == expected


# ---------------------------------------------------------------- one by one


def test_numbers_that_are_no_counts_count_nothing():
    for value in ("-5", "NaN", "1e999", "true", '"7"', "1" * 400, "[]", "null"):
        usage = f'{{"input_tokens": {value}, "output_tokens": {value}, "cache_read_input_tokens": {value}}}'
        delta = f'{{"type": "message_delta", "delta": {{"stop_reason": "end_turn"}}, "usage": {usage}}}'
        events = read(sse([delta, '{"type": "message_stop"}']))
        check(events)
        assert message_of(events).usage.total == 0, value


def test_indices_with_gaps_and_ids_that_are_missing_or_doubled_keep_every_call():
    events: list[Any] = []
    for index, call_id in ((9, "a"), (2, None), (5, "a")):
        start = {"type": "tool_use", "name": "add", "input": {}, **({"id": call_id} if call_id else {})}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.append({"type": "content_block_stop", "index": index})
    events += [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    got = read(sse([json.dumps(e) for e in events]))
    assert problems_of(got) == []
    assert [c.id for c in message_of(got).tool_calls] == ["a", "", "a"]
    assert message_of(got).stop_reason is StopReason.tool_calls


def test_zeros_and_halves_of_characters_are_text_that_can_be_kept():
    data = '{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a\\u0000b\\ud800c"}}'
    events = read(sse([data, '{"type": "message_stop"}']))
    check(events)
    assert events[1].content == message_of(events).text == "a\x00b\ufffdc"


def test_bytes_that_are_no_text_are_replaced_and_the_answer_goes_on():
    data = '{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "caf?!"}}'
    events = read(sse([data, '{"type": "message_stop"}']).replace(b"?", b"\xe9"))
    check(events)
    assert message_of(events).text == "caf\ufffd!"


def test_blocks_that_never_end_are_ended_with_what_belongs_to_each():
    texts = [f"text {n}" for n in range(50)]
    starts = [{"type": "content_block_start", "index": n, "content_block": {"type": "text"}} for n in range(50)]
    halves = [(n, part) for part in (slice(0, 3), slice(3, None)) for n in range(50)]
    deltas = [
        {"type": "content_block_delta", "index": n, "delta": {"type": "text_delta", "text": texts[n][part]}}
        for n, part in halves
    ]
    cited = {"type": "citations_delta", "citation": {"url": "https://a"}}
    deltas.append({"type": "content_block_delta", "index": 7, "delta": cited})
    events = read(sse([*map(json.dumps, [*starts, *deltas]), '{"type": "message_stop"}']))
    check(events)
    assert [b.text for b in message_of(events).content] == texts
    assert [bool(b.citations) for b in message_of(events).content].index(True) == 7


def test_an_event_of_fifty_megabytes_is_an_event():
    text = "0123456789" * 5_000_000
    data = json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
    body = sse([data, '{"type": "message_stop"}'])
    events = read(body, range(65_536, len(body), 65_536))
    assert events[-1].type == "done"
    assert message_of(events).text == text
