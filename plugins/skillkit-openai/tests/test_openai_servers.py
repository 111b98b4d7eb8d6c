"""Answers in the shapes of servers that nobody recorded: what they become, and what goes back to the server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter
from skillkit_openai.wire import OpenAIWire

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import (
    AssistantMessage,
    ImageBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder, StreamEvent

MODEL = ModelDefinition("m")
HI = UserMessage(content="hi")


async def answer(adapter: OpenAIWire, stream: bool = True) -> tuple[AssistantMessage, StreamEvent]:
    """The message that the server's next answer becomes, and the event that ended it."""
    builder, last = MessageBuilder(), StreamEvent("done")
    async for last in adapter.stream(LLMRequest(MODEL, [HI], stream=stream)):
        builder.add(last)
    return builder.message(provider=adapter.provider, api=adapter.api, model=MODEL.id), last


def played(
    loopback: Any, *events: Any, kind: type[OpenAIWire] = OpenAIAdapter, stream: bool = True
) -> tuple[AssistantMessage, StreamEvent]:
    async def main() -> tuple[AssistantMessage, StreamEvent]:
        async with loopback() as server:
            if stream:
                server.sse(*events)
            else:
                server.json(events[0])
            adapter = kind(None, base_url=server.url)
            try:
                return await answer(adapter, stream)
            finally:
                await adapter.close()

    return asyncio.run(main())


def returned(message: AssistantMessage, kind: type[OpenAIWire] = OpenAIAdapter) -> list[dict[str, Any]]:
    """What of ``message`` goes back to the server, with a result for every call; the wire has nothing against it."""
    adapter = kind(None, base_url="http://127.0.0.1:1/v1")
    results = [ToolResultMessage(tool_call_id=c.id, tool_name=c.name, content="ok") for c in message.tool_calls]
    request = LLMRequest(MODEL, [HI, message, *results, UserMessage(content="go on")])
    assert list(adapter.validate(request)) == []
    body = json.loads(adapter.body(request))
    sent: list[dict[str, Any]] = body["messages" if "messages" in body else "input"]
    return sent[1 : -1 - len(results)]


def delta(value: Any = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": value or {}, "finish_reason": finish, **fields}]}


def call(index: int | None, id: str | None, name: str | None, arguments: Any, **fields: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    raw = {"index": index, "id": id, "function": function, **fields}
    return delta({"tool_calls": [{k: v for k, v in raw.items() if v is not None}]})


DONE = b"data: [DONE]\n\n"

# Each: fragments of calls, and the calls that were meant.
CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "one index for all and no ids": (
        [call(0, None, "look", '{"a":1}'), call(0, None, "look", '{"a":2}'), call(0, None, "find", "{}")],
        [("look", '{"a":1}'), ("look", '{"a":2}'), ("find", "{}")],
    ),
    "the name in every fragment": (
        [call(0, "x", "look", '{"a"'), call(0, "x", "look", ":1}"), call(0, None, "look", "")],
        [("look", '{"a":1}')],
    ),
    "the name in every fragment and no ids": (
        [call(0, None, "look", ""), call(0, None, "look", '{"a"'), call(0, None, "look", ":1}")],
        [("look", '{"a":1}')],
    ),
    "an id for every fragment": (
        [call(0, "x1", "look", '{"a"'), call(0, "x2", None, ":1}")],
        [("look", '{"a":1}')],
    ),
    "an id for every fragment and no index": (
        [call(None, "x1", "look", '{"a"'), call(None, "x2", None, ":1}")],
        [("look", '{"a":1}')],
    ),
    "one index, and ids that say which": (
        [call(0, "x", "look", ""), call(0, "y", "find", ""), call(0, "x", None, '{"a":1}'), call(0, "y", None, "{}")],
        [("look", '{"a":1}'), ("find", "{}")],
    ),
    "an index from the second fragment on": (
        [call(None, "x", "look", ""), call(0, "", "", '{"a":1}')],
        [("look", '{"a":1}')],
    ),
    "an object for arguments": ([call(0, "x", "look", {"a": 1})], [("look", '{"a": 1}')]),
    "the name after the id": (
        [call(0, "x", None, None), call(0, None, "look", None), call(0, None, None, '{"a":1}')],
        [("look", '{"a":1}')],
    ),
    "empty texts for what was said": (
        [
            call(0, "x", "look", None, type="function"),
            call(0, "", "", '{"a"', type=""),
            call(0, "", "", ":1}", type=""),
        ],
        [("look", '{"a":1}')],
    ),
}


@pytest.mark.parametrize("how", CALLS)
def test_calls_are_put_together_however_a_server_numbers_and_names_them(how: str, loopback: Any) -> None:
    fragments, meant = CALLS[how]

    message, last = played(loopback, delta({"role": "assistant"}), *fragments, delta(finish="tool_calls"), DONE)

    assert last.type == "done"
    assert [(c.name, c.raw_args) for c in message.tool_calls] == meant
    assert [(c["function"]["name"], c["function"]["arguments"]) for c in returned(message)[0]["tool_calls"]] == meant
    assert len({c.id for c in message.tool_calls}) == len(meant)


def test_a_call_of_a_kind_of_the_servers_own_goes_back_as_that_kind(loopback: Any) -> None:
    """Moonshot's ``$web_search`` is a ``builtin_function``."""
    started = call(0, "x", "$web_search", '{"q":1}', type="builtin_function")

    message, _ = played(loopback, started, delta(finish="tool_calls"), DONE)

    assert returned(message)[0]["tool_calls"][0]["type"] == "builtin_function"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("MAX_TOKENS", StopReason.length),
        ("STOP", StopReason.stop),
        ("SAFETY", StopReason.refusal),
        ("content_filter: PROHIBITED_CONTENT", StopReason.refusal),
        ("sensitive", StopReason.refusal),
        ("model_context_window_exceeded", StopReason.length),
        ("insufficient_system_resource", StopReason.length),
        ("abort", StopReason.length),
        ("eos", StopReason.stop),
        ("something_new", StopReason.stop),
    ],
)
def test_the_words_of_other_apis_for_the_end_of_an_answer_are_known(
    word: str, reason: StopReason, loopback: Any
) -> None:
    message, last = played(loopback, delta({"content": "x"}), delta(finish=word), DONE)

    assert (message.stop_reason, last.raw_stop_reason) == (reason, word)


def test_a_call_that_a_length_stop_in_any_word_cut_off_is_marked(loopback: Any) -> None:
    message, _ = played(loopback, call(0, "x", "look", '{"a'), delta(finish="MAX_TOKENS"), DONE)

    assert message.tool_calls[0].incomplete


@pytest.mark.parametrize("mark", [b"data:  [DONE]\n\n", b'data: "[DONE]"\n\n', b"data:[DONE] \n\n"])
def test_the_end_mark_may_have_blanks_or_quotes_around_it(mark: bytes, loopback: Any) -> None:
    message, last = played(loopback, delta({"content": "x"}), b"data:  \n\n", mark)

    assert (last.type, message.text) == ("done", "x")


def test_a_stream_of_one_event_that_holds_the_whole_message_is_read(loopback: Any) -> None:
    whole = {"role": "assistant", "content": "Hello", "reasoning_content": "Greet."}
    event = {"id": "c", "object": "chat.completion", "choices": [{"message": whole, "finish_reason": "stop"}]}

    message, _ = played(loopback, event, DONE)

    assert [(b.type, getattr(b, "text", "")) for b in message.content] == [("thinking", ""), ("text", "Hello")]


def test_the_message_that_some_servers_repeat_at_the_end_of_a_stream_is_not_said_twice(loopback: Any) -> None:
    again = {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}

    message, _ = played(loopback, delta({"content": "Hello"}), again, DONE)

    assert message.text == "Hello"


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_in_a_choice_is_told_in_the_providers_words(stream: bool, loopback: Any) -> None:
    error = {"code": 429, "message": "slow down"}
    choice = {"index": 0, "finish_reason": "error", "error": error, "delta": {}, "message": {"content": ""}}

    _, last = played(loopback, {"id": "g", "choices": [choice]}, stream=stream)

    assert isinstance(last.error, ProviderError)
    assert (last.error.message, last.error.kind) == ("slow down", ErrorKind.rate_limit)


REASONING = [
    [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Think", "signature": ""}]}],
    [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "ing.", "signature": ""}]}],
    [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "", "signature": "sig"}]}],
    [{"type": "text", "text": "Hello"}],
]


@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_that_is_a_summary_in_the_content_is_thinking_and_goes_back_signed(
    stream: bool, loopback: Any
) -> None:
    """Databricks in front of Claude."""
    whole = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Thinking.", "signature": "sig"}]}]
    whole += [{"type": "text", "text": "Hello"}]
    body = {"choices": [{"message": {"role": "assistant", "content": whole}, "finish_reason": "stop"}]}
    events = [*(delta({"content": c}) for c in REASONING), delta(finish="stop"), DONE] if stream else [body]

    message, _ = played(loopback, *events, stream=stream)

    thought, text = message.content
    assert isinstance(thought, ThinkingBlock)
    assert (thought.thinking, thought.signature, text) == ("Thinking.", "sig", TextBlock("Hello"))
    assert returned(message)[0]["content"] == whole


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_is_read_in_every_spelling_and_goes_back_in_the_same(field: str, stream: bool, loopback: Any) -> None:
    """``reasoning_text`` is GitHub Copilot's."""
    body = {"choices": [{"message": {field: "Thinking.", "content": "Hello"}, "finish_reason": "stop"}]}
    pieces = [delta({field: "Thin", "content": ""}), delta({field: "king."}), delta({"content": "Hello"}, "stop"), DONE]

    message, _ = played(loopback, *(pieces if stream else [body]), stream=stream)

    assert [b.type for b in message.content] == ["thinking", "text"]
    assert isinstance(message.content[0], ThinkingBlock)
    assert message.content[0].thinking == "Thinking."
    assert returned(message) == [{"role": "assistant", field: "Thinking.", "content": "Hello"}]


def test_thinking_that_comes_in_several_spellings_is_said_once(loopback: Any) -> None:
    names = ("reasoning_content", "reasoning", "reasoning_text")
    for first in range(3):
        pieces = [delta(dict.fromkeys(names[first:], t)) for t in ("Thin", "king.")]

        message, _ = played(loopback, *pieces, delta({"content": "Hello"}, "stop"), DONE)

        assert isinstance(message.content[0], ThinkingBlock)
        assert message.content[0].thinking == "Thinking."
        assert returned(message)[0] == {"role": "assistant", names[first]: "Thinking.", "content": "Hello"}


@pytest.mark.parametrize("stream", [True, False])
def test_the_signed_thinking_of_claude_behind_a_proxy_goes_back_with_the_call(stream: bool, loopback: Any) -> None:
    """LiteLLM's ``thinking_blocks``: Claude refuses a tool loop whose thinking comes back without its signature."""
    pieces = [
        {"reasoning_content": "Thin", "thinking_blocks": [{"type": "thinking", "thinking": "Thin", "signature": None}]},
        {"reasoning_content": "king.", "thinking_blocks": [{"type": "thinking", "thinking": "king."}]},
        {"reasoning_content": "", "thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "sig"}]},
    ]
    blocks = [{"type": "thinking", "thinking": "Thinking.", "signature": "sig"}]
    calls = [{"index": 0, "id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    whole = {"content": None, "reasoning_content": "Thinking.", "thinking_blocks": blocks, "tool_calls": calls}
    body = {"choices": [{"message": whole, "finish_reason": "tool_calls"}]}
    streamed = [*map(delta, pieces), delta({"tool_calls": calls}, "tool_calls"), DONE]

    message, _ = played(loopback, *(streamed if stream else [body]), stream=stream)

    thought, made = message.content
    assert isinstance(thought, ThinkingBlock)
    assert isinstance(made, ToolCall)
    assert (thought.thinking, thought.signature, made.name) == ("Thinking.", "sig", "look")
    assert returned(message)[0]["thinking_blocks"] == blocks


# Each: the deltas of an answer of GitHub Copilot, and what of it goes back.
LOOK = [{"index": 0, "id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
OPAQUE: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "with the call": (
        [{"reasoning_text": "Thin"}, {"reasoning_text": "king."}, {"tool_calls": LOOK, "reasoning_opaque": "sig"}],
        {"reasoning_text": "Thinking.", "reasoning_opaque": "sig"},
    ),
    "after the text": (
        [{"reasoning_text": "Thinking."}, {"content": "Hello"}, {"content": "", "reasoning_opaque": "sig"}],
        {"reasoning_text": "Thinking.", "reasoning_opaque": "sig", "content": "Hello"},
    ),
    "with the thinking": (
        [{"reasoning_text": "Thinking.", "reasoning_opaque": "sig"}, {"content": "Hello"}, {"tool_calls": LOOK}],
        {"reasoning_text": "Thinking.", "reasoning_opaque": "sig", "content": "Hello"},
    ),
    "between text and call": (
        [{"reasoning_text": "Thinking."}, {"content": "Hello"}, {"reasoning_opaque": "sig"}, {"tool_calls": LOOK}],
        {"reasoning_text": "Thinking.", "reasoning_opaque": "sig", "content": "Hello"},
    ),
    "without any thinking that may be read": (
        [{"tool_calls": LOOK, "reasoning_opaque": "sig"}],
        {"reasoning_opaque": "sig"},
    ),
}


@pytest.mark.spec("I5")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("deltas", "expected"), OPAQUE.values(), ids=OPAQUE)
def test_the_signature_of_thinking_behind_github_copilot_goes_back_to_it_alone(
    deltas: list[dict[str, Any]], expected: dict[str, Any], stream: bool, loopback: Any
) -> None:
    """Gemini there refuses a tool loop whose ``reasoning_opaque`` does not come back beside ``reasoning_text``."""
    whole: dict[str, Any] = {"role": "assistant"}
    for fields in deltas:
        for name, value in fields.items():
            whole[name] = whole.get(name, "") + value if name in ("content", "reasoning_text") else value
    body = {"choices": [{"message": whole, "finish_reason": "stop"}]}
    pieces = [*map(delta, deltas), delta(finish="stop"), DONE]

    message, _ = played(loopback, *(pieces if stream else [body]), stream=stream)

    sent = {k: v for k, v in returned(message)[0].items() if k not in ("role", "tool_calls")}
    assert sent == expected
    assert [b.type for b in message.content].count("thinking") == ("reasoning_text" in expected)
    for foreign in (replace(message, model="n"), replace(message, provider="another")):
        assert "sig" not in json.dumps(returned(foreign))


def test_thinking_that_may_not_be_read_goes_back_with_the_call_too(loopback: Any) -> None:
    hidden = {"type": "redacted_thinking", "data": "x"}
    calls = [{"index": 0, "id": "x", "function": {"name": "look", "arguments": "{}"}}]

    message, _ = played(loopback, delta({"thinking_blocks": [hidden], "tool_calls": calls}, "tool_calls"), DONE)

    assert returned(message)[0]["thinking_blocks"] == [hidden]


@pytest.mark.parametrize(
    "body",
    [
        {"errors": [{"message": "broke", "code": 3030}], "success": False, "result": {}, "messages": []},
        {"errors": [{"code": "invalid_input", "message": "broke"}], "trace": "t", "status_code": 400},
        {"error": ["broke"], "error_type": "validation"},
        {"error_code": "BAD_REQUEST", "message": "broke"},
        {"error_code": 336003, "error_msg": "broke"},
        {"code": 1214, "msg": "broke", "success": False},
        {"detail": {"error": {"message": "broke"}}},
        {"object": "error", "message": {"detail": [{"loc": [], "msg": "broke"}]}, "type": "invalid_request_error"},
    ],
)
def test_the_words_of_an_error_are_found_wherever_a_server_puts_them(body: Any, loopback: Any) -> None:
    """Cloudflare, watsonx, Hugging Face, Databricks, Baidu, Z.ai, a proxy, Mistral."""

    async def main() -> StreamEvent:
        async with loopback() as server:
            server.json(body, 400)
            adapter = OpenAIAdapter(None, base_url=server.url)
            try:
                return (await answer(adapter))[1]
            finally:
                await adapter.close()

    error = asyncio.run(main()).error

    assert isinstance(error, ProviderError)
    assert (error.message, error.kind) == ("broke", ErrorKind.invalid_request)


@pytest.mark.parametrize(
    ("raw", "buckets"),
    [
        ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, (35, 12, 0, 0, 62)),  # Gemini
        ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 47}, (35, 12, 0, 0, 0)),
        ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 47, "cached_tokens": 30}, (5, 12, 30, 0, 0)),
        (
            {
                "prompt_tokens": 35,
                "completion_tokens": 12,
                "prompt_tokens_details": {"cached_tokens": 10, "cache_creation_input_tokens": 20},
            },
            (5, 12, 10, 20, 0),
        ),
        (
            {
                "prompt_tokens": 35,
                "completion_tokens": 12,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_tokens": 20},
                "cache_read_input_tokens": 0,
            },
            (15, 12, 0, 20, 0),
        ),
        (  # Mistral counts the tokens of a recording beside the prompt, and of those that are cached too
            {
                "prompt_audio_seconds": 4,
                "prompt_tokens": 9,
                "completion_tokens": 201,
                "total_tokens": 585,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 375},
            },
            (384, 201, 0, 0, 0),
        ),
        (
            {
                "prompt_audio_seconds": 5,
                "prompt_tokens": 5,
                "completion_tokens": 24,
                "total_tokens": 404,
                "prompt_tokens_details": {"cached_tokens": 368},
            },
            (12, 24, 368, 0, 0),
        ),
        (  # no recording
            {"prompt_audio_seconds": None, "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
            (9, 2, 0, 0, 0),
        ),
        (  # OpenAI counts it in the prompt
            {
                "prompt_tokens": 384,
                "completion_tokens": 201,
                "total_tokens": 585,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 375},
            },
            (384, 201, 0, 0, 0),
        ),
        (  # Gemini: thinking is beside the completion, the recording in the prompt
            {
                "prompt_tokens": 384,
                "completion_tokens": 10,
                "total_tokens": 794,
                "prompt_tokens_details": {"audio_tokens": 375},
                "completion_tokens_details": {"reasoning_tokens": 400},
            },
            (384, 10, 0, 0, 400),
        ),
    ],
)
def test_tokens_are_counted_once_in_whatever_fields_a_server_counts_them(
    raw: Any, buckets: tuple[int, ...], loopback: Any
) -> None:
    message, _ = played(loopback, delta({"content": "x"}, "stop"), {"choices": [], "usage": raw}, DONE)

    used = message.usage
    assert (used.input, used.output, used.cache_read, used.cache_write, used.reasoning) == buckets
    assert used.raw == raw


MIB = b"x" * 1024 * 1024


@pytest.mark.parametrize(
    ("status", "kind", "begin", "words"),
    [
        (200, "text/event-stream", b'data: {"choices":[{"delta":{"content":"', "an event of more than 64 MiB"),
        (200, "application/json", b'{"choices":[{"message":{"content":"', "an answer of more than 64 MiB"),
        (400, "application/json", b'{"error":{"message":"', "status 400 and a text that is not JSON"),
    ],
)
@pytest.mark.parametrize("again", [False, True], ids=["first", "prepared"])
def test_what_a_server_sends_without_an_end_is_read_to_a_limit(
    status: int, kind: str, begin: bytes, words: str, again: bool, loopback: Any
) -> None:
    async def main() -> StreamEvent:
        async with loopback() as server:
            if again:
                server.sse(delta({"content": "x"}, "stop"), DONE)
            server.script.append((status, {"content-type": kind}, [begin, *[MIB] * 80]))
            adapter = OpenAIAdapter(None, base_url=server.url)
            try:
                for _ in range(1 + again):
                    _, last = await answer(adapter)
                return last
            finally:
                await adapter.close()

    error = asyncio.run(main()).error

    assert isinstance(error, ProviderError)
    assert words in error.message
    assert len(error.message) < 400


async def kept_open(sign: bytes, said: list[Any], stream: bool, **options: Any) -> StreamEvent:
    """The end of the answer of a server that says ``said``, and then nothing but ``sign``, for ever."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        kind = b"text/event-stream" if stream else b"application/json"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\n\r\n")
        for event in said:
            writer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        while not writer.is_closing():
            writer.write(sign)
            await asyncio.sleep(0)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        adapter = OpenAIAdapter(None, base_url=url, **options)
        try:
            return (await asyncio.wait_for(answer(adapter, stream), 30))[1]
        finally:
            await adapter.close()


@pytest.mark.parametrize(
    "sign",
    [b": PROCESSING\n\n", b"\n", b'data: {"type":"keepalive"}\n\n', b"event: ping\ndata: {}\n\n", b"data:\n\n"],
)
@pytest.mark.parametrize(
    ("said", "timeout", "words"),
    [([], 0.1, "no answer came within 0.1 s"), ([delta({"content": "x"})], 60, "was silent for 0.05 s")],
)
def test_a_server_that_only_keeps_the_connection_open_is_silent(
    sign: bytes, said: list[Any], timeout: float, words: str
) -> None:
    error = asyncio.run(kept_open(sign, said, True, timeout=timeout, idle_timeout=0.05)).error

    assert isinstance(error, ProviderError)
    assert error.kind is ErrorKind.timeout
    assert words in error.message


def test_blank_lines_before_an_answer_that_is_not_streamed_are_silence() -> None:
    error = asyncio.run(kept_open(b"\n", [], False, timeout=0.1, idle_timeout=60)).error

    assert isinstance(error, ProviderError)
    assert "no answer came within 0.1 s" in error.message


@pytest.mark.parametrize(
    "content",
    [
        ["Hel", "lo"],
        {"type": "text", "text": "Hello"},
        [{"type": "output_text", "text": "Hello"}],
        [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}],
    ],
    ids=["texts", "one part", "parts of Responses", "parts"],
)
@pytest.mark.parametrize("stream", [True, False])
def test_content_is_read_in_every_form(content: Any, stream: bool, loopback: Any) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}
    events = [delta({"content": content}), delta(finish="stop"), DONE] if stream else [body]

    message, _ = played(loopback, *events, stream=stream)

    assert message.content == (TextBlock("Hello"),)
    assert returned(message) == [{"role": "assistant", "content": "Hello"}]


def test_an_image_that_is_a_part_of_the_content_is_kept(loopback: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}

    message, _ = played(loopback, delta({"content": [{"type": "text", "text": "See:"}, image]}, "stop"), DONE)

    assert message.content == (TextBlock("See:"), ImageBlock("QUJD", "image/png"))


def test_an_answer_that_speaks_of_calls_and_has_none_has_stopped(loopback: Any) -> None:
    message, last = played(loopback, delta({"content": "x"}), delta(finish="tool_calls"), DONE)

    assert (message.stop_reason, last.raw_stop_reason) == (StopReason.stop, "tool_calls")
