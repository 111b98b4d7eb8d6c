"""Answers in shapes that nobody recorded: what they become, and what goes back to the server."""

from __future__ import annotations

import asyncio
import json

import pytest
from anthropic_server import MODEL, TEXT, Server, answering, ask, collect, response, sse
from skillkit_anthropic import AnthropicAdapter, plugin
from skillkit_anthropic.validate import problems_of

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import ProviderBlock, StopReason, TextBlock, ThinkingBlock, ToolResultMessage, UserMessage
from skillkit_core.stream import MessageBuilder

HI = UserMessage(content="hi")
START, END = TEXT[0], TEXT[-1]


def blocks(*content, stop="end_turn"):
    """The events of a message with these blocks, each whole when it begins."""
    out = [START]
    for at, block in enumerate(content):
        out.append({"type": "content_block_start", "index": at, "content_block": block})
        out.append({"type": "content_block_stop", "index": at})
    return [*out, {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}, END]


def played(events, kind="text/event-stream"):
    """The message that a stream becomes, its last event, and a function that says what of it goes back."""

    async def run():
        body = events if isinstance(events, bytes) else sse(events)
        async with Server(answering(response(body, kind=kind))).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    seen, builder = asyncio.run(run()), MessageBuilder()
    for event in seen:
        builder.add(event)
    return builder.message(provider="anthropic", api="anthropic-messages", model=MODEL.id), seen[-1]


def returned(message, base_url="http://127.0.0.1:1", **options):
    """What of ``message`` goes back to the server there, with a result for every call; the wire has nothing against it."""
    results = [ToolResultMessage(tool_call_id=c.id, tool_name=c.name, content="ok") for c in message.tool_calls]
    sent = {}

    async def look(payload, headers):
        sent.update(payload)
        raise RuntimeError("seen enough")

    request = LLMRequest(MODEL, [HI, message, *results, UserMessage(content="go on")], on_request=look)
    adapter = AnthropicAdapter(None, base_url=base_url, api_key="k", **options)
    assert list(adapter.validate(request)) == []
    asyncio.run(collect(adapter, request))
    return [
        b
        for m in json.loads(json.dumps(sent["messages"], default=dict))
        if m["role"] == "assistant"
        for b in m["content"]
    ]


HI_WIRE = {"role": "user", "content": "hi"}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]}
THOUGHT = {"type": "thinking", "thinking": "Look it up."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}


@pytest.mark.parametrize("signature", [{}, {"signature": ""}])
def test_thinking_goes_back_unsigned_to_a_server_that_signs_none(signature):
    """DeepSeek, Kimi and others refuse a tool loop without it: ``content[].thinking ... must be passed back``."""
    message, _ = played(blocks({**THOUGHT, **signature}, CALL, stop="tool_use"))

    assert returned(message, signed_thinking=False) == [{**THOUGHT, "signature": ""}, CALL]
    assert returned(message, "https://api.deepseek.com/anthropic/v1") == [{**THOUGHT, "signature": ""}, CALL]


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("https://api.anthropic.com", {}),
        ("http://127.0.0.1:1", {}),
        ("https://api.deepseek.com/anthropic", {"signed_thinking": True}),
    ],
)
def test_unsigned_thinking_goes_to_every_other_server_as_text(url, options):
    message, _ = played(blocks(THOUGHT, CALL, stop="tool_use"))

    assert returned(message, url, **options) == [{"type": "text", "text": "Look it up."}, CALL]


def test_the_providers_that_sign_nothing_are_known(make_host):
    for name, *_ in plugin.COMPATIBLE:
        host = make_host(("anthropic", plugin))
        adapter = host.adapters.resolve(name, None, base_url="http://127.0.0.1:1", api_key="k")
        wire = {"role": "assistant", "content": [{**THOUGHT, "signature": ""}, CALL]}
        assert (
            adapter._signs is False
            and problems_of({"max_tokens": 1, "messages": [HI_WIRE, wire, RESULT]}, signs=False) == []
        )
        assert problems_of({"max_tokens": 1, "messages": [HI_WIRE, wire, RESULT]}) == [
            "messages.1.content.0: thinking needs its signature"
        ]


def test_unsigned_thinking_of_an_answer_that_broke_off_goes_back_as_text():
    started = {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "So"}}
    message, last = played([*blocks(THOUGHT)[:3], started])

    assert (last.type, message.stop_reason) == ("error", StopReason.error)
    assert returned(message, signed_thinking=False)[0] == {"type": "text", "text": "Look it up."}


@pytest.mark.parametrize(
    "event",
    [
        b'data: {"error": {"type": "overloaded_error", "message": "busy"}}\n\n',
        b'event: error\ndata: {"error": {"type": "overloaded_error", "message": "busy"}}\n\n',
        b'event: error\ndata: {"type": "overloaded_error", "message": "busy"}\n\n',
        b'event: error\ndata: {"type": "error", "message": "busy"}\n\n',
        b'event: error\ndata: {"message": "busy"}\n\n',
        b'event: error\ndata: {"type": "error", "error": "busy"}\n\n',
    ],
)
def test_an_error_in_mid_stream_is_told_in_whatever_shape_it_comes(event):
    message, last = played(sse(TEXT[:3]) + event)

    assert last.type == "error"
    assert (last.error.message, message.text) == ("busy", "Hel")
    assert last.error.kind in (ErrorKind.overloaded, ErrorKind.server)


def test_events_whose_type_stands_in_the_event_line_alone_are_read():
    lines = [(e["type"], {k: v for k, v in e.items() if k != "type"}) for e in TEXT]

    message, last = played(b"".join(f"event: {n}\ndata: {json.dumps(d)}\n\n".encode() for n, d in lines))

    assert (last.type, message.text) == ("done", "Hello")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("length", StopReason.length),
        ("content_filter", StopReason.refusal),
        ("stop", StopReason.stop),
        ("model_context_window_exceeded", StopReason.length),
        ("compaction", StopReason.pause),
        ("a_word_of_next_year", StopReason.stop),
    ],
)
def test_the_words_of_servers_that_translate_are_known(word, reason):
    message, last = played(blocks({"type": "text", "text": "x"}, stop=word))

    assert (message.stop_reason, last.raw_stop_reason) == (reason, word)


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}


def answered(use, kind, content, **fields):
    return use, {"type": kind, "tool_use_id": use["id"], "content": content, **fields}


FAILED = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
FETCHED = {"type": "web_fetch_result", "url": "u", "content": {"type": "document"}}
RAN = {"type": "bash_code_execution_result", "stdout": "1", "content": []}
CITED = [{"type": "search_result_location", "source": "s", "cited_text": "c"}]
OTHERS = [
    answered(SEARCH, "web_search_tool_result", FAILED),
    answered({**SEARCH, "name": "web_fetch"}, "web_fetch_tool_result", FETCHED),
    answered({**SEARCH, "name": "bash_code_execution"}, "bash_code_execution_tool_result", RAN),
    answered({**SEARCH, "type": "mcp_tool_use", "server_name": "s"}, "mcp_tool_result", [], is_error=False),
    ({"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []},),
    ({"type": "container_upload", "file_id": "f"},),
    ({"type": "compaction", "content": "summary", "encrypted_content": "E"},),
    ({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"}},),
    ({"type": "a_block_of_next_year", "x": [1]},),
    ({"type": "text", "text": "see", "citations": CITED},),
    ({**CALL, "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}},),
]


@pytest.mark.parametrize("content", OTHERS, ids=lambda c: c[-1]["type"])
def test_blocks_of_every_kind_go_back_as_they_came(content):
    message, last = played(blocks(*content, {"type": "text", "text": "Hello"}))

    assert last.type == "done"
    assert returned(message) == [*content, {"type": "text", "text": "Hello"}]


def test_broken_input_of_a_server_tool_goes_back_as_an_object():
    started = {"type": "content_block_start", "index": 0, "content_block": {**SEARCH, "input": {}}}
    broken = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"q'}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    rest = blocks({}, found, {"type": "text", "text": "x"})[2:]

    message, _ = played([START, started, broken, *rest])

    assert isinstance(message.content[0], ProviderBlock)
    assert returned(message)[0]["input"] == {"invalid_arguments": '{"q'}


@pytest.mark.parametrize("signed_first", [True, False])
def test_a_signature_may_come_before_or_after_what_it_signs(signed_first):
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
    deltas = [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "sig"}]
    inner = [{"type": "content_block_delta", "index": 0, "delta": d} for d in deltas]
    stream = [START, start, *(inner[::-1] if signed_first else inner), {"type": "content_block_stop", "index": 0}]

    message, _ = played([*stream, *blocks({}, {"type": "text", "text": "x"})[3:]])

    assert message.content == (ThinkingBlock("Hm.", "sig"), TextBlock("x"))


@pytest.mark.parametrize(
    ("status", "kind", "begin", "words"),
    [
        ("200 OK", "text/event-stream", b'data: {"type": "', "an event of more than 64 MiB"),
        ("200 OK", "application/json", b'{"content": [{"text": "', "an answer of more than 64 MiB"),
        ("400 No", "application/json", b'{"error": {"message": "', "status 400 and a text that is not JSON"),
    ],
)
@pytest.mark.parametrize("again", [False, True], ids=["first", "prepared"])
def test_what_a_server_sends_without_an_end_is_read_to_a_limit(status, kind, begin, words, again):
    asked = []

    async def endless(request):
        asked.append(request)
        if again and len(asked) == 1:
            yield response(sse(TEXT))
            return
        yield f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n\r\n".encode() + begin
        while True:
            yield b"x" * 1024 * 1024

    async def run():
        async with Server(endless).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            for _ in range(1 + again):
                seen = [e async for e in adapter.stream(ask())]
            await adapter.close()
            return seen[-1].error

    error = asyncio.run(run())

    assert words in error.message
    assert len(error.message) < 400


SIGNS = {
    "ping": b'event: ping\ndata: {"type": "ping"}\n\n',
    "comment": b": keep-alive\n\n",
    "unnamed ping": b'data: {"type": "ping"}\n\n',
}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("said", "setting", "words"),
    [
        (TEXT[:3], None, "was silent for 0.1"),
        (TEXT[:1], None, "was silent for 0.1"),
        ([], None, "was silent for 0.1"),
        ([], 0.05, "the first event did not come within 0.05"),
    ],
)
def test_a_server_that_only_keeps_the_connection_open_is_silent(sign, said, setting, words):
    async def alive(request):
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(said)
        while True:
            yield SIGNS[sign]
            await asyncio.sleep(0)

    async def run():
        async with Server(alive).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k", timeout=0.1)
            request = ask(settings=ModelSettings(timeout=setting))
            return await asyncio.wait_for(collect(adapter, request), 30)

    error = asyncio.run(run())[-1].error

    assert error.kind is ErrorKind.timeout
    assert words in error.message


def test_the_input_of_a_call_may_be_its_text():
    message, _ = played(blocks({**CALL, "input": '{"a": 1}'}, stop="tool_use"))

    assert (message.tool_calls[0].args, message.tool_calls[0].raw_args) == ({"a": 1}, '{"a": 1}')
    assert returned(message) == [CALL]
