"""Failures in words for people: kind, whether it is tried again, host, and what to do. Everything runs on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any, get_args

import pytest
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.errors import error_of_body

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError, UsageError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

STREAM = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
KEY = "sk-ant-very-secret-1"
JSON = "application/json"
MODEL = ModelDefinition("claude-sonnet-4-5", "anthropic")


class Server:
    """Answers every request with the same bytes, before it has read anything where ``early``; keeps what it was asked."""

    def __init__(self, answer: bytes, *, early: bool = False) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self.connections = 0
        self._early = early
        self._talks: set[asyncio.Task[Any]] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        talk = asyncio.current_task()
        assert talk is not None
        self._talks.add(talk)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            if not self._early:
                await self._read(reader)
            writer.write(self.answer)
            await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        await reader.readexactly(int(fields.get(b"content-length", 0)))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for talk in self._talks:
                talk.cancel()
            await asyncio.gather(*self._talks)


def raw(status: int, kind: str, body: bytes, **headers: str) -> bytes:
    extra = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    return f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{extra}content-length: {len(body)}\r\n\r\n".encode() + body


def said(type_: str, message: str = "x") -> bytes:
    return json.dumps({"type": "error", "error": {"type": type_, "message": message}}).encode()


def ask(stream: bool = True, **fields: Any) -> LLMRequest:
    return LLMRequest(
        fields.pop("model", MODEL), [UserMessage(content=fields.pop("text", "hi"))], stream=stream, **fields
    )


async def fails(adapter: AnthropicAdapter, request: LLMRequest | None = None) -> ProviderError:
    """The error of a request that must end in one."""
    try:
        events = [e async for e in adapter.stream(request or ask())]
    finally:
        await adapter.close()
    assert [e.terminal for e in events].count(True) == 1
    error = events[-1].error
    assert isinstance(error, ProviderError)
    assert error.provider == adapter.provider
    assert "\n" not in str(error)
    assert KEY not in str(error)
    return error


async def answered(answer: bytes, request: LLMRequest | None = None, **options: Any) -> ProviderError:
    server = Server(answer)
    async with server.running() as url:
        error = await fails(AnthropicAdapter(None, base_url=url, api_key=KEY, **options), request)
        assert url.removeprefix("http://") in str(error), "the host is named"
    assert len(server.requests) == 1, "the adapter never tries again"
    return error


# ---------------------------------------------------------------- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@STREAM
def test_a_redirect_takes_neither_key_nor_conversation_to_another_server(stream: bool, status: int) -> None:
    async def main() -> None:
        other = Server(raw(200, JSON, b"{}"))
        async with other.running() as there:
            asked = Server(raw(status, "text/html", b"", location=f"{there}/v1/messages?token=abc"))
            async with asked.running() as here:
                error = await fails(AnthropicAdapter(None, base_url=here, api_key=KEY), ask(stream))
            assert (error.kind, error.status, error.retryable) == (ErrorKind.invalid_request, status, False)
            assert f"redirects to {there}/v1/messages, which is not followed" in str(error)
            assert f"set base_url to {there} if you trust it" in str(error)
            assert "token" not in str(error)
            assert (other.connections, len(asked.requests)) == (0, 1)

    asyncio.run(main())


def test_a_list_of_models_is_not_fetched_from_another_server() -> None:
    async def main() -> None:
        other = Server(raw(200, JSON, b'{"data": []}'))
        async with other.running() as there:
            asked = Server(raw(302, "text/html", b"", location=f"{there}/v1/models"))
            async with asked.running() as here:
                adapter = AnthropicAdapter(None, base_url=here, api_key=KEY)
                with pytest.raises(ProviderError, match=r"redirects to .*/v1/models, which is not followed"):
                    await adapter.list_models()
                await adapter.close()
            assert other.connections == 0

    asyncio.run(main())


# ---------------------------------------------------------------- answers that are none


@pytest.mark.parametrize(
    ("status", "kind_of_body", "body", "kind", "retryable", "words"),
    [
        (200, "text/html", b"<title>Welcome to nginx!</title>", ErrorKind.protocol, False, "Welcome to nginx!"),
        (200, JSON, b"", ErrorKind.protocol, True, "an empty body"),
        (200, "text/event-stream", b"", ErrorKind.protocol, True, "an empty body"),
        (200, "text/event-stream", b": ping\n\n", ErrorKind.protocol, True, "an event stream without an event"),
        (200, "text/event-stream", b"<html><title>Sign in</title>", ErrorKind.protocol, False, "an HTML page (Sign in)"),
        (200, "text/event-stream", said("overloaded_error", "Busy"), ErrorKind.overloaded, True, "Busy; the server is"),
        (200, "text/plain", said("authentication_error", "no"), ErrorKind.auth, False, "check ANTHROPIC_API_KEY"),
        (200, JSON, b'{"detail": "Not authenticated"}', ErrorKind.protocol, True, '{"detail":"Not authenticated"}'),
        (200, JSON, b'{"error": {"type": "rate_limit_error", "message": "\xff"}}', ErrorKind.rate_limit, True, "\ufffd"),
        (200, "text/event-stream", b"data: {}x\n\n", ErrorKind.protocol, True, "an event that is not of the Messages API"),
        (200, JSON, b'{"content": [', ErrorKind.protocol, True, "not JSON"),
        (200, "text/plain", b"pong", ErrorKind.protocol, True, "not JSON (pong)"),
        (200, JSON, b"[]", ErrorKind.protocol, True, "no message of the Messages API"),
        (200, JSON, b'{"choices": []}', ErrorKind.protocol, True, "no message of the Messages API"),
        (502, "text/html", b"<title>502 Bad Gateway</title>", ErrorKind.server, True, "an HTML page (502 Bad Gateway)"),
        (503, "text/plain", b"no healthy upstream", ErrorKind.overloaded, True, "no healthy upstream"),
        (529, JSON, said("overloaded_error", "Overloaded"), ErrorKind.overloaded, True, "use another model"),
        (403, "text/html", b"<title>Just a moment...</title>", ErrorKind.permission, False, "a proxy or firewall"),
        (403, JSON, said("permission_error", "no"), ErrorKind.permission, False, "what ANTHROPIC_API_KEY may use"),
        (404, "text/plain", b"404 page not found", ErrorKind.not_found, False, "/v1/messages"),
        (404, JSON, b'{"detail": "Not Found"}', ErrorKind.not_found, False, "Not Found; check base_url"),
        (404, JSON, said("not_found_error", "model: x"), ErrorKind.not_found, False, "check the name of the model"),
        (405, "text/html", b"", ErrorKind.invalid_request, False, "check base_url"),
        (407, "text/html", b"", ErrorKind.invalid_request, False, "user and password into the proxy's URL"),
        (413, JSON, said("request_too_large"), ErrorKind.overflow, False, "send less"),
        (429, JSON, said("insufficient_balance_error"), ErrorKind.quota, False, "waiting does not help"),
        (500, JSON, b"{}", ErrorKind.server, True, "status 500"),
    ],
)  # fmt: skip
@STREAM
def test_each_answer_that_is_no_message_has_its_line(
    stream: bool, status: int, kind_of_body: str, body: bytes, kind: ErrorKind, retryable: bool, words: str
) -> None:
    error = asyncio.run(answered(raw(status, kind_of_body, body), ask(stream)))
    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.status in (status, None)
    assert words in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", " sent what is no HTTP answer: Bad status line; try again"),
        (
            raw(200, JSON, b"{}", x_long="x" * 100_000),
            ": Got more than 65536 bytes when reading; try",
        ),
        (
            raw(200, JSON, b"{}").replace(b"length: 2", b"length: 9"),
            " in the middle of the answer",
        ),
        (raw(200, "text/event-stream", b"")[:30], " closed the connection; try again"),
    ],
    ids=[
        "no HTTP",
        "a header without end",
        "a body that breaks off",
        "a head that breaks off",
    ],
)
@STREAM
def test_an_answer_that_http_cannot_carry_is_told_in_words(stream: bool, answer: bytes, words: str) -> None:
    error = asyncio.run(answered(answer, ask(stream)))
    assert (error.kind, error.retryable) == (ErrorKind.connection, True)
    assert words in str(error)
    assert "400" not in re.sub(
        r":\d+", "", str(error)
    )  # aiohttp's own status for what is no HTTP; a port may have these digits
    assert "<" not in str(error)


def test_a_message_is_read_whatever_its_content_type() -> None:
    body = b'{"id": "m", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}'

    async def main(kind: str) -> list[str]:
        async with Server(raw(200, kind, body)).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key=KEY)
            try:
                return [e.type async for e in adapter.stream(ask())]
            finally:
                await adapter.close()

    for kind in ("text/event-stream", "TEXT/EVENT-STREAM", "application/octet-stream", ""):
        assert asyncio.run(main(kind)) == ["text_start", "text_delta", "text_end", "done"], kind


def test_a_rate_limit_says_how_long_to_wait() -> None:
    body = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}).encode()
    error = asyncio.run(answered(raw(429, JSON, body, retry_after="18000")))
    assert (error.kind, error.retry_after) == (ErrorKind.rate_limit, 18_000)
    assert "slow down; the server asks to wait 5 h" in str(error)


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "check ANTHROPIC_API_KEY, or pass api_key"),
        ({"provider": "zai-anthropic", "key_hint": "ZAI_API_KEY"}, "check ZAI_API_KEY, or pass api_key"),
        ({"provider": "ollama-anthropic"}, "check the API key of this server"),
    ],
)
def test_a_refused_key_is_looked_for_in_its_variable(options: Any, words: str) -> None:
    body = json.dumps({"error": {"type": "authentication_error", "message": f"invalid {KEY}"}}).encode()
    error = asyncio.run(answered(raw(401, JSON, body), **options))
    assert (error.kind, error.retryable) == (ErrorKind.auth, False)
    assert words in str(error)
    assert "***" in str(error)


@pytest.mark.parametrize("key", ["sk-a\nb", "schlüssel"])
def test_a_key_that_cannot_be_sent_fails_before_anything_is_sent(key: str) -> None:
    async def main() -> None:
        server = Server(b"")
        async with server.running() as url:
            error = await fails(AnthropicAdapter(None, base_url=url, api_key=key))
        assert error.kind is ErrorKind.auth
        assert "ANTHROPIC_API_KEY" in str(error)
        assert server.connections == 0

    asyncio.run(main())


def test_a_line_break_around_a_key_is_left_out() -> None:
    async def main() -> None:
        server = Server(raw(500, JSON, b"{}"))
        async with server.running() as url:
            await fails(AnthropicAdapter(None, base_url=url, api_key=" sk-1\n"))
        assert b": Bearer sk-1\r\n" in server.requests[0] or b": sk-1\r\n" in server.requests[0]

    asyncio.run(main())


# ---------------------------------------------------------------- too long


IN_WORDS = {
    "MiniMax": {
        "type": "error",
        "error": {"type": "bad_request_error", "message": "context window exceeds limit (2013)"},
    },
    "Ollama": {"type": "error", "error": {"type": "invalid_request_error", "message": "input is too long"}},
    "a gateway": {"error": {"message": "too many input tokens"}},
}


@pytest.mark.parametrize("server", IN_WORDS)
def test_a_refusal_in_words_alone_is_an_overflow_where_the_request_is_longer_than_the_window(server: str) -> None:
    answer = raw(400, "application/json", json.dumps(IN_WORDS[server]).encode())

    def of(window: int, **settings: Any) -> ErrorKind:
        model = ModelDefinition("m", context_window=window)
        request = ask(text="x" * 10_000, model=model, settings=ModelSettings(**settings))
        return asyncio.run(answered(answer, request)).kind

    assert of(2_000) is ErrorKind.overflow
    assert of(4_000) is ErrorKind.invalid_request
    assert of(4_000, max_tokens=2_000) is ErrorKind.overflow
    assert of(0) is ErrorKind.invalid_request


@pytest.mark.parametrize(
    ("status", "kind_name"), [(429, "rate_limit_error"), (401, "authentication_error"), (400, "billing_error")]
)
def test_a_refusal_with_another_reason_is_no_overflow_however_long_the_request(status: int, kind_name: str) -> None:
    body = json.dumps({"error": {"type": kind_name, "message": "prompt is too long: 9 tokens > 8 maximum"}}).encode()
    request = ask(text="x" * 10_000, model=ModelDefinition("m", context_window=100))
    assert asyncio.run(answered(raw(status, JSON, body), request)).kind is not ErrorKind.overflow


TOO_LONG = "prompt is too long: 209000 tokens > 200000 maximum"


@pytest.mark.parametrize("message", [TOO_LONG, "input length and `max_tokens` exceed context limit: 190000 + 20000"])
def test_the_two_sentences_of_the_api_for_an_overlong_prompt_are_an_overflow_without_a_known_window(
    message: str,
) -> None:
    answer = said("invalid_request_error", message)
    assert asyncio.run(answered(raw(400, JSON, answer))).kind is ErrorKind.overflow


@pytest.mark.parametrize(
    "message",
    [
        f"messages.0: {TOO_LONG}",
        f"the tool said: {TOO_LONG}",
        "This request would exceed your rate limit of 400,000 input tokens per minute",
    ],
)
def test_the_sentence_inside_another_is_no_overflow(message: str) -> None:
    answer = said("invalid_request_error", message)
    assert asyncio.run(answered(raw(400, JSON, answer))).kind is ErrorKind.invalid_request


@pytest.mark.parametrize(
    "error",
    [
        {"type": "rate_limit_error", "message": "this would exceed your limit of 400,000 input tokens per minute"},
        {"type": "rate_limit_error", "message": TOO_LONG},
        {"type": "rate_limit_error", "message": TOO_LONG, "details": {"error_code": "ramp_limit_exceeded"}},
        {"type": "invalid_request_error", "message": TOO_LONG},
        {"message": TOO_LONG},
    ],
)
def test_a_rate_limit_is_never_an_overflow_whatever_it_says_of_tokens(error: dict[str, Any]) -> None:
    """However long the request is, and also in mid-stream, where the status is 200."""
    body = {"type": "error", "error": error}
    request = ask(text="x" * 10_000, model=ModelDefinition("m", context_window=100))
    assert asyncio.run(answered(raw(429, JSON, json.dumps(body).encode()), request)).kind is ErrorKind.rate_limit
    if error.get("type") == "rate_limit_error":
        assert error_of_body(body, status=200).kind is ErrorKind.rate_limit


def test_the_api_still_has_no_code_for_an_overlong_prompt() -> None:
    """Once it has one, that is what to look at, and not the sentence."""
    module = pytest.importorskip("anthropic.types.shared.error_details", reason="this SDK has no types of details yet")
    kinds = [k for k in get_args(get_args(module.ErrorDetails)[0]) if hasattr(k, "model_fields")]
    codes = [c for k in kinds for c in get_args(k.model_fields["error_code"].annotation)]
    assert "ramp_limit_exceeded" in codes and "request_body_too_large_after_decoding" in codes
    assert not [c for c in codes if re.search("prompt|token|too_long|context_(window|length|limit)", c)]


# ---------------------------------------------------------------- connections


async def closed_port() -> int:
    async with Server(b"").running() as url:
        pass
    return int(url.rpartition(":")[2])


def test_a_server_that_is_down_is_named() -> None:
    async def main() -> None:
        port = await closed_port()
        error = await fails(AnthropicAdapter(None, base_url=f"http://127.0.0.1:{port}", api_key=KEY))
        assert (error.kind, error.retryable) == (ErrorKind.connection, True)
        assert f"nothing listens at 127.0.0.1:{port} (connection refused); start the server" in str(error)

    asyncio.run(main())


def test_a_name_that_does_not_exist_is_named() -> None:
    error = asyncio.run(fails(AnthropicAdapter(None, base_url="http://no-such-host.invalid", api_key=KEY)))
    assert error.kind is ErrorKind.connection
    assert "no-such-host.invalid" in str(error)


def test_tls_to_a_server_without_it_is_not_tried_again() -> None:
    async def main() -> None:
        async with Server(b"HTTP/1.1 400 Bad Request\r\n\r\n", early=True).running() as url:
            error = await fails(AnthropicAdapter(None, base_url=url.replace("http", "https"), api_key=KEY))
        assert (error.kind, error.retryable) == (ErrorKind.connection, False)
        assert "no TLS with 127.0.0.1:" in str(error)

    asyncio.run(main())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # how the SDK hands a password to aiohttp
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_down_is_told_apart_from_the_server(scheme: str) -> None:
    async def main() -> None:
        port = await closed_port()
        proxy = f"http://user:proxy-password@127.0.0.1:{port}"
        error = await fails(AnthropicAdapter(None, base_url=f"{scheme}://models.example", proxy=proxy, api_key=KEY))
        assert error.kind is ErrorKind.connection
        assert f"nothing listens at the proxy 127.0.0.1:{port}" in str(error)
        assert "proxy-password" not in str(error)

    asyncio.run(main())


@pytest.mark.parametrize(("status", "retryable"), [(407, False), (403, False), (502, True)])
def test_a_proxy_that_does_not_connect_is_told_apart(status: int, retryable: bool) -> None:
    async def main() -> None:
        async with Server(raw(status, "text/html", b"")).running() as proxy:
            error = await fails(AnthropicAdapter(None, base_url="https://models.example", proxy=proxy, api_key=KEY))
        assert (error.kind, error.status, error.retryable) == (ErrorKind.connection, status, retryable)
        assert "proxy" in str(error)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("field", "value"), [("base_url", "localhost:8080"), ("base_url", "htps://x"), ("proxy", "nonsense")]
)
def test_what_is_no_address_is_refused_when_the_adapter_is_made(field: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{field} '{value}' is no address"):
        AnthropicAdapter(None, **{field: value})


def test_headers_that_cannot_be_sent_are_an_error_of_the_request() -> None:
    async def main() -> None:
        server = Server(b"")
        async with server.running() as url:
            error = await fails(AnthropicAdapter(None, base_url=url, api_key=KEY, headers={"x-a": "b\r\nx-c: d"}))
        assert error.kind is ErrorKind.invalid_request
        assert "the request cannot be sent" in str(error)
        assert server.requests == []

    asyncio.run(main())


def test_a_list_of_models_that_is_a_page_is_named() -> None:
    async def main() -> None:
        async with Server(raw(200, "text/html", b"<title>Hi</title>")).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key=KEY)
            with pytest.raises(ProviderError, match=r"an HTML page.*requests go to .*/v1/models"):
                await adapter.list_models()
            await adapter.close()

    asyncio.run(main())
