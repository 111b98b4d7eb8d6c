"""Nonsense on both wires: whatever arrives, an answer ends in one terminal event, is legal, and can be sent back."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings, strategies as st
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter
from skillkit_openai.reader import Reader
from skillkit_openai.wire import OpenAIWire
from skillkit_testkit.streams import problems_of, spoiled
from skillkit_transport import SSEDecoder, Watch

from skillkit_core import repair
from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import AssistantMessage, StopReason, UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

WIRES: dict[str, OpenAIWire] = {
    "openai-chat": OpenAIAdapter(None, base_url="http://localhost/v1"),
    "openai-responses": OpenAIResponsesAdapter(None, base_url="http://localhost/v1"),
}
NAMES = (
    *("type", "index", "id", "error", "usage", "choices", "delta", "content", "finish_reason", "output_index", "item"),
    *("response", "audio", "images", "reasoning_details", "annotations", "function_call", "base_resp", "content_index"),
    *("reasoning_opaque", "signature"),
)


def chat(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def call(index: int, **fields: Any) -> dict[str, Any]:
    return chat({"tool_calls": [{"index": index, **fields}]})


USAGE = {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
CHAT: list[Any] = [
    chat({"role": "assistant", "content": ""}),
    chat({"reasoning": "Let me ", "reasoning_details": [{"type": "reasoning.text", "text": "Let me ", "index": 0}]}),
    chat({"reasoning_content": "see.", "reasoning_opaque": "sig"}),
    chat({"content": "Hel"}),
    chat({"content": "lo", "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]}),
    call(0, id="a", type="function", function={"name": "add", "arguments": '{"a"'}),
    call(1, id="b", type="function", function={"name": "find", "arguments": ""}),
    call(0, function={"arguments": ": 1}"}),
    chat({"audio": {"id": "s", "transcript": "Hi", "data": "QUJD"}}),
    chat({"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]}),
    chat({"refusal": "No."}),
    chat({}, "tool_calls"),
    {"id": "c", "choices": [], "usage": USAGE},
]


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


ITEMS: list[dict[str, Any]] = [
    {"id": "i0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    {"id": "i1", "type": "message", "role": "assistant", "phase": "commentary", "content": [part("Hello"), part("!")]},
    {"id": "i2", "type": "function_call", "call_id": "a", "name": "add", "arguments": '{"a": 1}'},
    {"id": "i3", "type": "web_search_call", "status": "completed", "action": {"type": "search"}},
    {"id": "i4", "type": "custom_tool_call", "call_id": "b", "name": "sh", "input": "ls"},
]
DELTAS = {
    0: [("response.reasoning_summary_text.delta", "H"), ("response.reasoning_summary_text.delta", "m.")],
    1: [("response.output_text.delta", "Hel"), ("response.output_text.delta", "lo")],
    2: [("response.function_call_arguments.delta", '{"a": 1}')],
    4: [("response.custom_tool_call_input.delta", "ls")],
}


def responses() -> list[Any]:
    events: list[Any] = [{"type": "response.created", "response": {"id": "r"}}]
    for at, item in enumerate(ITEMS):
        started = {**item, "content": [], "summary": [], "arguments": "", "input": ""}
        events.append({"type": "response.output_item.added", "output_index": at, "item": started})
        place = {"output_index": at, "content_index": 0, "item_id": item["id"]}
        events += [{"type": kind, **place, "delta": text} for kind, text in DELTAS.get(at, ())]
        if at == 1:
            events.append({"type": "response.content_part.done", **place, "part": part("Hello")})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    usage = {"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}
    end = {"id": "r", "status": "completed", "output": ITEMS, "usage": usage}
    return [*events, {"type": "response.completed", "response": end}]


STREAMS: dict[str, list[Any]] = {"openai-chat": CHAT, "openai-responses": responses()}
APIS = pytest.mark.parametrize("api", sorted(STREAMS))


def sse(texts: Sequence[str]) -> bytes:
    return b"".join(b"data: " + t.encode("utf-8", "surrogatepass") + b"\n\n" for t in texts)


def read(api: str, body: bytes, *, stream: bool = True, pieces: Sequence[bytes] = ()) -> list[StreamEvent]:
    """The events of a body, up to the terminal one, as the adapter hands them on."""

    async def arriving() -> Any:
        for piece in pieces or [body]:
            yield piece

    async def main() -> list[StreamEvent]:
        watch = Watch(AbortSignal())
        kind = "text/event-stream" if stream else "application/json"
        response = httpx2.Response(200, headers={"content-type": kind}, content=arriving())
        reader, acc, out = Reader(WIRES[api], response, watch, stream), WIRES[api].start(), []
        while not any(e.terminal for e in out):
            events, acc = await reader.next(acc)
            for event in events:
                out.append(event)
                if event.terminal:
                    break
        await reader.close()
        watch.close()
        return out

    return asyncio.run(main())


def message_of(events: Sequence[StreamEvent]) -> AssistantMessage:
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder.message()


def can_go_back(api: str, message: AssistantMessage) -> list[str]:
    """Why the next request would not be legal; ids that a server gave twice are made unique by the loop, not here."""
    wire = WIRES[api]
    own = replace(message, provider=wire.provider, api=wire.api, model="m")
    history = repair((UserMessage(content="hi"), own, UserMessage(content="more")))
    problems = wire.validate(LLMRequest(ModelDefinition("m"), history))
    return [p for p in problems if "share an id" not in p and "used twice" not in p]


def check(api: str, events: Sequence[StreamEvent]) -> None:
    assert problems_of(events) == []
    assert can_go_back(api, message_of(events)) == []


def text_of(api: str) -> list[str]:
    return [*map(json.dumps, STREAMS[api]), *(["[DONE]"] if api == "openai-chat" else [])]


def vary(texts: list[str], dice: random.Random) -> bytes:
    """A stream with something wrong: an event spoiled, events lost, doubled or in another order, bytes flipped, an end."""
    texts = list(texts)
    way = dice.randrange(8)
    if way < 3:
        for at in dice.sample(range(len(texts)), dice.choice((1, 1, 2))):
            if texts[at] != "[DONE]":
                texts[at] = spoiled(json.loads(texts[at]), dice, NAMES)
    elif way == 3:
        dice.shuffle(texts)
    elif way == 4:
        for _ in range(dice.randrange(1, 4)):
            texts.insert(dice.randrange(len(texts) + 1), dice.choice(texts))
    elif way == 5:
        texts = [t for t in texts if dice.random() < 0.8]
    body = bytearray(sse(texts))
    if way == 6:
        for _ in range(dice.randrange(1, 4)):
            body[dice.randrange(len(body))] = dice.randrange(256)
    elif way == 7:
        del body[dice.randrange(len(body)) :]
    return bytes(body)


@APIS
@settings(deadline=None)
@given(seed=st.integers(0, 2**48))
def test_a_stream_with_mistakes_ends_once_and_legally_and_the_conversation_goes_on(api: str, seed: int) -> None:
    dice = random.Random(seed)
    body = vary(text_of(api), dice)
    cuts = sorted(dice.sample(range(len(body) + 1), min(len(body), dice.randrange(6))))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if a < b]
    events = read(api, body, pieces=pieces)
    check(api, events)
    assert [(e.type, e.content) for e in read(api, body)] == [(e.type, e.content) for e in events], (
        "pieces do not matter"
    )


@APIS
@settings(deadline=None)
@given(seed=st.integers(0, 2**48))
def test_a_body_with_mistakes_ends_once_and_legally(api: str, seed: int) -> None:
    message = {
        "role": "assistant",
        "content": "Hello",
        "reasoning": "Hm.",
        "tool_calls": [CHAT[5]["choices"][0]["delta"]["tool_calls"][0]],
    }
    whole = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}
    body = spoiled(whole if api == "openai-chat" else STREAMS[api][-1]["response"], random.Random(seed), NAMES)
    check(api, read(api, body.encode("utf-8", "surrogatepass"), stream=False))


@APIS
def test_recorded_streams_with_mistakes_end_once_and_legally(api: str, cases: list[Any]) -> None:
    chosen = [c for c in cases if c.api == api and c.stream and len(c.body) < 15_000]
    for number in range(1_500):
        dice = random.Random(f"{api} {number}")
        case = dice.choice(chosen)
        decoder = SSEDecoder()
        texts = [
            d.decode("utf-8", "replace") for _, d in [*decoder.feed(case.body), *decoder.close()] if d[:1] in b"{["
        ]
        try:
            check(api, read(api, vary(texts, dice)))
        except AssertionError as error:
            raise AssertionError(f"{case.id}, mistake {number}") from error


# ---------------------------------------------------------------- edge case 43


@APIS
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_ends_that_come_twice_and_events_nobody_knows_change_nothing(api: str, seed: int) -> None:
    dice = random.Random(seed)
    texts = text_of(api)
    usual = read(api, sse(texts))
    ends = texts[-1:] if api == "openai-responses" else [*texts[-1:], "[DONE]", json.dumps(chat({}, "stop"))]
    unknown = [
        {"type": "news"},
        {"type": "ping", "delta": "x"},
        {"object": "chat.completion.chunk", "choices": []},
        {"x": 1},
    ]
    more = list(texts)
    for _ in range(dice.randrange(1, 5)):
        more.insert(dice.randrange(len(more)), json.dumps(dice.choice(unknown)))
    more += [dice.choice([*ends, json.dumps({"error": {"message": "late"}})]) for _ in range(dice.randrange(4))]
    got = read(api, sse(more))
    assert problems_of(got) == []
    assert message_of(got) == message_of(usual)


@pytest.mark.parametrize("where", ["start", "end", "every chunk", "never"])
def test_chat_usage_is_counted_once_wherever_it_comes(where: str) -> None:
    chunks = [dict(c) for c in CHAT[:-1]]
    if where == "start":
        chunks[0]["usage"] = USAGE
    elif where == "end":
        chunks.append(CHAT[-1])
    elif where == "every chunk":
        for number, c in enumerate(chunks, 1):
            c["usage"] = {**USAGE, "completion_tokens": min(number, 5)}
    usage = message_of(read("openai-chat", sse([*map(json.dumps, chunks), "[DONE]"]))).usage
    assert (usage.input, usage.cache_read, usage.output) == ((0, 0, 0) if where == "never" else (5, 4, 5))


@pytest.mark.parametrize("where", ["end", "error", "never"])
def test_responses_usage_is_counted_once_wherever_it_comes(where: str) -> None:
    events = json.loads(json.dumps(STREAMS["openai-responses"]))
    if where == "error":
        events[-1]["response"] |= {"status": "failed", "error": {"code": "server_error", "message": "x"}}
    elif where == "never":
        del events[-1]["response"]["usage"]
    got = read("openai-responses", sse([json.dumps(e) for e in (*events, events[-1])]))
    usage = message_of(got).usage
    assert (usage.input, usage.cache_read, usage.output) == ((0, 0, 0) if where == "never" else (5, 4, 5))


@settings(deadline=None)
@given(
    kept=st.lists(st.booleans(), min_size=len(STREAMS["openai-responses"]), max_size=len(STREAMS["openai-responses"]))
)
def test_what_a_responses_stream_loses_its_last_event_makes_good(kept: list[bool]) -> None:
    *events, last = STREAMS["openai-responses"]
    begins = "response.output_item.added"  # without them the order is that in which the rest appears
    left = [e for e, keep in zip(events, kept, strict=False) if keep or e["type"] == begins]
    got = read("openai-responses", sse([json.dumps(e) for e in (*left, last)]))
    assert problems_of(got) == []
    usual = message_of(read("openai-responses", sse(text_of("openai-responses"))))
    message = message_of(got)
    assert sorted(map(repr, message.content)) == sorted(map(repr, usual.content))
    assert (message.stop_reason, message.usage) == (usual.stop_reason, usual.usage)


# ---------------------------------------------------------------- one by one


def chat_of(*chunks: Any) -> tuple[list[StreamEvent], AssistantMessage]:
    events = read("openai-chat", sse([*(c if isinstance(c, str) else json.dumps(c) for c in chunks), "[DONE]"]))
    check("openai-chat", events)
    return events, message_of(events)


def test_calls_with_gaps_in_their_numbers_without_ids_and_with_the_same_id_are_all_kept() -> None:
    _, message = chat_of(
        call(7, id="a", function={"name": "add", "arguments": "{}"}),
        call(3, function={"name": "find", "arguments": "{}"}),
        call(-1, id="a", function={"name": "add", "arguments": "{}"}),
        chat({"tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}),
        chat({}, "tool_calls"),
    )
    assert [c.name for c in message.tool_calls] == ["add", "find", "add", "look"]
    assert all(c.id for c in message.tool_calls)
    assert message.stop_reason is StopReason.tool_calls


def test_numbers_that_are_no_counts_count_nothing() -> None:
    usage = '{"prompt_tokens": %s, "completion_tokens": %s, "total_tokens": %s}'
    for value in ("-5", "NaN", "1e999", "true", '"7"', "1" * 400, "[]", "null"):
        _, message = chat_of(
            chat({"content": "x"}, "stop"), f'{{"choices": [], "usage": {usage % (value, value, value)}}}'
        )
        assert message.usage.total == 0, value


def test_zeros_and_halves_of_characters_are_text_that_can_be_kept() -> None:
    events, message = chat_of('{"choices": [{"delta": {"content": "a\\u0000b\\ud800c"}}]}', chat({}, "stop"))
    assert message.text == "a\x00b\ufffdc"
    assert events[1].content == message.text


def test_bytes_that_are_no_text_are_replaced_and_the_answer_goes_on() -> None:
    body = sse([json.dumps(chat({"content": "caf?!"})), json.dumps(chat({}, "stop")), "[DONE]"])
    events = read("openai-chat", body.replace(b"?", b"\xe9"))
    check("openai-chat", events)
    assert message_of(events).text == "caf\ufffd!"


@APIS
def test_an_event_of_fifty_megabytes_is_an_event(api: str) -> None:
    text = "0123456789" * 5_000_000
    big: list[Any] = [chat({"content": text}, "stop")]
    if api == "openai-responses":
        big = [{"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}]
        big.append({"type": "response.completed", "response": {"status": "completed", "output": []}})
    body = sse([*map(json.dumps, big)])
    events = read(api, body, pieces=[body[at : at + 65_536] for at in range(0, len(body), 65_536)])
    assert events[-1].type == "done"
    assert sum(len(e.content) for e in events if e.type == "text_delta") == len(text)
    assert message_of(events).text == text
