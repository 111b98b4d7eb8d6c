"""Requests after the first one of a kind, which do not go through all of the SDK: they must be like it in everything."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.client import PATH, Endpoint, Transport

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import StreamEvent

MODEL = ModelDefinition("house-model", "anthropic")


@pytest.fixture(scope="module", autouse=True)
def _sdk() -> None:
    """Import with the first test what takes long, and not where tests are collected."""
    global anthropic
    import anthropic


def ask(text: str = "hi", **fields: Any) -> LLMRequest:
    return LLMRequest(MODEL, [UserMessage(content=text)], **fields)


async def collect(adapter: AnthropicAdapter, request: LLMRequest) -> list[StreamEvent]:
    return [e async for e in adapter.stream(request)]


async def answered(adapter: AnthropicAdapter, request: LLMRequest) -> None:
    assert (await collect(adapter, request))[-1].type == "done"


async def failure(adapter: AnthropicAdapter) -> ProviderError:
    error = (await collect(adapter, ask()))[-1].error
    assert isinstance(error, ProviderError)
    return error


def transport(url: str, **given: Any) -> Transport:
    usual = {"official": True, "headers": {}, "connect_timeout": 60.0, "proxy": None}
    return Transport(Endpoint(url, "sk-1", **{**usual, **given}))


def without_length(head: bytes) -> bytes:
    return re.sub(rb"(?i)content-length: \d+", b"", head)


def test_they_are_like_the_first_in_all_but_the_body(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1", headers={"x-app": "one"})
            for text in ("hi", "how are you?", "é"):
                await answered(adapter, ask(text))
            await adapter.close()
            first, *others = server.requests
            for other in others:
                assert without_length(other.head) == without_length(first.head)
                assert other.headers["content-length"] == str(len(other.body))
                body = json.loads(other.body)
                assert {**body, "messages": json.loads(first.body)["messages"]} == json.loads(first.body)
            assert json.loads(others[1].body)["messages"][0]["content"][0]["text"] == "é"
            assert server.connections == 1

    asyncio.run(main())


@pytest.mark.parametrize("wanted", [{}, {"x-mine": "ü", "anthropic-beta": "b-1"}], ids=["plain", "headers"])
def test_they_are_what_the_bare_sdk_sends_byte_for_byte(loopback: Any, wanted: dict[str, str]) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1", headers={"x-app": "one"})
            for _ in range(2):
                await answered(adapter, ask(settings=ModelSettings(headers=wanted)))
            await adapter.close()
            patience = httpx2.Timeout(None, connect=60.0)
            sdk = anthropic.AsyncAnthropic(
                api_key="sk-1",
                base_url=server.url,
                default_headers={"x-app": "one"},
                timeout=patience,
                http_client=anthropic.DefaultAioHttpClient(),
            )
            _, ours = server.requests
            await sdk.post(PATH, cast_to=object, content=ours.body, options={"headers": wanted, "timeout": patience})
            await sdk.messages.create(**json.loads(ours.body), extra_headers=wanted, timeout=patience)
            await sdk.close()
            _, _, same, typed = server.requests
            assert (ours.head, ours.body) == (same.head, same.body)
            assert ours.headers["x-stainless-retry-count"] == "0"
            assert "idempotency-key" not in ours.headers
            assert typed.headers == {**ours.headers, "content-length": str(len(typed.body))}
            assert json.loads(typed.body) == json.loads(ours.body)

    asyncio.run(main())


def test_other_headers_make_another_kind_of_request(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1")
            for number in (*map(str, range(20)), None, "19"):
                headers = {} if number is None else {"x-number": number}
                await answered(adapter, ask(settings=ModelSettings(headers=headers)))
            await adapter.close()
            assert [r.headers.get("x-number") for r in server.requests] == [*map(str, range(20)), None, "19"]

    asyncio.run(main())


def test_what_is_changed_about_the_sdks_client_counts_from_the_next_request(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as old, loopback() as new:
            old.say("Hi")
            new.say("Hi")
            door = transport(old.url)
            sdk = door.sdk()

            async def heard(server: Any) -> Mapping[str, str]:
                for _ in range(2):
                    await (await door.post(PATH, b"{}", {})).aread()
                first, second = server.requests[-2:]
                assert first.head == second.head
                return first.headers

            assert (await heard(old))["authorization"] == "Bearer sk-1"
            sdk.api_key = "sk-2"
            assert (await heard(old))["authorization"] == "Bearer sk-2"
            sdk._custom_headers["x-team"] = "blue"  # type: ignore[index]
            assert (await heard(old))["x-team"] == "blue"
            sdk.timeout = 5.0
            await heard(old)
            sdk.base_url = new.url
            assert (await heard(new))["host"] == new.url.removeprefix("http://")
            assert (len(old.requests), len(new.requests)) == (8, 2)
            await door.close()

    asyncio.run(main())


def test_a_hook_sees_what_is_sent_and_what_it_changes_is_sent(loopback: Any) -> None:
    shown: list[Mapping[str, str]] = []

    async def look(payload: Any, headers: Mapping[str, str]) -> Any:
        shown.append(headers)
        return payload, headers

    async def change(payload: Any, headers: Mapping[str, str]) -> Any:
        kept = {k: v for k, v in headers.items() if k.lower() != "x-app"}
        return {**payload, "metadata": {"user_id": "u"}}, {**kept, "x-mine": "1"}

    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1", headers={"x-app": "one"})
            for hook in (look, look, change, change, None):
                await answered(adapter, ask(on_request=hook))
            await adapter.close()
            for headers, sent in zip(shown, server.requests[:2], strict=True):
                assert {k.lower(): v for k, v in headers.items()}.items() <= sent.headers.items()
            for sent in server.requests[2:4]:
                assert "x-app" not in sent.headers and sent.headers["x-mine"] == "1"
                assert json.loads(sent.body)["metadata"] == {"user_id": "u"}
            last = server.requests[4]
            assert last.headers["x-app"] == "one" and "x-mine" not in last.headers

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "kind", "sdks"),
    [
        (401, ErrorKind.auth, "AuthenticationError"),
        (429, ErrorKind.rate_limit, "RateLimitError"),
        (500, ErrorKind.server, "InternalServerError"),
    ],
)
def test_a_status_is_the_sdks_own_error(status: int, kind: ErrorKind, sdks: str, loopback: Any) -> None:
    wanted = getattr(anthropic, sdks)

    async def main() -> None:
        async with loopback() as server:
            said = {"type": "error", "error": {"type": "t", "message": "no"}}
            server.say("Hi")
            server.json(said, status, **{"retry-after": "7"})
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1")
            await answered(adapter, ask())
            error = await failure(adapter)
            assert (error.kind, error.status, error.message) == (kind, status, "no")
            assert isinstance(error.__cause__, wanted)
            await adapter.close()
            server.requests.clear()
            door = transport(server.url)
            await (await door.post(PATH, b"{}", {})).aread()
            with pytest.raises(wanted) as caught:
                await door.post(PATH, b"{}", {})
            assert caught.value.body == said
            assert caught.value.response.headers["retry-after"] == "7"
            assert len(server.requests) == 2
            await door.close()

    asyncio.run(main())


def test_a_server_that_went_away_is_a_connection_failure(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi", connection="close")
            door = transport(server.url)
            await (await door.post(PATH, b"{}", {})).aread()
        with pytest.raises(anthropic.APIConnectionError):
            await door.post(PATH, b"{}", {})
        await door.close()

    asyncio.run(main())


def test_a_redirection_is_not_followed_either(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as old, loopback() as new:
            new.say("Hi")
            old.say("Hi")
            old.script.append((307, {"location": f"{new.url}{PATH}"}, b""))
            adapter = AnthropicAdapter(None, base_url=old.url, api_key="sk-1")
            await answered(adapter, ask())
            for _ in range(2):
                error = await failure(adapter)
                assert (error.kind, error.status) == (ErrorKind.invalid_request, 307)
                assert f"set base_url to {new.url}" in str(error)
            await adapter.close()
            assert (len(old.requests), new.connections) == (3, 0)

    asyncio.run(main())


def test_cookies_of_the_server_come_back_to_it(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            for value in ("1", "2"):
                server.say("Hi", **{"set-cookie": f"seen={value}"})
            server.say("Hi")
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1")
            for _ in range(4):
                await answered(adapter, ask())
            await adapter.close()
            assert [r.headers.get("cookie") for r in server.requests] == [None, None, "seen=1", "seen=2"]

    asyncio.run(main())


@pytest.mark.parametrize("stream", [True, False])
def test_a_compressed_answer_is_decoded(loopback: Any, stream: bool) -> None:
    async def main() -> None:
        async with loopback() as server:
            if stream:
                server.say("Hi", **{"content-encoding": "gzip"})
            else:
                message = {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
                server.json(message, **{"content-encoding": "gzip"})
            status, headers, body = server.script[0]
            server.script[0] = (status, headers, gzip.compress(body))
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1")
            for _ in range(2):
                events = await collect(adapter, ask(stream=stream))
                assert [e.content for e in events if e.type == "text_delta"] == ["Hi"]
            await adapter.close()
            assert server.connections == 1

    asyncio.run(main())


def test_they_use_the_proxy_of_the_first(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as proxy:
            proxy.say("Hi")
            adapter = AnthropicAdapter(None, base_url="http://models.example", api_key="sk-1", proxy=proxy.url)
            for _ in range(2):
                await answered(adapter, ask())
            await adapter.close()
            assert [r.target for r in proxy.requests] == ["http://models.example/v1/messages"] * 2

    asyncio.run(main())


def test_who_wants_the_sdks_log_gets_it_for_every_request(loopback: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            adapter = AnthropicAdapter(None, base_url=server.url, api_key="sk-1")
            await answered(adapter, ask())
            with caplog.at_level(logging.INFO, logger="httpx2"):
                await answered(adapter, ask())
            await adapter.close()

    asyncio.run(main())
    assert [r.name for r in caplog.records if PATH in r.getMessage()] == ["httpx2"]


def test_a_token_that_is_made_anew_is_sent(loopback: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of the SDK whose credentials another program renews."""
    profile, secret = tmp_path / "configs/default.json", tmp_path / "credentials/default.json"

    def renew(token: str) -> None:
        secret.write_text(json.dumps({"version": "1.0", "access_token": token, "expires_at": 0}))
        secret.chmod(0o600)

    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            profile.write_text(json.dumps({"authentication": {"type": "user_oauth"}, "base_url": server.url}))
            adapter = AnthropicAdapter()
            for token in ("token-1", "token-2", "token-3"):
                renew(token)
                await answered(adapter, ask())
            await adapter.close()
            assert [r.headers["authorization"] for r in server.requests] == [f"Bearer token-{n}" for n in (1, 2, 3)]

    for file in (profile, secret):
        file.parent.mkdir()
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    asyncio.run(main())


def test_where_the_sdk_numbers_its_requests_each_has_a_number_of_its_own(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.say("Hi")
            door = transport(server.url)
            door.sdk()._idempotency_header = "Idempotency-Key"
            for _ in range(3):
                await (await door.post(PATH, b"{}", {})).aread()
            await door.close()
            assert len({r.headers["idempotency-key"] for r in server.requests}) == 3

    asyncio.run(main())
