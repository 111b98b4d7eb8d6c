"""What happens on the connection: headers, hooks, aborts, silence, proxies, failures. Everything runs on loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter

from skillkit_core import redact_headers
from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import StopReason, UserMessage
from skillkit_core.models import ModelCost, ModelDefinition
from skillkit_core.stream import StreamEvent

MODEL = ModelDefinition("m")
BOTH = pytest.mark.parametrize("adapter_class", [OpenAIAdapter, OpenAIResponsesAdapter])


def chunk(text: str | None = None, finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "c",
        "choices": [{"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}],
    }


ANSWER = (chunk("Hel"), chunk("lo"), chunk(None, "stop"), b"data: [DONE]\n\n")


def ask(**kwargs: Any) -> LLMRequest:
    return LLMRequest(MODEL, [UserMessage(content="hi")], **kwargs)


async def collect(adapter: OpenAIAdapter, request: LLMRequest) -> list[StreamEvent]:
    return [e async for e in adapter.stream(request)]


def failure(events: list[StreamEvent]) -> ProviderError:
    assert [e.type for e in events if e.terminal] == ["error"]
    error = events[-1].error
    assert isinstance(error, ProviderError)
    return error


def test_the_sdk_adds_credentials_and_its_headers_and_ours_win(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url, api_key="sk-secret-1", headers={"x-app": "one"})
            settings = ModelSettings(headers={"x-app": "two", "user-agent": "mine"})
            assert (await collect(adapter, ask(settings=settings)))[-1].type == "done"
            await adapter.close()
            got = server.requests[0]
            assert got["target"] == "/v1/chat/completions"
            assert got["headers"]["authorization"] == "Bearer sk-secret-1"
            assert got["headers"]["content-type"] == "application/json"
            assert got["headers"]["x-app"] == "two"
            assert got["headers"]["user-agent"] == "mine"
            assert "x-stainless-lang" in got["headers"]

    asyncio.run(main())


def test_a_deployment_at_azure_is_an_address_a_query_and_a_header(loopback: Any, section: Any) -> None:
    config = {"api_key_env": "AZURE_KEY", "key_header": "api-key", "query": {"api-version": "2024-10-21"}}

    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            base_url = server.url.removesuffix("/v1") + "/openai/deployments/d"
            provider = section({"servers": {"az": {"base_url": base_url, **config}}}).servers["az"]
            options = provider.provider("az", {}).options
            adapter = OpenAIAdapter(None, provider="az", base_url=base_url, api_key="k-1", **options)
            seen: list[Any] = []

            async def on_request(payload: Any, headers: Any) -> Any:
                seen.append(headers)
                return payload, headers

            assert (await collect(adapter, ask()))[-1].type == "done"
            assert (await collect(adapter, ask(on_request=on_request)))[-1].type == "done"
            await adapter.close()
            for got in server.requests:
                assert got["target"] == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
                assert got["headers"]["api-key"] == "k-1"
                assert "authorization" not in got["headers"]
            assert redact_headers(seen[0])["api-key"] == "***"

    asyncio.run(main())


def test_without_a_key_no_authorization_is_sent(loopback: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")

    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            assert (await collect(adapter, ask()))[-1].type == "done"
            await adapter.close()
            assert "authorization" not in server.requests[0]["headers"]
            assert "openai-organization" not in server.requests[0]["headers"]

    asyncio.run(main())


def test_a_query_is_added_to_the_url(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url, query={"api-version": "2025-01-01"})
            await collect(adapter, ask())
            await adapter.close()
            assert server.requests[0]["target"] == "/v1/chat/completions?api-version=2025-01-01"

    asyncio.run(main())


@BOTH
def test_no_key_for_openai_fails_with_the_line_that_fixes_it(
    adapter_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    error = failure(asyncio.run(collect(adapter_class(None), ask())))
    assert error.kind is ErrorKind.auth
    assert "set OPENAI_API_KEY" in str(error)


def test_no_key_for_a_hosted_server_fails_before_it_is_asked() -> None:
    adapter = OpenAIAdapter(None, provider="groq", base_url="https://api.groq.com/openai/v1", key_hint="GROQ_API_KEY")
    error = failure(asyncio.run(collect(adapter, ask())))
    assert error.kind is ErrorKind.auth
    assert str(error) == "groq: no API key is configured; set GROQ_API_KEY, or pass api_key"


def test_hooks_see_the_final_request_and_what_they_return_is_sent(loopback: Any) -> None:
    seen: list[Any] = []

    async def on_request(payload: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Any, Any]:
        seen.append((payload, headers))
        kept = {k: v for k, v in headers.items() if k.lower() != "x-stainless-lang"}
        return {**payload, "temperature": 0.5}, {**kept, "x-hook": "yes"}

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        seen.append((status, headers["content-type"]))

    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url, api_key="sk-1")
            events = await collect(adapter, ask(on_request=on_request, on_response=on_response, system="Be brief."))
            await adapter.close()
            assert events[-1].type == "done"
            sent = json.loads(server.requests[0]["body"])
            headers = server.requests[0]["headers"]
            assert sent["temperature"] == 0.5
            assert headers["x-hook"] == "yes"
            assert headers["authorization"] == "Bearer sk-1"
            assert "x-stainless-lang" not in headers

    asyncio.run(main())
    assert seen[0][0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert seen[0][1]["Authorization"] == "Bearer sk-1"
    assert seen[1] == (200, "text/event-stream")


def test_hooks_that_change_nothing_send_the_same_bytes(loopback: Any) -> None:
    async def on_request(payload: Any, headers: Any) -> tuple[Any, Any]:
        with pytest.raises(TypeError, match="immutable"):
            payload["model"] = "other"
        return payload, headers

    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            await collect(adapter, ask())
            await collect(adapter, ask(on_request=on_request))
            await adapter.close()
            assert server.requests[0]["body"] == server.requests[1]["body"]

    asyncio.run(main())


def test_a_response_hook_also_sees_a_refused_request(loopback: Any) -> None:
    seen = []

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        seen.append(status)

    async def main() -> None:
        async with loopback() as server:
            server.json({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, 429, **{"retry-after": "7"})
            adapter = OpenAIAdapter(None, base_url=server.url)
            error = failure(await collect(adapter, ask(on_response=on_response)))
            await adapter.close()
            assert (error.kind, error.status, error.retry_after) == (ErrorKind.rate_limit, 429, 7.0)
            assert len(server.requests) == 1  # the adapter never retries

    asyncio.run(main())
    assert seen == [429]


@BOTH
def test_an_abort_closes_the_connection_at_once_and_keeps_what_was_said(adapter_class: Any, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            if adapter_class is OpenAIAdapter:
                server.sse(chunk("Hel"), hold=True)
            else:
                server.sse({"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"}, hold=True)
            adapter = adapter_class(None, base_url=server.url)
            signal = AbortSignal()
            events = []
            async for event in adapter.stream(ask(signal=signal)):
                events.append(event)
                if event.type == "text_delta":
                    signal.abort("stop it")
            await asyncio.wait_for(server.left.wait(), 5)
            error = failure(events)
            assert error.kind is ErrorKind.aborted
            assert "stop it" in str(error)
            assert "".join(e.content for e in events if e.type == "text_delta") == "Hel"
            await adapter.close()

    asyncio.run(main())


def test_an_abort_before_the_answer_and_before_the_request(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.script.append((200, {"content-type": "text/event-stream"}, [None]))
            adapter = OpenAIAdapter(None, base_url=server.url)
            signal = AbortSignal()
            task = asyncio.create_task(collect(adapter, ask(signal=signal)))
            while not server.requests:
                await asyncio.sleep(0)
            await asyncio.to_thread(signal.abort)  # from another thread
            assert failure(await task).kind is ErrorKind.aborted
            assert failure(await collect(adapter, ask(signal=signal))).kind is ErrorKind.aborted
            assert len(server.requests) == 1
            await adapter.close()

    asyncio.run(main())


def test_a_cancellation_from_outside_passes_unchanged_and_closes_the_connection(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(chunk("Hel"), hold=True)
            adapter = OpenAIAdapter(None, base_url=server.url)
            started = asyncio.Event()

            async def run() -> None:
                async for event in adapter.stream(ask()):
                    assert not event.terminal
                    started.set()

            task = asyncio.create_task(run())
            await started.wait()
            task.cancel("from outside")
            with pytest.raises(asyncio.CancelledError, match="from outside"):
                await task
            await asyncio.wait_for(server.left.wait(), 5)
            await adapter.close()

    asyncio.run(main())


def test_a_reader_that_leaves_early_closes_the_connection(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(chunk("Hel"), hold=True)
            adapter = OpenAIAdapter(None, base_url=server.url)
            stream = adapter.stream(ask())
            assert (await anext(stream)).type == "text_start"
            await stream.aclose()  # type: ignore[attr-defined]
            await asyncio.wait_for(server.left.wait(), 5)
            await adapter.close()

    asyncio.run(main())


@pytest.mark.parametrize("silent_after", ["headers", "comments", "text"])
def test_a_silent_server_is_a_time_out(silent_after: str, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)  # the first answer opens the connection
            if silent_after == "comments":
                server.sse(b": PROCESSING\n\n", hold=True)
            elif silent_after == "text":
                server.sse(chunk("Hel"), hold=True)
            else:
                server.sse(hold=True)
            adapter = OpenAIAdapter(None, base_url=server.url, idle_timeout=0.05)
            assert (await collect(adapter, ask(settings=ModelSettings(timeout=60))))[-1].type == "done"
            events = await collect(adapter, ask(settings=ModelSettings(timeout=0.05)))
            assert failure(events).kind is ErrorKind.timeout
            await asyncio.wait_for(server.left.wait(), 5)
            await adapter.close()

    asyncio.run(main())


def test_an_unreachable_server_is_a_connection_failure_that_names_it(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            url = server.url
        adapter = OpenAIAdapter(None, base_url=url, api_key="sk-secret-12345")
        error = failure(await collect(adapter, ask()))
        assert error.kind is ErrorKind.connection
        assert error.retryable
        assert "127.0.0.1" in str(error)
        await adapter.close()

    asyncio.run(main())


def test_requests_go_through_the_proxy(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as proxy:
            proxy.sse(*ANSWER)
            adapter = OpenAIAdapter(
                None, base_url="http://models.example/v1", proxy=proxy.url.removesuffix("/v1"), api_key="k"
            )
            assert (await collect(adapter, ask()))[-1].type == "done"
            await adapter.close()
            assert proxy.requests[0]["target"] == "http://models.example/v1/chat/completions"

    asyncio.run(main())


def test_consecutive_requests_use_one_connection(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            for _ in range(5):
                async for event in adapter.stream(ask()):
                    if event.terminal:
                        break  # as the loop does
            await adapter.close()
            assert server.connections == 1

    asyncio.run(main())


def test_one_adapter_serves_several_event_loops_and_an_application_that_never_closes_it_is_not_scolded(
    replay: str,
) -> None:
    code = f"""
import asyncio
from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_openai import OpenAIAdapter
adapter = OpenAIAdapter(None, base_url="{replay}/case/none/v1")
async def main():
    async for event in adapter.stream(LLMRequest(ModelDefinition("m"), [UserMessage(content="hi")])):
        print(event.error.status)
asyncio.run(main())
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["404", "404"]
    assert done.stderr == ""


@pytest.mark.parametrize("kind", ["", "text/plain", "text/event-stream", "application/octet-stream"])
@pytest.mark.parametrize("stream", [True, False])
def test_json_is_read_whatever_its_content_type(stream: bool, kind: str, loopback: Any) -> None:
    whole = {"id": "c", "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    text = json.dumps(whole).encode()

    async def main() -> None:
        async with loopback() as server:
            server.script.append((200, {"content-type": kind} if kind else {}, [b" \n" + text[:9], text[9:]]))
            adapter = OpenAIAdapter(None, base_url=server.url)
            events = await collect(adapter, ask(stream=stream))
            assert "".join(e.content for e in events if e.type == "text_delta") == "Hello"
            assert events[-1].type == "done"
            await adapter.close()

    asyncio.run(main())


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_may_answer_in_the_other_form(stream: bool, loopback: Any) -> None:
    whole = {"id": "c", "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}

    async def main() -> None:
        async with loopback() as server:
            server.json(whole) if stream else server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            events = await collect(adapter, ask(stream=stream))
            assert "".join(e.content for e in events if e.type == "text_delta") == "Hello"
            assert events[-1].stop_reason is StopReason.stop
            await adapter.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}, ErrorKind.overflow),
        (400, {"error": {"message": "n_ctx", "type": "exceed_context_size_error", "code": 400}}, ErrorKind.overflow),
        (413, "payload too large", ErrorKind.overflow),
        (429, {"error": {"message": "too many tokens, context length", "type": "tokens"}}, ErrorKind.rate_limit),
        (413, {"error": {"message": "TPM", "type": "tokens", "code": "rate_limit_exceeded"}}, ErrorKind.rate_limit),
        (
            429,
            {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}},
            ErrorKind.quota,
        ),
        (402, {"error": {"message": "pay", "code": 402}}, ErrorKind.quota),
        (401, {"error": {"message": "Unauthorized", "type": "api_error"}}, ErrorKind.auth),
        (403, {"detail": "no"}, ErrorKind.permission),
        (
            400,
            {"error": {"message": "1500 tokens at most", "type": "invalid_request_error"}},
            ErrorKind.invalid_request,
        ),
        (404, {"error": {"message": "no model", "code": "model_not_found"}}, ErrorKind.not_found),
        (400, {"error": {"message": "filtered", "code": "content_filter"}}, ErrorKind.content_filter),
        (500, "<html>oops</html>", ErrorKind.server),
        (503, {"error": {"message": "busy"}}, ErrorKind.overloaded),
        (504, "", ErrorKind.timeout),
        (422, [{"error": {"code": 422, "message": "Google", "status": "INVALID"}}], ErrorKind.invalid_request),
    ],
)
@BOTH
def test_failures_are_classified_by_status_and_type(
    adapter_class: Any, status: int, body: Any, kind: ErrorKind, loopback: Any
) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json(body, status)
            if isinstance(body, str):
                server.script[0] = (status, {"content-type": "text/html"}, [body.encode()] if body else [])
            adapter = adapter_class(None, base_url=server.url, api_key="k")
            error = failure(await collect(adapter, ask()))
            assert (error.kind, error.status) == (kind, status)
            await adapter.close()

    asyncio.run(main())


def test_the_key_is_cut_out_of_the_providers_words(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({"error": {"message": "Incorrect API key provided: sk-very-secret"}}, 401)
            adapter = OpenAIAdapter(None, base_url=server.url, api_key="sk-very-secret")
            error = failure(await collect(adapter, ask()))
            assert "sk-very-secret" not in str(error)
            assert "***" in str(error)
            await adapter.close()

    asyncio.run(main())


@pytest.mark.parametrize("raw", [b"data: {nonsense\n\n", b'data: "text"\n\n', b"data: [1]\n\n", b"data: \xff\xfe\n\n"])
@BOTH
def test_an_event_that_is_not_an_object_ends_the_answer(adapter_class: Any, raw: bytes, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(raw)
            adapter = adapter_class(None, base_url=server.url)
            assert failure(await collect(adapter, ask())).status in (None, 200)
            await adapter.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "raw",
    [
        b'event: error\ndata: {"message":"broke","code":"server_error"}\n\n',
        b'event: error\ndata: {"error":{"message":"broke","code":"server_error"}}\n\n',
        b'data: {"error":{"message":"broke","type":"server_error"}}\n\n',
        b'data: {"object":"error","message":"broke","type":"error","code":500}\n\n',
        b'data: {"message":"broke","code":500}\n\n',
        b'data: {"message":"broke","status_code":500}\n\n',
        b'data: {"errors":[{"message":"broke","code":500}],"success":false}\n\n',
        b'data: {"detail":{"error":{"message":"broke","code":500}}}\n\n',
        b'data: {"detail":"broke"}\n\n',
    ],
)
@BOTH
def test_errors_in_mid_stream_in_all_their_shapes(adapter_class: Any, raw: bytes, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(raw)
            adapter = adapter_class(None, base_url=server.url)
            error = failure(await collect(adapter, ask()))
            assert (error.kind, error.message, error.provider) == (ErrorKind.server, "broke", "openai")
            await adapter.close()

    asyncio.run(main())


def test_an_error_event_with_nothing_after_it_ends_the_answer(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse({"type": "error", "code": "server_error", "message": "broke"})
            adapter = OpenAIResponsesAdapter(None, base_url=server.url)
            error = failure(await collect(adapter, ask()))
            assert (error.kind, error.message) == (ErrorKind.server, "broke")
            await adapter.close()

    asyncio.run(main())


def test_a_hook_that_raises_is_an_error_event_and_nothing_is_sent(loopback: Any) -> None:
    async def on_request(payload: Any, headers: Any) -> Any:
        raise RuntimeError("no")

    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            error = failure(await collect(adapter, ask(on_request=on_request)))
            assert "no" in str(error)
            assert isinstance(error.__cause__, RuntimeError)
            assert server.requests == []
            await adapter.close()

    asyncio.run(main())


def test_lists_of_many_servers_say_windows_answers_prices_and_what_a_model_takes(loopback: Any) -> None:
    router = {
        "id": "maker/m",
        "context_length": 64_000,
        "architecture": {"input_modalities": ["text", "image", "file"]},
        "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
        "top_provider": {"max_completion_tokens": 8_000},
        "supported_parameters": ["tools", "reasoning", "structured_outputs", "top_k"],
    }
    local = {"models": [{"key": "qwen", "max_context_length": 32_768}, {"name": "llama:8b", "context_length": 4_096}]}

    async def main() -> None:
        async with loopback() as server:
            adapter = OpenAIAdapter(None, base_url=server.url)
            server.json({"data": [router, {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}]})
            known, unknown = await adapter.list_models()
            assert (known.context_window, known.max_output_tokens, known.reasoning) == (64_000, 8_000, True)
            assert known.cost == ModelCost(3, 15, 0.3, 3)
            assert known.capabilities == {"text", "image", "pdf", "tool_use", "reasoning", "structured_output"}
            assert (unknown.cost, unknown.capabilities) == (None, {"text", "tool_use"})
            server.script.clear()
            server.json(local)
            assert [(m.id, m.context_window) for m in await adapter.list_models()] == [
                ("qwen", 32_768),
                ("llama:8b", 4_096),
            ]
            await adapter.close()

    asyncio.run(main())


def test_list_models_and_complete(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({"data": [{"id": "a", "context_length": 8192}, {"id": "b"}]})
            adapter = OpenAIAdapter(None, base_url=server.url)
            models = await adapter.list_models()
            assert [(m.id, m.provider, m.context_window) for m in models] == [("a", "openai", 8192), ("b", "openai", 0)]
            server.script.clear()
            server.sse(*ANSWER)
            message = await adapter.complete(ask())
            assert (message.text, message.provider, message.api, message.model) == (
                "Hello",
                "openai",
                "openai-chat",
                "m",
            )
            server.script.clear()
            server.json({"error": "no"}, 500)
            with pytest.raises(ProviderError):
                await adapter.complete(ask())
            with pytest.raises(ProviderError):
                await adapter.list_models()
            await adapter.close()

    asyncio.run(main())
