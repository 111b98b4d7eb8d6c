"""Failures in words for people: kind, whether it is tried again, host, and what to do. Everything runs on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter, plugin

from skillkit_core import Host
from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.descriptors import load_object
from skillkit_core.errors import ErrorKind, ProviderError, UsageError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

BOTH = pytest.mark.parametrize("adapter_class", [OpenAIAdapter, OpenAIResponsesAdapter])
STREAM = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
KEY = "sk-very-secret-1"
SHORT = LLMRequest(ModelDefinition("m"), [UserMessage(content="hi")])


def long_request(window: int = 2_000, **settings: Any) -> LLMRequest:
    """About 2,500 tokens."""
    model = ModelDefinition("m", context_window=window)
    return LLMRequest(model, [UserMessage(content="x" * 10_000)], settings=ModelSettings(**settings))


async def fails(adapter: Any, request: LLMRequest = SHORT) -> ProviderError:
    """The error of a request that must end in one."""
    try:
        events = [e async for e in adapter.stream(request)]
    finally:
        await adapter.close()
    assert [e.terminal for e in events].count(True) == 1
    assert events[-1].type == "error"
    error = events[-1].error
    assert isinstance(error, ProviderError)
    assert error.provider == adapter.provider
    assert "\n" not in str(error)
    assert KEY not in str(error)
    assert str(error).count(";") <= 3
    return error


async def answered(loopback: Any, status: int, body: Any, request: LLMRequest = SHORT, **options: Any) -> ProviderError:
    """The error for a scripted answer; ``body`` is JSON, or bytes with ``content_type``."""
    headers = options.pop("response_headers", {})
    kind = options.pop("content_type", "text/html" if isinstance(body, bytes) else "application/json")
    cls = options.pop("cls", OpenAIAdapter)
    async with loopback() as server:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        server.script.append((status, {"content-type": kind, **headers}, [raw] if raw else []))
        error = await fails(cls(None, base_url=options.pop("base_url", server.url), api_key=KEY, **options), request)
        assert len(server.requests) == 1, "the adapter never tries again"
        assert server.url.split("/")[2] in str(error), "the host is named"
        return error


# ---------------------------------------------------------------- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@STREAM
@BOTH
def test_a_redirect_takes_neither_key_nor_conversation_to_another_server(
    adapter_class: Any, stream: bool, status: int, loopback: Any
) -> None:
    async def main() -> None:
        async with loopback() as asked, loopback() as other:
            there = other.url + adapter_class.path
            asked.script.append((status, {"location": there + "?token=abc"}, []))
            other.json({"choices": []})
            adapter = adapter_class(None, base_url=asked.url, api_key=KEY)
            request = LLMRequest(SHORT.model, SHORT.messages, stream=stream)
            error = await fails(adapter, request)
            assert (error.kind, error.status, error.retryable) == (ErrorKind.invalid_request, status, False)
            assert f"redirects to {there}, which is not followed" in str(error)
            assert f"set base_url to {other.url} if you trust it" in str(error)
            assert "token" not in str(error)
            assert (other.connections, other.requests, len(asked.requests)) == (0, [], 1)

    asyncio.run(main())


def test_a_redirect_on_the_same_server_is_not_followed_either(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.script.append((308, {"location": "/v1/chat/completions/"}, []))
            error = await fails(OpenAIAdapter(None, base_url=server.url, api_key=KEY))
            assert error.kind is ErrorKind.invalid_request
            assert len(server.requests) == 1

    asyncio.run(main())


def test_a_list_of_models_is_not_fetched_from_another_server(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as asked, loopback() as other:
            asked.script.append((302, {"location": other.url + "/models"}, []))
            adapter = OpenAIAdapter(None, base_url=asked.url, api_key=KEY)
            with pytest.raises(ProviderError, match=r"redirects to .*/models, which is not followed"):
                await adapter.list_models()
            await adapter.close()
            assert other.connections == 0

    asyncio.run(main())


# ---------------------------------------------------------------- answers that are none


@pytest.mark.parametrize(
    ("status", "content_type", "body", "kind", "retryable", "words"),
    [
        (
            200,
            "text/html; charset=utf-8",
            b"<title>Welcome to nginx!</title>",
            ErrorKind.protocol,
            False,
            "Welcome to nginx!",
        ),
        (200, "text/plain", b"<!doctype html><p>hi", ErrorKind.protocol, False, "an HTML page"),
        (200, "application/json", b"", ErrorKind.protocol, True, "an empty body"),
        (200, "text/event-stream", b"", ErrorKind.protocol, True, "an empty body"),
        (200, "text/event-stream", b": ping\n\n", ErrorKind.protocol, True, "an event stream without an event"),
        (
            200,
            "application/json",
            b'{"detail": "Log in"}',
            ErrorKind.protocol,
            True,
            ': {"detail":"Log in"}; try again',
        ),
        (
            200,
            "text/event-stream",
            b'{"error": {"code": "invalid_api_key", "message": "no"}}',
            ErrorKind.auth,
            False,
            "OPENAI",
        ),
        (200, "application/json", b'{"error": {"code": 429, "message": "\xff"}}', ErrorKind.rate_limit, True, "\ufffd"),
        (200, "application/json", b'{"choices": [{"mess', ErrorKind.protocol, True, "not JSON"),
        (200, "text/plain", b"pong", ErrorKind.protocol, True, "not JSON (pong)"),
        (200, "application/json", b"[]", ErrorKind.protocol, True, "try again"),
        (
            502,
            "text/html",
            b"<html><title>502 Bad Gateway</title>",
            ErrorKind.server,
            True,
            "an HTML page (502 Bad Gateway)",
        ),
        (503, "text/plain", b"no healthy upstream", ErrorKind.overloaded, True, "no healthy upstream"),
        (403, "text/html", b"<title>Just a moment...</title>", ErrorKind.permission, False, "a proxy or firewall"),
        (404, "text/plain", b"404 page not found", ErrorKind.not_found, False, "check base_url"),
        (405, "text/html", b"<title>405</title>", ErrorKind.invalid_request, False, "check base_url"),
        (407, "text/html", b"", ErrorKind.invalid_request, False, "user and password into the proxy's URL"),
        (413, "text/html", b"<title>413 Request Entity Too Large</title>", ErrorKind.overflow, False, "send less"),
        (500, "application/json", b"{}", ErrorKind.server, True, "status 500"),
        (400, "application/json", b'{"ok": false}', ErrorKind.invalid_request, False, '{"ok":false}'),
    ],
)
@STREAM
@BOTH
def test_an_answer_that_no_api_gives_is_named(
    adapter_class: Any,
    stream: bool,
    status: int,
    content_type: str,
    body: bytes,
    kind: ErrorKind,
    retryable: bool,
    words: str,
    loopback: Any,
) -> None:
    request = LLMRequest(SHORT.model, SHORT.messages, stream=stream)
    run = answered(loopback, status, body, request, content_type=content_type, cls=adapter_class)
    error = asyncio.run(run)
    assert (error.kind, error.status, error.retryable) == (kind, status, retryable)
    assert words in str(error)
    assert error.hint or error.kind is ErrorKind.invalid_request
    assert len(str(error)) < 600


def test_a_base_url_without_its_version_is_the_usual_mistake(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({"detail": "Not Found"}, 404)
            bare = server.url.removesuffix("/v1")
            error = await fails(OpenAIAdapter(None, base_url=bare, api_key=KEY))
            assert error.kind is ErrorKind.not_found
            assert f"check base_url, which usually ends in /v1: requests go to {bare}/chat/completions" in str(error)
            error = await fails(OpenAIAdapter(None, base_url=server.url, api_key=KEY))
            assert "usually" not in str(error)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "x", "code": "model_not_found"}}, "check the name of the model"),
        ({"error": {"code": "DeploymentNotFound", "message": "x"}}, "check the name of the model"),
        ({"error": {"message": "x", "type": "invalid_request_error", "code": "unknown_url"}}, "check base_url"),
        ({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, "the model, and base_url"),
        ({"error": "model 'm' not found"}, "the model, and base_url"),
    ],
)
def test_what_is_not_there_is_the_model_or_the_path(body: Any, words: str, loopback: Any) -> None:
    error = asyncio.run(answered(loopback, 404, body))
    assert error.kind is ErrorKind.not_found
    assert words in str(error)


# ---------------------------------------------------------------- keys


def test_a_refused_key_is_looked_for_in_its_variable(loopback: Any) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    found: dict[str, Any] = {}
    plugin.register_adapters(lambda p: found.__setitem__(p.name, p), Host(discover=False))
    for name in ("openai", "groq", "openrouter", "azure", "ollama"):
        provider = found[name]

        async def main(provider: Any = provider) -> ProviderError:
            async with loopback() as server:
                server.json(body, 401)
                make = load_object(next(iter(provider.apis.values())))
                return await fails(
                    make(None, provider=provider.name, base_url=server.url, api_key=KEY, **provider.options)
                )

        error = asyncio.run(main())
        assert (error.kind, error.retryable) == (ErrorKind.auth, False)
        wanted = provider.api_key_env[0] if provider.api_key_env else "the API key of this server"
        assert f"check {wanted}" in str(error)
        assert "***" in str(error)


def test_a_server_that_wants_a_key_where_none_is_known_says_so(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({"detail": "Unauthorized"}, 401)
            error = await fails(OpenAIAdapter(None, provider="house", base_url=server.url))
            assert "set the API key of this server" in str(error)

    asyncio.run(main())


def test_rights_that_are_missing_name_the_variable(loopback: Any) -> None:
    body = {"error": {"message": "no access", "type": "permission_error"}}
    error = asyncio.run(answered(loopback, 403, body, key_hint="HOUSE_KEY", provider="house"))
    assert error.kind is ErrorKind.permission
    assert "check what HOUSE_KEY may use" in str(error)


@pytest.mark.parametrize("key", ["sk-a\nb", "schlüssel"])
def test_a_key_that_cannot_be_sent_fails_before_anything_is_sent(key: str, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            error = await fails(OpenAIAdapter(None, base_url=server.url, api_key=key))
            assert error.kind is ErrorKind.auth
            assert "OPENAI_API_KEY" in str(error)
            assert server.connections == 0

    asyncio.run(main())


def test_a_line_break_around_a_key_is_left_out(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({}, 500)
            await fails(OpenAIAdapter(None, base_url=server.url, api_key=" sk-1\n"))
            assert server.requests[0]["headers"]["authorization"] == "Bearer sk-1"

    asyncio.run(main())


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("headers", "body", "seconds", "words"),
    [
        (
            {"retry-after": "18000"},
            {"error": {"message": "slow down", "code": "rate_limit_exceeded"}},
            18000,
            "wait 5 h",
        ),
        ({"retry-after-ms": "1500"}, {"error": {"message": "x"}}, 1.5, "wait 2 s"),
        ({}, {"error": {"message": "x"}}, None, "wait a moment"),
        (
            {},
            [
                {
                    "error": {
                        "code": 429,
                        "status": "RESOURCE_EXHAUSTED",
                        "details": [{"@type": "RetryInfo", "retryDelay": "37s"}],
                    }
                }
            ],
            37,
            "wait 37 s",
        ),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(
    headers: Any, body: Any, seconds: float | None, words: str, loopback: Any
) -> None:
    error = asyncio.run(answered(loopback, 429, body, response_headers=headers))
    assert (error.kind, error.retryable, error.retry_after) == (ErrorKind.rate_limit, True, seconds)
    assert words in str(error)


def test_the_time_of_a_routers_next_window_is_a_retry_after(loopback: Any) -> None:
    metadata = {"headers": {"X-RateLimit-Limit": "50", "X-RateLimit-Reset": "99999999999999"[:13]}}
    body = {"error": {"message": "Rate limit exceeded: free-models-per-day", "code": 429, "metadata": metadata}}
    error = asyncio.run(answered(loopback, 429, body))
    assert error.kind is ErrorKind.rate_limit
    assert error.retry_after is not None
    assert error.retry_after > 1e9


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
        (429, {"error": {"message": "insufficient balance (1008)", "type": "insufficient_balance_error"}}),
        (402, {"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}),
        (402, {"error": {"message": "credits", "code": 402}}),
        (403, {"error": {"message": "x", "metadata": {"error_type": "payment_required"}}}),
    ],
)
def test_an_empty_purse_is_not_asked_again(status: int, body: Any, loopback: Any) -> None:
    error = asyncio.run(answered(loopback, status, body, response_headers={"retry-after": "20"}))
    assert (error.kind, error.retryable) == (ErrorKind.quota, False)
    assert "waiting does not help" in str(error)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (529, {"error": {"message": "x"}}, ErrorKind.overloaded),
        (503, {"error": {"message": "x", "type": "server_error"}}, ErrorKind.overloaded),
        (429, {"error": {"message": "x", "type": "engine_overloaded_error"}}, ErrorKind.overloaded),
        (429, {"error": "Model too busy", "error_type": "overloaded"}, ErrorKind.overloaded),
        (502, {"error": {"message": "x", "metadata": {"error_type": "provider_overloaded"}}}, ErrorKind.overloaded),
        (400, [{"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}], ErrorKind.auth),
        (
            403,
            {"error": {"message": "x", "metadata": {"reasons": ["violence"], "flagged_input": "..."}}},
            ErrorKind.content_filter,
        ),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, ErrorKind.invalid_request),
        (408, {"error": {"message": "x"}}, ErrorKind.timeout),
    ],
)
@BOTH
def test_more_failures_by_status_type_and_fields(
    adapter_class: Any, status: int, body: Any, kind: ErrorKind, loopback: Any
) -> None:
    error = asyncio.run(answered(loopback, status, body, cls=adapter_class))
    assert error.kind is kind


def test_the_words_of_the_provider_behind_a_router_are_shown(loopback: Any) -> None:
    raw = json.dumps({"error": {"message": "Too hot today", "code": "context_length_exceeded"}})
    metadata = {"provider_name": "Nvidia", "raw": raw}
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}}
    error = asyncio.run(answered(loopback, 400, body))
    assert error.kind is ErrorKind.overflow
    assert error.message == "Provider returned error"
    assert "Nvidia says: Too hot today" in str(error)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1002, ErrorKind.rate_limit),
        (1004, ErrorKind.auth),
        (1008, ErrorKind.quota),
        (1027, ErrorKind.content_filter),
        (4711, ErrorKind.server),
    ],
)
@STREAM
def test_minimax_reports_failures_in_a_field_of_its_own(
    code: int, kind: ErrorKind, stream: bool, loopback: Any
) -> None:
    body = {"id": "x", "choices": None, "base_resp": {"status_code": code, "status_msg": "no"}}

    async def main() -> ProviderError:
        async with loopback() as server:
            server.sse(body) if stream else server.json(body)
            return await fails(
                OpenAIAdapter(None, base_url=server.url), LLMRequest(SHORT.model, SHORT.messages, stream=stream)
            )

    error = asyncio.run(main())
    assert (error.kind, error.type, error.message) == (kind, str(code), "no")


# ---------------------------------------------------------------- too long


@pytest.mark.parametrize(
    ("server", "body"),
    [
        (
            "OpenAI, Groq, Azure, Cerebras",
            {"error": {"type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}},
        ),
        (
            "llama.cpp",
            {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 4476, "n_ctx": 4096}},
        ),
        (
            "llama.cpp, another type",
            {"error": {"code": 400, "type": "invalid_request_error", "n_prompt_tokens": 9, "n_ctx": 8}},
        ),
        ("vLLM", {"error": {"message": "x", "type": "BadRequestError", "param": "input_text", "code": 400}}),
        ("vLLM, tokens", {"error": {"message": "x", "type": "BadRequestError", "param": "input_tokens", "code": 400}}),
        ("OpenRouter", {"error": {"message": "x", "code": 400, "metadata": {"error_type": "context_length_exceeded"}}}),
        ("Copilot", {"error": {"message": "x", "code": "model_max_prompt_tokens_exceeded"}}),
    ],
)
def test_an_overflow_that_a_server_names_in_a_field_is_one(server: str, body: Any, loopback: Any) -> None:
    error = asyncio.run(answered(loopback, 400, body))
    assert (error.kind, error.retryable) == (ErrorKind.overflow, False)
    assert "shorten the conversation" in str(error)


# Bodies of servers that say it in words alone, as they send them.
IN_WORDS: dict[str, Any] = {
    "DeepSeek": {
        "error": {
            "message": "This model's maximum context length is 2000 tokens. However, you requested 2500 tokens",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_request_error",
        }
    },
    "vLLM, older": {
        "object": "error",
        "message": "This model's maximum context length is 2000 tokens.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
    "Mistral": {
        "object": "error",
        "message": "Prompt contains 2500 tokens and 0 draft tokens, too large for model",
        "type": "invalid_request_invalid_args",
        "param": None,
        "code": "3051",  # which other refusals have, too
    },
    "MiniMax": {
        "error": {"message": "context window exceeds limit (2013)", "type": "bad_request_error", "http_code": "400"}
    },
    "xAI": {"code": "invalid-argument", "error": "This model's maximum prompt length is 2000"},
    "Ollama, LM Studio": {"error": "the input length exceeds the context length"},
    "Hugging Face": {"error": "`inputs` must have less than 2000 tokens", "error_type": "validation"},
    "OpenRouter": {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": '{"error":{"message":"too long","type":"Bad Request","code":400}}'},
        }
    },
}


@pytest.mark.parametrize("server", IN_WORDS)
@BOTH
def test_a_refusal_in_words_alone_is_an_overflow_where_the_request_is_longer_than_the_window(
    adapter_class: Any, server: str, loopback: Any
) -> None:
    def of(request: LLMRequest) -> ErrorKind:
        return asyncio.run(answered(loopback, 400, IN_WORDS[server], request, cls=adapter_class)).kind

    assert of(long_request()) is ErrorKind.overflow
    assert of(long_request(window=4_000)) is ErrorKind.invalid_request
    assert of(long_request(window=4_000, max_tokens=2_000)) is ErrorKind.overflow
    assert of(long_request(window=0)) is ErrorKind.invalid_request
    assert of(SHORT) is ErrorKind.invalid_request


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "bad", "type": "invalid_request_error", "param": "temperature", "code": None}}),
        (
            400,
            {"error": {"message": "bad", "type": "invalid_request_error", "param": None, "code": "invalid_image_url"}},
        ),
        (429, {"error": {"message": "too many tokens, maximum context length", "type": "tokens"}}),
        (413, {"error": {"message": "TPM", "type": "tokens", "code": "rate_limit_exceeded"}}),
        (401, {"error": {"message": "prompt too long"}}),
        (500, {"error": {"message": "context length exceeded"}}),
    ],
)
def test_a_refusal_with_another_reason_is_no_overflow_however_long_the_request(
    status: int, body: Any, loopback: Any
) -> None:
    error = asyncio.run(answered(loopback, status, body, long_request()))
    assert error.kind is not ErrorKind.overflow


# ---------------------------------------------------------------- connections


@contextlib.asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[int]:
    """A server that reads a little, writes ``answer`` and hangs up; gives its port."""

    talks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        assert talk is not None
        talks.add(talk)
        with contextlib.suppress(ConnectionError):
            await reader.read(100_000)
            writer.write(answer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*talks)


async def closed_port() -> int:
    async with raw_server(b"") as port:
        pass
    return port


@BOTH
def test_a_server_that_is_down_is_named(adapter_class: Any) -> None:
    async def main() -> None:
        port = await closed_port()
        error = await fails(adapter_class(None, base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
        assert (error.kind, error.retryable) == (ErrorKind.connection, True)
        assert f"nothing listens at 127.0.0.1:{port} (connection refused); start the server" in str(error)

    asyncio.run(main())


@BOTH
def test_a_name_that_does_not_exist_is_named(adapter_class: Any) -> None:
    error = asyncio.run(fails(adapter_class(None, base_url="http://no-such-host.invalid/v1", api_key=KEY)))
    assert error.kind is ErrorKind.connection
    assert "no-such-host.invalid" in str(error)
    assert "network" in str(error)


@BOTH
def test_tls_to_a_server_without_it_is_not_tried_again(adapter_class: Any) -> None:
    async def main() -> None:
        async with raw_server(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as port:
            error = await fails(adapter_class(None, base_url=f"https://127.0.0.1:{port}/v1", api_key=KEY))
            assert (error.kind, error.retryable) == (ErrorKind.connection, False)
            assert f"no TLS with 127.0.0.1:{port}" in str(error)

    asyncio.run(main())


@BOTH
def test_a_connection_that_is_closed_without_an_answer_is_tried_again(adapter_class: Any) -> None:
    async def main() -> None:
        async with raw_server(b"") as port:
            error = await fails(adapter_class(None, base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
            assert (error.kind, error.retryable) == (ErrorKind.connection, True)
            assert f"127.0.0.1:{port}" in str(error)

    asyncio.run(main())


def _http(status: int, content_type: str, body: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\n{more}content-length: {len(body) + 5}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", ErrorKind.connection, " sent what is no HTTP answer: Bad status line; try again"),
        (
            _http(200, "x", b"", f"x: {'x' * 100_000}\r\n"),
            ErrorKind.connection,
            "more than 65536 bytes when reading; try",
        ),
        (_http(200, "application/json", b"{}"), ErrorKind.connection, " in the middle of the answer; try again"),
        (_http(200, "text/event-stream", b"data: {"), ErrorKind.connection, " in the middle of the answer; try again"),
        (b"HTTP/1.1 200 X\r\ncontent-ty", ErrorKind.connection, " closed the connection; try again"),
        (_http(401, "application/json", b"{}"), ErrorKind.auth, "check OPENAI_API_KEY"),
    ],
    ids=["no HTTP", "a header without end", "a body", "a stream", "a head", "a refusal"],
)
@BOTH
def test_an_answer_that_http_cannot_carry_is_told_in_words(
    adapter_class: Any, answer: bytes, kind: ErrorKind, words: str
) -> None:
    async def main() -> None:
        async with raw_server(answer) as port:
            error = await fails(adapter_class(None, base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY))
            assert error.kind is kind
            assert words in str(error)
            assert "400" not in str(error).replace(f":{port}", "")  # aiohttp's own status; a port may have these digits
            assert "<" not in str(error)

    asyncio.run(main())


@BOTH
def test_a_stream_that_ends_inside_an_event_has_ended_early(adapter_class: Any, loopback: Any) -> None:
    error = asyncio.run(
        answered(loopback, 200, b'data: {"choi', SHORT, content_type="text/event-stream", cls=adapter_class)
    )
    assert (error.kind, error.retryable) == (ErrorKind.protocol, True)
    assert "the stream ended" in str(error)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # how the SDK hands a password to aiohttp
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_down_is_told_apart_from_the_server(scheme: str) -> None:
    async def main() -> None:
        port = await closed_port()
        proxy = f"http://user:proxy-password@127.0.0.1:{port}"
        error = await fails(OpenAIAdapter(None, base_url=f"{scheme}://models.example/v1", proxy=proxy, api_key=KEY))
        assert error.kind is ErrorKind.connection
        assert f"nothing listens at the proxy 127.0.0.1:{port}" in str(error)
        assert "proxy-password" not in str(error)

    asyncio.run(main())


@pytest.mark.parametrize(("status", "retryable"), [(407, False), (403, False), (502, True)])
def test_a_proxy_that_does_not_connect_is_told_apart(status: int, retryable: bool) -> None:
    async def main() -> None:
        async with raw_server(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\n\r\n" % status) as port:
            proxy = f"http://127.0.0.1:{port}"
            error = await fails(OpenAIAdapter(None, base_url="https://models.example/v1", proxy=proxy, api_key=KEY))
            assert (error.kind, error.status, error.retryable) == (ErrorKind.connection, status, retryable)
            assert "proxy" in str(error)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("field", "value"), [("base_url", "localhost:8080"), ("base_url", "htps://x"), ("proxy", "nonsense")]
)
@BOTH
def test_what_is_no_address_is_refused_when_the_adapter_is_made(adapter_class: Any, field: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{field} '{value}' is no address"):
        adapter_class(None, **{field: value})


@BOTH
def test_headers_that_cannot_be_sent_are_an_error_of_the_request(adapter_class: Any, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            adapter = adapter_class(None, base_url=server.url, api_key=KEY, headers={"x-a": "b\r\nx-c: d"})
            error = await fails(adapter)
            assert error.kind is ErrorKind.invalid_request
            assert "the request cannot be sent" in str(error)
            assert server.requests == []

    asyncio.run(main())


@BOTH
def test_what_is_not_json_is_an_error_of_the_request(adapter_class: Any, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            adapter = adapter_class(None, base_url=server.url, api_key=KEY)
            request = replace(SHORT, settings=ModelSettings(extra={"user": object()}))
            assert "not JSON serializable" in adapter.validate(request)[0]
            error = await fails(adapter, request)
            assert error.kind is ErrorKind.invalid_request
            assert "the request cannot be sent: Object of type object is not JSON serializable; check" in str(error)
            assert server.requests == []

    asyncio.run(main())


def test_silence_names_the_setting_that_bounds_it(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(hold=True)
            adapter = OpenAIAdapter(None, base_url=server.url, timeout=0.05)
            error = await fails(adapter)
            assert (error.kind, error.retryable) == (ErrorKind.timeout, True)
            assert "no answer came within 0.05 s; try again, or raise timeout" in str(error)

    asyncio.run(main())
