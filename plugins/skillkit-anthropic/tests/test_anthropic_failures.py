"""What can go wrong on the way: cut connections, aborts, timeouts, refusals of the server, and hooks around a request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.errors import error_of_body
from skillkit_anthropic.interrupt import Interrupt, Interrupted

from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import StopReason, UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import MessageBuilder

MODEL = ModelDefinition("claude-sonnet-4-5", "anthropic")
TEXT = [
    {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def sse(events: list[dict[str, Any]]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def ask(text: str = "hi", **fields: Any) -> LLMRequest:
    return LLMRequest(MODEL, [UserMessage(content=text)], **fields)


async def collect(adapter: AnthropicAdapter, request: LLMRequest | None = None) -> list[Any]:
    try:
        return [event async for event in adapter.stream(request or ask())]
    finally:
        await adapter.close()


class Server:
    """A loopback server that answers every request with ``answer(request) -> pieces of the raw response``."""

    def __init__(self, answer: Callable[[dict[str, Any]], AsyncIterator[bytes]]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self._talks: dict[asyncio.Task[Any], asyncio.Task[Any]] = {}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        current = asyncio.current_task()
        assert current is not None
        talk = self._talks[current] = asyncio.create_task(self._talk(reader, writer))
        await asyncio.wait([talk])
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                seen = {
                    "line": head[0],
                    "headers": headers,
                    "body": json.loads(body) if body else None,
                    "raw": body,
                    "reader": reader,
                }
                self.requests.append(seen)
                async for piece in self.answer(seen):
                    writer.write(piece)
                    await writer.drain()

    @contextlib.asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for talk in self._talks.values():
                talk.cancel()
            await asyncio.gather(*self._talks)


def response(body: bytes, status: str = "200 OK", kind: str = "text/event-stream", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{extra}content-length: {len(body)}\r\n\r\n".encode() + body


def answering(*bodies: bytes) -> Callable[[dict[str, Any]], AsyncIterator[bytes]]:
    left = list(bodies)

    async def answer(request: dict[str, Any]) -> AsyncIterator[bytes]:
        yield left.pop(0) if len(left) > 1 else left[0]

    return answer


# ---------------------------------------------------------------- cut connections


@pytest.mark.parametrize("mode", ["fin", "rst", "clean"])
def test_a_connection_cut_anywhere_gives_a_partial_answer_and_one_error(cases, replay, mode):
    chosen = [c for c in cases if c.index["stream"] and "tool_call" in c.index["features"] and c.index["bytes"] < 9000][
        :4
    ]
    assert len(chosen) == 4

    async def one(case, cut):
        url = f"{replay}/case/{case.id};cut={cut};cut_mode={mode};chunk=200"
        return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    async def everything():
        jobs = {}
        for case in chosen:
            size = len(case.body)
            for cut in (0, 1, size // 5, size // 3, size // 2, size * 2 // 3, size * 4 // 5):
                jobs[case.id, cut] = one(case, cut)
        return dict(zip(jobs, await asyncio.gather(*jobs.values()), strict=True))

    for (case_id, cut), events in asyncio.run(everything()).items():
        where = (case_id, cut)
        assert [e.type for e in events].count("error") == 1, where
        assert events[-1].type == "error", where
        assert events[-1].error.kind in (ErrorKind.connection, ErrorKind.protocol), where
        assert events[-1].error.retryable
        if mode == "clean":
            assert events[-1].error.kind is ErrorKind.protocol, where


def test_a_server_that_is_not_there_is_a_connection_error():
    async def run():
        async with Server(answering(b"")).running() as url:
            pass
        return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    (event,) = asyncio.run(run())
    assert event.error.kind is ErrorKind.connection
    assert "\n" not in str(event.error)


# ---------------------------------------------------------------- abort and time


def test_abort_closes_the_connection_at_once_and_keeps_what_was_said():
    async def answer(request):
        body = sse(TEXT[:3])
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n" + body
        assert await request["reader"].read() == b""
        gone.set()

    gone = asyncio.Event()

    async def run():
        server = Server(answer)
        signal = AbortSignal()
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            builder, events = MessageBuilder(), []
            async with asyncio.timeout(10):
                async for event in adapter.stream(ask(signal=signal)):
                    events.append(event)
                    builder.add(event)
                    if event.type == "text_delta":
                        asyncio.get_running_loop().call_soon(signal.abort, "enough")
                await gone.wait()  # the server sees the end while the adapter is still open
            await adapter.close()
        return events, builder

    events, builder = asyncio.run(run())
    assert [e.type for e in events] == ["text_start", "text_delta", "error"]
    assert events[-1].error.kind is ErrorKind.aborted
    assert builder.message().stop_reason is StopReason.aborted
    assert builder.text == "Hel"
    assert events[-1].usage.input == 3


@pytest.mark.parametrize("when", ["before", "waiting"])
def test_abort_before_the_first_byte(when):
    async def hang(request):
        await asyncio.Event().wait()
        yield b""

    async def run():
        server = Server(hang)
        signal = AbortSignal()
        if when == "before":
            signal.abort()
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            task = asyncio.create_task(collect(adapter, ask(signal=signal)))
            while when == "waiting" and not server.requests:
                await asyncio.sleep(0)
            signal.abort("stop it")
            async with asyncio.timeout(10):
                return await task, len(server.requests)

    events, sent = asyncio.run(run())
    assert [e.type for e in events] == ["error"]
    assert events[0].error.kind is ErrorKind.aborted
    assert sent == (0 if when == "before" else 1)


def test_abort_from_another_thread():
    async def hang(request):
        await asyncio.Event().wait()
        yield b""

    async def run():
        server = Server(hang)
        signal = AbortSignal()
        async with server.running() as url:
            task = asyncio.create_task(collect(AnthropicAdapter(None, base_url=url, api_key="k"), ask(signal=signal)))
            while not server.requests:
                await asyncio.sleep(0)
            await asyncio.to_thread(signal.abort)
            async with asyncio.timeout(10):
                return await task

    assert asyncio.run(run())[-1].error.kind is ErrorKind.aborted


def test_cancellation_passes_and_leaves_no_connection():
    async def hang(request):
        await asyncio.Event().wait()
        yield b""

    async def run():
        server = Server(hang)
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            task = asyncio.create_task(collect(adapter))
            while not server.requests:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_no_first_event_in_time_is_a_timeout_and_a_slow_rest_is_not():
    gate = asyncio.Event()

    async def slow(request):
        if request["body"]["messages"][0]["content"][0]["text"] == "never":
            await asyncio.Event().wait()
        body = sse(TEXT)
        yield f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        yield sse(TEXT[:3])
        await gate.wait()
        yield sse(TEXT[3:])

    async def run():
        async with Server(slow).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            late = [e async for e in adapter.stream(ask("never", settings=ModelSettings(timeout=0.05)))]
            events = []
            async for event in adapter.stream(ask(settings=ModelSettings(timeout=20.0))):
                events.append(event)
                if event.type == "text_delta":
                    gate.set()
            await adapter.close()
            return late, events

    late, events = asyncio.run(run())
    assert [e.error.kind for e in late] == [ErrorKind.timeout]
    assert "0.05" in str(late[0].error)
    assert events[-1].type == "done"


def test_a_server_that_falls_silent_is_a_timeout():
    go_on = asyncio.Event()

    async def stop_talking(request):
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n"
        yield sse(TEXT[:3])
        await asyncio.Event().wait()

    async def talk(request):
        body = sse(TEXT)
        yield f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        yield sse(TEXT[:3])
        await go_on.wait()
        yield sse(TEXT[3:])

    async def run():
        async with Server(stop_talking).running() as url:
            silent = await collect(AnthropicAdapter(None, base_url=url, api_key="k", timeout=0.05))
        async with Server(talk).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k", timeout=5.0)
            events = []
            async for event in adapter.stream(ask()):
                events.append(event)
                if event.type == "text_delta":
                    go_on.set()
            await adapter.close()
        return silent, events

    silent, events = asyncio.run(run())
    assert [e.type for e in silent] == ["text_start", "text_delta", "error"]
    assert silent[-1].error.kind is ErrorKind.timeout
    assert "silent for 0.05" in str(silent[-1].error)
    assert events[-1].type == "done"


def test_only_waiting_counts_as_silence():
    """The time that a consumer takes between two events is not the server's."""

    async def run():
        clock = asyncio.get_running_loop()
        with Interrupt(AbortSignal()) as interrupt:
            interrupt.watch(60.0)
            interrupt._since = clock.time() - 1_000  # long ago, while nobody was waiting
            interrupt._look()
            assert interrupt.reason is None
            assert await interrupt.wait(asyncio.sleep(0, "answer")) == "answer"
            waiting = asyncio.ensure_future(interrupt.wait(clock.create_future()))
            await asyncio.sleep(0)
            interrupt._since -= 1_000
            interrupt._look()
            with pytest.raises(Interrupted):
                await waiting
            return interrupt.reason

    assert asyncio.run(run()) == "silence"


# ---------------------------------------------------------------- what servers answer


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"type": "invalid_request_error", "message": "max_tokens: 5000 > 4096"}, ErrorKind.invalid_request),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"},
            ErrorKind.overflow,
        ),
        (
            400,
            {"type": "invalid_request_error", "message": "the text 'prompt is too long' occurs"},
            ErrorKind.invalid_request,
        ),
        (
            429,
            {"type": "rate_limit_error", "message": "prompt is too long, too many tokens, 500"},
            ErrorKind.rate_limit,
        ),
        (429, {"type": "rate_limit_error", "message": "1500 tokens"}, ErrorKind.rate_limit),
        (400, {"type": "billing_error", "message": "no credit"}, ErrorKind.quota),
        (
            429,
            {"type": "rate_limit_error", "message": "x", "details": {"error_code": "enforced_spend_limit_reached"}},
            ErrorKind.quota,
        ),
        (403, {"type": "permission_error", "message": "no"}, ErrorKind.permission),
        (404, {"type": "not_found_error", "message": "model: x"}, ErrorKind.not_found),
        (413, {"type": "request_too_large", "message": "x"}, ErrorKind.overflow),
        (500, {"type": "api_error", "message": "429 503"}, ErrorKind.server),
        (504, {"type": "timeout_error", "message": "x"}, ErrorKind.timeout),
        (529, {"type": "overloaded_error", "message": "x"}, ErrorKind.overloaded),
        (418, {"type": "new_error", "message": "x"}, ErrorKind.invalid_request),
        (502, None, ErrorKind.server),
    ],
)
def test_errors_are_classified_by_status_and_type(status, body, kind):
    found = error_of_body({"type": "error", "error": body} if body else "<html>bad gateway</html>", status=status)
    assert found.kind is kind
    assert found.status == status


@pytest.mark.spec("9.43")
@pytest.mark.parametrize("kind_name", ["overloaded_error", "api_error", "rate_limit_error"])
def test_an_error_in_mid_stream_is_read_by_its_type_because_its_status_is_200(kind_name):
    broken = [*TEXT[:3], {"type": "error", "error": {"type": kind_name, "message": "m"}}]

    async def run():
        async with Server(answering(response(sse(broken)))).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k", provider="anthropic"))

    events = asyncio.run(run())
    assert [e.type for e in events] == ["text_start", "text_delta", "error"]
    error = events[-1].error
    assert (error.status, error.type, error.provider) == (200, kind_name, "anthropic")
    assert error.retryable


def test_retry_after_is_handed_on_and_the_adapter_never_retries(replay, cases):
    case = next(c for c in cases if c.index["stream"] and c.index["status"] == 200)

    async def run():
        url = f"{replay}/case/{case.id};fail=429,529;retry_after=18000"
        adapter = AnthropicAdapter(None, base_url=url, api_key="k")
        first = [e async for e in adapter.stream(ask())]
        second = [e async for e in adapter.stream(ask())]
        third = [e async for e in adapter.stream(ask())]
        await adapter.close()
        return first, second, third

    first, second, third = asyncio.run(run())
    assert [(e.error.kind, e.error.retry_after) for e in first] == [(ErrorKind.rate_limit, 18000.0)]
    assert [e.error.kind for e in second] == [ErrorKind.overloaded]
    assert third[-1].type == "done"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (response(b"<html>hello</html>", kind="text/html"), ErrorKind.protocol),
        (response(b"{}", kind="application/json"), ErrorKind.protocol),
        (response(b"<html>oops</html>", "502 Bad Gateway", "text/html"), ErrorKind.server),
        (response(b"data: {nonsense\n\n"), ErrorKind.protocol),
        (response(b""), ErrorKind.protocol),
        (
            response(b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', kind="application/json"),
            ErrorKind.overloaded,
        ),
    ],
)
def test_answers_that_are_none(answer, kind):
    async def run():
        async with Server(answering(answer)).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    (event,) = asyncio.run(run())
    assert (event.type, event.error.kind) == ("error", kind)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ({"message": "no such route"}, "no such route"),
        ({"error": {"message": None}}, "the server answered with status 404"),
        ("gone", "gone"),
        (None, "the server answered with status 404"),
    ],
)
def test_the_words_of_servers_that_report_errors_their_own_way(body, message):
    found = error_of_body(body, status=404)
    assert (found.message, found.kind) == (message, ErrorKind.not_found)


def test_an_echoed_key_is_not_shown():
    body = json.dumps({"type": "error", "error": {"type": "authentication_error", "message": "bad key sk-secret-1"}})

    async def run():
        async with Server(answering(response(body.encode(), "401 Unauthorized", "application/json"))).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="sk-secret-1"))

    (event,) = asyncio.run(run())
    assert event.error.kind is ErrorKind.auth
    assert "sk-secret-1" not in str(event.error)
    assert "ANTHROPIC_API_KEY" in str(event.error)


# ---------------------------------------------------------------- hooks, headers, credentials


def test_hooks_see_the_final_payload_and_headers_and_may_change_them():
    seen: dict[str, Any] = {}

    async def on_request(payload, headers):
        seen["payload"], seen["headers"] = payload, headers
        changed = {k: v for k, v in headers.items() if not k.lower().startswith("x-stainless")}
        return {**payload, "metadata": {"user_id": "u"}}, {**changed, "x-mine": "1"}

    async def on_response(status, headers):
        seen["response"] = (status, headers["content-type"])

    async def run():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url + "/v1/", api_key="key-1", headers={"x-team": "blue"})
            settings = ModelSettings(headers={"anthropic-beta": "b-1"})
            events = await collect(adapter, ask(on_request=on_request, on_response=on_response, settings=settings))
        return events, server.requests[0]

    events, sent = asyncio.run(run())
    assert events[-1].type == "done"
    assert sent["line"].startswith("POST /v1/messages ")
    low = {k.lower(): v for k, v in seen["headers"].items()}
    assert (low["x-team"], low["anthropic-beta"]) == ("blue", "b-1")
    assert "key-1" in low["authorization"]
    assert sent["body"] == {**seen["payload"], "metadata": {"user_id": "u"}}
    assert sent["headers"]["x-mine"] == "1"
    assert sent["headers"]["x-team"] == "blue"
    assert sent["headers"]["authorization"] == low["authorization"]
    assert not [h for h in sent["headers"] if h.startswith("x-stainless-l")]
    assert seen["response"] == (200, "text/event-stream")


def test_a_hook_that_changes_nothing_sends_the_very_same_bytes():
    async def same(payload, headers):
        with pytest.raises(TypeError):
            payload["model"] = "other"
        return payload, headers

    async def run():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            async for _ in adapter.stream(ask()):
                pass
            await collect(adapter, ask(on_request=same))
        return server

    server = asyncio.run(run())
    assert server.requests[0]["raw"] == server.requests[1]["raw"]
    assert server.connections == 1  # and the connection was used again


def test_a_hook_that_refuses_sends_nothing():
    async def refuse(payload, headers):
        raise ProviderError("policy says no", kind=ErrorKind.content_filter)

    async def run():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k"), ask(on_request=refuse)), server

    events, server = asyncio.run(run())
    assert [e.error.message for e in events] == ["policy says no"]
    assert not server.requests


def test_another_provider_never_sees_the_credentials_of_anthropic(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ours")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-ours")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-secret: ours")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    async def run():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            await collect(AnthropicAdapter(None, provider="ollama-anthropic", base_url=url))
            await collect(AnthropicAdapter(None, provider="other", base_url=url, api_key="theirs"))
        return server.requests

    first, second = asyncio.run(run())
    for request in (first, second):
        assert "ours" not in json.dumps(request["headers"])
    assert "authorization" not in first["headers"]
    assert "x-api-key" not in first["headers"]
    assert "theirs" in second["headers"]["authorization"]


def test_the_environment_gives_key_and_address(monkeypatch):
    async def run():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
            events = await collect(AnthropicAdapter())
        return events, server.requests

    events, (request,) = asyncio.run(run())
    assert events[-1].type == "done"
    assert "sk-env" in request["headers"]["authorization"]


def test_without_any_key_the_error_says_what_to_set(monkeypatch, tmp_path):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    (event,) = asyncio.run(collect(AnthropicAdapter()))
    assert event.error.kind is ErrorKind.auth
    assert "ANTHROPIC_API_KEY" in str(event.error)


def test_requests_go_through_the_configured_proxy():
    async def run():
        proxy = Server(answering(response(sse(TEXT))))
        async with proxy.running() as url:
            adapter = AnthropicAdapter(None, base_url="http://models.invalid", api_key="k", proxy=url)
            events = await collect(adapter)
        return events, proxy.requests

    events, (request,) = asyncio.run(run())
    assert events[-1].type == "done"
    assert request["line"].startswith("POST http://models.invalid/v1/messages ")


@pytest.mark.parametrize("kind", ["application/octet-stream", "application/json"])
def test_a_stream_with_a_wrong_content_type_is_read(kind):
    async def run():
        async with Server(answering(response(sse(TEXT), kind=kind))).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    assert [e.type for e in asyncio.run(run())] == ["text_start", "text_delta", "text_delta", "text_end", "done"]


def test_compressed_answers_are_read(replay, cases):
    case = next(c for c in cases if c.index["stream"] and "tool_call" in c.index["features"])
    run = collect(AnthropicAdapter(None, base_url=f"{replay}/case/{case.id};gzip=1", api_key="k"))
    assert asyncio.run(run)[-1].type == "done"


def test_not_streaming_is_the_same_contract():
    message = {
        "type": "message",
        "id": "m",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": {},
    }

    async def run():
        server = Server(answering(response(json.dumps(message).encode(), kind="application/json")))
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            answer = await adapter.complete(ask(stream=False))
            await adapter.complete(ask(stream=False, settings=ModelSettings(max_tokens=64_000)))
            await adapter.close()
        return answer, server.requests

    answer, (short, long) = asyncio.run(run())
    assert (answer.text, answer.provider, answer.api, answer.model) == (
        "hi",
        "anthropic",
        "anthropic-messages",
        MODEL.id,
    )
    assert short["body"]["stream"] is False
    assert long["body"]["stream"] is True  # so long an answer would lose an idle connection


def test_many_sessions_at_once_lose_nothing():
    async def run():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            answers = await asyncio.gather(*(adapter.complete(ask(f"session {i}")) for i in range(200)))
            await adapter.close()
        return answers, server.requests

    answers, requests = asyncio.run(run())
    assert [a.text for a in answers] == ["Hello"] * 200
    assert len(requests) == 200


def test_an_adapter_serves_one_event_loop_after_another():
    adapters: list[AnthropicAdapter] = []

    async def run(port: int):
        async with Server(answering(response(sse(TEXT)))).running(port) as url:
            if not adapters:
                adapters.append(AnthropicAdapter(None, base_url=url, api_key="k"))
            return await collect(adapters[0]), int(url.rpartition(":")[2])

    first, port = asyncio.run(run(0))
    second, _ = asyncio.run(run(port))
    assert first[-1].type == second[-1].type == "done"


def test_an_application_that_never_closes_it_is_not_scolded(replay):
    code = f"""
import asyncio
from skillkit_anthropic import AnthropicAdapter
from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition
adapter = AnthropicAdapter(None, base_url="{replay}/case/none", api_key="k")
async def main():
    async for event in adapter.stream(LLMRequest(ModelDefinition("m"), [UserMessage(content="hi")])):
        print(event.error.status)
asyncio.run(main())
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["404", "404"]
    assert done.stderr == ""
