"""Requests after the first one of a kind, which do not go through all of the SDK: they must be like it in everything."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from typing import Any

import httpx2
import pytest
from skillkit_openai import OpenAIAdapter
from skillkit_openai.client import Client, Endpoint

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import StreamEvent

ANSWER = (
    {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
    b"data: [DONE]\n\n",
)


@pytest.fixture(scope="module", autouse=True)
def _sdk() -> None:
    """Import with the first test what takes long, and not where tests are collected."""
    global openai
    import openai


async def collect(adapter: OpenAIAdapter, text: str = "hi", **headers: str) -> list[StreamEvent]:
    settings = ModelSettings(headers=headers)
    request = LLMRequest(ModelDefinition("m"), [UserMessage(content=text)], settings=settings)
    return [e async for e in adapter.stream(request)]


def failure(events: list[StreamEvent]) -> ProviderError:
    error = events[-1].error
    assert isinstance(error, ProviderError)
    return error


def test_they_are_like_the_first_in_all_but_the_body(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            given = {"headers": {"x-app": "one"}, "query": {"api-version": "1"}, "api_key": "sk-1"}
            adapter = OpenAIAdapter(None, base_url=server.url, **given)
            for text in ("hi", "how are you?", "é"):
                assert (await collect(adapter, text))[-1].type == "done"
            await adapter.close()
            first, *others = server.requests
            for other in others:
                assert other["target"] == first["target"]
                body = json.loads(other["body"])
                assert {**body, "messages": json.loads(first["body"])["messages"]} == json.loads(first["body"])
                assert other["headers"] == {**first["headers"], "content-length": str(len(other["body"]))}
            assert json.loads(others[1]["body"])["messages"][0]["content"] == "é"

    asyncio.run(main())


@pytest.mark.parametrize("wanted", [{}, {"x-mine": "one"}], ids=["plain", "headers"])
def test_they_are_what_the_bare_sdk_sends_byte_for_byte(loopback: Any, wanted: dict[str, str]) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            server.sse(*ANSWER)
            server.json({"id": "c", "choices": []})
            adapter = OpenAIAdapter(None, base_url=server.url, api_key="sk-1", headers={"x-app": "one"})
            for _ in range(2):
                assert (await collect(adapter, **wanted))[-1].type == "done"
            await adapter.close()
            sdk = openai.AsyncOpenAI(
                api_key="sk-1",
                base_url=server.url,
                default_headers={"x-app": "one"},
                timeout=httpx2.Timeout(None, connect=60.0),
                http_client=openai.DefaultAioHttpClient(),
            )
            _, ours = server.requests
            await sdk.post("/chat/completions", cast_to=object, content=ours["body"], options={"headers": wanted})
            body = {**json.loads(ours["body"]), "stream": False}
            await sdk.chat.completions.create(**body, extra_headers=wanted)
            await sdk.close()
            _, _, same, typed = server.requests
            assert (ours["head"], ours["body"]) == (same["head"], same["body"])
            assert ours["headers"]["x-stainless-retry-count"] == "0"
            assert "idempotency-key" not in ours["headers"]
            assert typed["headers"] == {**ours["headers"], "content-length": str(len(typed["body"]))}

    asyncio.run(main())


def test_what_is_changed_about_the_sdks_client_counts_from_the_next_request(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as old, loopback() as new:
            old.json({})
            new.json({})
            client = Client(Endpoint(old.url, "sk-1"))
            sdk = client.sdk()

            async def heard(server: Any) -> dict[str, str]:
                for _ in range(2):
                    await (await client.post("/x", b"{}", {})).aread()
                first, second = server.requests[-2:]
                assert first["head"] == second["head"]
                headers: dict[str, str] = first["headers"]
                return headers

            assert (await heard(old))["authorization"] == "Bearer sk-1"
            sdk.api_key = "sk-2"
            assert (await heard(old))["authorization"] == "Bearer sk-2"
            sdk._custom_headers["x-team"] = "blue"  # type: ignore[index]
            assert (await heard(old))["x-team"] == "blue"
            sdk.timeout = 5.0
            await heard(old)
            sdk.base_url = new.url
            assert (await heard(new))["host"] in new.url
            assert (len(old.requests), len(new.requests)) == (8, 2)
            await client.close()

    asyncio.run(main())


def test_where_the_sdk_numbers_its_requests_each_has_a_number_of_its_own(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({})
            client = Client(Endpoint(server.url, "sk-1"))
            client.sdk()._idempotency_header = "Idempotency-Key"
            for _ in range(3):
                await (await client.post("/x", b"{}", {})).aread()
            await client.close()
            assert len({r["headers"]["idempotency-key"] for r in server.requests}) == 3

    asyncio.run(main())


def test_other_headers_make_another_kind_of_request(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            for number in range(20):
                await collect(adapter, **{"x-number": str(number)})
            await collect(adapter)
            await collect(adapter, **{"x-number": "19"})
            await adapter.close()
            found = [r["headers"].get("x-number") for r in server.requests]
            assert found == [*map(str, range(20)), None, "19"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "kind"), [(401, ErrorKind.auth), (429, ErrorKind.rate_limit), (500, ErrorKind.server)]
)
def test_a_status_is_the_sdks_own_error(status: int, kind: ErrorKind, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            server.json({"error": {"message": "no", "type": "t"}}, status, **{"retry-after": "7"})
            adapter = OpenAIAdapter(None, base_url=server.url)
            assert (await collect(adapter))[-1].type == "done"
            error = failure(await collect(adapter))
            assert (error.kind, error.status) == (kind, status)
            await adapter.close()
            client = Client(Endpoint(server.url))
            server.requests.clear()
            await (await client.post("/chat/completions", b"{}", {})).aclose()
            with pytest.raises(openai.APIStatusError) as caught:
                await client.post("/chat/completions", b"{}", {})
            assert caught.value.status_code == status
            assert caught.value.body == {"message": "no", "type": "t"}
            assert caught.value.response.headers["retry-after"] == "7"
            await client.close()

    asyncio.run(main())


def test_a_server_that_went_away_is_a_connection_failure(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.script.append((200, {"content-type": "text/event-stream", "connection": "close"}, []))
            client = Client(Endpoint(server.url))
            response = await client.post("/x", b"{}", {})
            assert await response.aread() == b""
        with pytest.raises(openai.APIConnectionError):
            await client.post("/x", b"{}", {})
        await client.close()

    asyncio.run(main())


def test_a_redirection_is_not_followed_either(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as old, loopback() as new:
            new.sse(*ANSWER)
            old.sse(*ANSWER)
            old.script.append((307, {"location": f"{new.url}/chat/completions"}, []))
            adapter = OpenAIAdapter(None, base_url=old.url, api_key="sk-1")
            assert (await collect(adapter))[-1].type == "done"
            for _ in range(2):
                error = failure(await collect(adapter))
                assert (error.kind, error.status) == (ErrorKind.invalid_request, 307)
                assert f"set base_url to {new.url}" in str(error)
            await adapter.close()
            assert (len(old.requests), new.connections) == (3, 0)

    asyncio.run(main())


def test_cookies_of_the_server_come_back_to_it(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            for value in ("1", "2"):
                server.sse(*ANSWER)
                server.script[-1][1]["set-cookie"] = f"seen={value}"
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            for _ in range(4):
                await collect(adapter)
            await adapter.close()
            assert [r["headers"].get("cookie") for r in server.requests] == [None, None, "seen=1", "seen=2"]

    asyncio.run(main())


def test_a_compressed_answer_is_decoded(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            whole = b"".join(
                e if isinstance(e, bytes) else b"data: " + json.dumps(e).encode() + b"\n\n" for e in ANSWER
            )
            headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
            server.script.append((200, headers, [gzip.compress(whole)]))
            adapter = OpenAIAdapter(None, base_url=server.url)
            for _ in range(2):
                assert [e.content for e in await collect(adapter) if e.type == "text_delta"] == ["Hi"]
            await adapter.close()

    asyncio.run(main())


def test_they_use_the_proxy_of_the_first(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as proxy:
            proxy.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url="http://models.example/v1", proxy=proxy.url.removesuffix("/v1"))
            for _ in range(2):
                assert (await collect(adapter))[-1].type == "done"
            await adapter.close()
            assert [r["target"] for r in proxy.requests] == ["http://models.example/v1/chat/completions"] * 2

    asyncio.run(main())


def test_who_wants_the_sdks_log_gets_it_for_every_request(loopback: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.sse(*ANSWER)
            adapter = OpenAIAdapter(None, base_url=server.url)
            await collect(adapter)
            with caplog.at_level(logging.INFO, logger="httpx2"):
                await collect(adapter)
            await adapter.close()

    asyncio.run(main())
    assert [r.name for r in caplog.records if "/chat/completions" in r.getMessage()] == ["httpx2"]
