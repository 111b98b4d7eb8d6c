"""The scripted server, asked by the providers' own clients and by plain HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from skillkit_testkit import Call, Cut, Fail, Gate, Hang, LLMServer, ReceivedRequest, Reply, auto

from skillkit_core import TokenUsage

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FULL = Reply(
    thinking="Let me think about the weather.",
    text="I will look that up.",
    tool_calls=[Call("weather", {"city": "Zürich"}), Call("clock", {})],
    usage=TokenUsage(input=100, output=20, cache_read=50, reasoning=7),
)


@pytest.fixture(scope="module", autouse=True)
def _sdks() -> None:
    """Import with the first test what takes long, and not where tests are collected."""
    global anthropic, openai
    import anthropic
    import openai


@dataclass
class Said:
    """What a client made of an answer."""

    text: str
    thinking: str
    calls: list[tuple[str, Any]]
    stop: str | None
    usage: TokenUsage


def ask_anthropic(server: LLMServer, prompt: str, stream: bool) -> Said:
    client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
    asked: dict[str, Any] = {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "weather", "description": "Weather of a city.", "input_schema": TOOL}],
    }
    with client:
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
    of = {kind: [b for b in message.content if b.type == kind] for kind in ("text", "thinking", "tool_use")}
    u = message.usage
    reasoning = u.output_tokens_details.thinking_tokens if u.output_tokens_details else 0
    return Said(
        "".join(b.text for b in of["text"]),
        "".join(b.thinking for b in of["thinking"]),
        [(b.name, b.input) for b in of["tool_use"]],
        message.stop_reason,
        TokenUsage(u.input_tokens, u.output_tokens - reasoning, u.cache_read_input_tokens or 0, reasoning=reasoning),
    )


def ask_chat(server: LLMServer, prompt: str, stream: bool) -> Said:
    client = openai.OpenAI(base_url=server.openai_url, api_key="k", max_retries=0)
    asked: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": prompt}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "weather", "description": "Weather of a city.", "parameters": TOOL},
            }
        ],
    }
    text, thinking, calls, stop, usage = "", "", {}, None, None
    with client:
        if stream:
            for chunk in client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    thinking += getattr(choice.delta, "reasoning_content", None) or ""
                    stop = choice.finish_reason or stop
                    for part in choice.delta.tool_calls or ():
                        name, args = calls.get(part.index, ("", ""))
                        calls[part.index] = (name + (part.function.name or ""), args + (part.function.arguments or ""))
        else:
            done = client.chat.completions.create(**asked)
            message, stop, usage = done.choices[0].message, done.choices[0].finish_reason, done.usage
            text, thinking = message.content or "", getattr(message, "reasoning_content", "") or ""
            calls = {n: (c.function.name, c.function.arguments) for n, c in enumerate(message.tool_calls or ())}
    cached, reasoning = usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens
    counted = TokenUsage(usage.prompt_tokens - cached, usage.completion_tokens - reasoning, cached, reasoning=reasoning)
    return Said(text, thinking, [(name, json.loads(args)) for name, args in calls.values()], stop, counted)


def ask_responses(server: LLMServer, prompt: str, stream: bool) -> Said:
    client = openai.OpenAI(base_url=server.openai_url, api_key="k", max_retries=0)
    tool = {"type": "function", "name": "weather", "description": "Weather of a city.", "parameters": TOOL}
    asked: dict[str, Any] = {"model": "m", "input": prompt, "tools": [{**tool, "strict": False}]}
    with client:
        if stream:
            with client.responses.stream(**asked) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
    thinking = "".join(s.text for item in response.output if item.type == "reasoning" for s in item.summary)
    calls = [(i.name, json.loads(i.arguments)) for i in response.output if i.type == "function_call"]
    u = response.usage
    cached, reasoning = u.input_tokens_details.cached_tokens, u.output_tokens_details.reasoning_tokens
    counted = TokenUsage(u.input_tokens - cached, u.output_tokens - reasoning, cached, reasoning=reasoning)
    return Said(response.output_text, thinking, calls, response.status, counted)


Ask = Callable[[LLMServer, str, bool], Said]
ASK: dict[str, Ask] = {
    "anthropic-messages": ask_anthropic,
    "openai-chat": ask_chat,
    "openai-responses": ask_responses,
}
CALLED = {"anthropic-messages": "tool_use", "openai-chat": "tool_calls", "openai-responses": "completed"}
LENGTH = {"anthropic-messages": "max_tokens", "openai-chat": "length", "openai-responses": "incomplete"}


@pytest.fixture(params=sorted(ASK))
def api(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[True, False], ids=["stream", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer() as running:
        yield running


@pytest.mark.parametrize("framing", ["event", "whole", 7])
def test_the_official_client_reads_text_thinking_calls_and_usage(
    llm_server: LLMServer, api: str, stream: bool, framing: Any
) -> None:
    reply = Reply(**{f: getattr(FULL, f) for f in ("thinking", "text", "tool_calls", "usage")}, framing=framing)
    llm_server.script(reply)

    said = ASK[api](llm_server, "weather?", stream)

    assert said == Said(
        "I will look that up.",
        "Let me think about the weather.",
        [("weather", {"city": "Zürich"}), ("clock", {})],
        CALLED[api],
        TokenUsage(input=100, output=20, cache_read=50, reasoning=7),
    )
    assert llm_server.last.api == api
    assert llm_server.last.stream is stream


def test_unknown_events_do_not_disturb_the_official_client(llm_server: LLMServer, api: str) -> None:
    llm_server.script(Reply(text="all the same", unknown=True))
    assert ASK[api](llm_server, "x", True).text == "all the same"


def test_stop_reasons_are_said_in_the_words_of_the_wire(llm_server: LLMServer, api: str, stream: bool) -> None:
    llm_server.script(Reply(text="cut sho", stop="length"))
    # the official client raises for a stream that ends in response.incomplete; what came over the wire is right
    if api == "openai-responses" and stream:
        client = openai.OpenAI(base_url=llm_server.openai_url, api_key="k", max_retries=0)
        with client:
            kinds = [e.type for e in client.responses.create(model="m", input="x", stream=True)]
        assert kinds[-1] == "response.incomplete"
    else:
        assert ASK[api](llm_server, "x", stream).stop == LENGTH[api]


def test_a_function_answers_by_the_tools_and_results_it_received(llm_server: LLMServer, api: str) -> None:
    def turn(request: ReceivedRequest) -> Reply:
        return Reply(text=f"{request.user_text}|{request.tool_names}|{request.tools[0].parameters['required']}")

    llm_server.script(turn)
    assert ASK[api](llm_server, "who are you", False).text == "who are you|('weather',)|['city']"


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (401, "AuthenticationError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (529, "InternalServerError"),
    ],
)
def test_errors_come_with_status_type_and_retry_after(
    llm_server: LLMServer, api: str, stream: bool, status: int, wanted: str
) -> None:
    llm_server.script(Fail(status, retry_after=3))

    with pytest.raises((getattr(anthropic, wanted), getattr(openai, wanted))) as caught:
        ASK[api](llm_server, "x", stream)

    assert caught.value.status_code == status
    assert caught.value.response.headers["retry-after"] == "3"
    assert caught.value.body


def test_an_error_in_the_middle_of_a_stream_ends_it(llm_server: LLMServer, api: str) -> None:
    llm_server.script(Fail(529, "overloaded_error", during=Reply(text=("one ", "two ")), after_deltas=1))
    with pytest.raises((anthropic.APIStatusError, openai.APIError, RuntimeError)):
        ASK[api](llm_server, "x", True)


@pytest.mark.parametrize("cut", [Cut(), Cut(after_bytes=40), Cut(after_deltas=2)])
def test_a_cut_connection_is_a_connection_error(llm_server: LLMServer, api: str, stream: bool, cut: Cut) -> None:
    llm_server.script(cut)
    with pytest.raises(Exception, match=r"(?i)connection|peer closed|incomplete|disconnect"):
        ASK[api](llm_server, "x", stream)
    # the server is as good as before
    llm_server.script(Reply(text="again"))
    assert ASK[api](llm_server, "x", stream).text == "again"


def test_a_gate_holds_the_rest_of_a_stream_until_it_is_opened(llm_server: LLMServer) -> None:
    gate = Gate(after_deltas=2)
    llm_server.script(Reply(text=("one ", "two ", "three"), gate=gate))
    client = openai.OpenAI(base_url=llm_server.openai_url, api_key="k", max_retries=0)
    seen = []
    with client:
        for chunk in client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True
        ):
            if text := chunk.choices[0].delta.content:
                seen.append(text)
            if len(seen) == 2 and not gate.opened:
                assert gate.reached.wait(30)
                assert not llm_server.last.answered.is_set()
                gate.open()
    assert seen == ["one ", "two ", "three"]
    assert llm_server.last.answered.wait(30)


@pytest.mark.parametrize("turn", [Hang(), Reply(text="never", gate=Gate(None)), Reply(text=("a", "b"), gate=Gate(0))])
def test_the_server_notices_that_the_client_went_away(llm_server: LLMServer, turn: Any) -> None:
    import socket
    import urllib.parse

    llm_server.script(turn)
    where = urllib.parse.urlsplit(llm_server.url)
    body = json.dumps({"model": "m", "input": "x", "stream": True}).encode()
    with socket.create_connection((where.hostname, where.port)) as connection:
        head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body)
        assert llm_server.wait_for_requests(1)
        assert not llm_server.last.disconnected.is_set()
    assert llm_server.last.disconnected.wait(30)
    assert not llm_server.last.answered.is_set()


def test_stopping_ends_answers_that_are_held_back() -> None:
    server = LLMServer(Hang()).start()
    client = openai.OpenAI(base_url=server.openai_url, api_key="k", max_retries=0)
    import threading

    errors: list[BaseException] = []

    def ask() -> None:
        with client, pytest.raises(openai.APIConnectionError) as caught:
            client.responses.create(model="m", input="x")
        errors.append(caught.value)

    thread = threading.Thread(target=ask)
    thread.start()
    assert server.wait_for_requests(1)
    server.stop()
    server.stop()
    thread.join(30)
    assert len(errors) == 1
    assert not server.requests[0].disconnected.is_set()


def test_models_are_listed_for_both_clients() -> None:
    with LLMServer(models=("one", "two")) as server:
        with openai.OpenAI(base_url=server.openai_url, api_key="k") as client:
            assert [m.id for m in client.models.list()] == ["one", "two"]
        with anthropic.Anthropic(base_url=server.url, api_key="k") as client:
            assert [m.id for m in client.models.list()] == ["one", "two"]


def test_a_request_without_a_turn_is_refused_and_reported(server: LLMServer, api: str) -> None:
    with pytest.raises((anthropic.BadRequestError, openai.BadRequestError), match="no turn for request 1"):
        ASK[api](server, "x", False)
    with pytest.raises(AssertionError, match="no turn for request 1"):
        server.check()


def test_a_raising_function_is_reported(server: LLMServer) -> None:
    def turn(request: ReceivedRequest) -> Reply:
        raise LookupError("no such thing")

    server.script([turn])
    with pytest.raises(openai.BadRequestError):
        ask_chat(server, "x", False)
    with pytest.raises(AssertionError, match="LookupError: no such thing"):
        server.check()


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
ILLEGAL = [
    ("/v1/messages", {"messages": [{"role": "user", "content": "x"}]}, "max_tokens"),
    ("/v1/messages", {"max_tokens": 1, "messages": [{"role": "user", "content": ""}]}, "non-empty"),
    (
        "/v1/messages",
        {
            "max_tokens": 1,
            "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "n", "input": {}}]},
                {"role": "user", "content": "and?"},
            ],
        },
        "'t1' has no result",
    ),
    (
        "/v1/chat/completions",
        {"messages": [{"role": "tool", "tool_call_id": "c9", "content": ""}]},
        "no open tool call",
    ),
    (
        "/v1/chat/completions",
        {"messages": [{"role": "assistant", "tool_calls": [CALL]}, {"role": "user", "content": "and?"}]},
        "'c1' has no result",
    ),
    (
        "/v1/responses",
        {"input": [{"type": "function_call_output", "call_id": "c9", "output": ""}]},
        "no open tool call",
    ),
    ("/v1/responses", {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}, "required following item"),
]


@pytest.mark.parametrize(("path", "body", "why"), ILLEGAL)
def test_what_a_provider_would_refuse_is_refused(server: LLMServer, path: str, body: Any, why: str) -> None:
    import urllib.error
    import urllib.request

    server.script(Reply(text="not reached"))
    request = urllib.request.Request(
        server.url + path, json.dumps({"model": "m", **body}).encode(), {"anthropic-version": "2023-06-01"}
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as error:
        assert error.code == 400
        assert why in json.loads(error.read())["error"]["message"]
    assert server.turns_left == 1


def test_the_auto_rule_calls_a_tool_and_repeats_its_output_over_every_wire(llm_server: LLMServer, api: str) -> None:
    llm_server.always(auto)
    assert ASK[api](llm_server, 'the weather in "Bern" please', True).calls == [("weather", {"city": "Bern"})]
    assert ASK[api](llm_server, "nothing that fits", True).text == "No offered tool fits the request."


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_the_command_prints_its_url_and_answers_until_it_is_told_to_end(tmp_path: Any, signal: str) -> None:
    import signal as signals

    log = tmp_path / "log.jsonl"
    argv = [sys.executable, "-m", "skillkit_testkit.server", "--reply", "from the shell", "--log", str(log)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
            done = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
        assert done.choices[0].message.content == "from the shell"
        process.send_signal(getattr(signals, signal))
        assert process.wait(30) == 0
    logged = [json.loads(line)["body"]["messages"][0]["content"] for line in log.read_text().splitlines()]
    assert "hello" in logged  # another program may still ask whoever had this port before


def test_the_command_ends_when_nobody_asks() -> None:
    argv = [sys.executable, "-m", "skillkit_testkit.server", "--idle", "0"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("http://127.0.0.1:")
