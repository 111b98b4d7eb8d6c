"""Hooks around a request, its headers, and whose credentials are sent where."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from anthropic_server import TEXT, Server, answering, ask, collect, response, sse
from skillkit_anthropic import AnthropicAdapter

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError


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
