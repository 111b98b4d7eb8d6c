"""How requests and answers travel: proxies, content types, compression, many at once, one loop after another."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from anthropic_server import MODEL, TEXT, Server, answering, ask, collect, response, sse
from skillkit_anthropic import AnthropicAdapter

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.models import ModelDefinition


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


def test_the_beta_that_a_model_needs_joins_the_others():
    async def run():
        async with (server := Server(answering(response(sse(TEXT))))).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            for model in ("claude-opus-5-5", "claude-sonnet-5", "claude-opus-5-5"):
                own = ModelSettings(headers={"Anthropic-Beta": "mine"} if model == "claude-sonnet-5" else {})
                request = replace(ask(settings=own), model=ModelDefinition(model))
                assert [e async for e in adapter.stream(request)][-1].type == "done"
            request = replace(ask(settings=own), model=ModelDefinition("claude-opus-5-5"))
            await collect(adapter, replace(request, settings=ModelSettings(headers={"Anthropic-Beta": "mine"})))
        return [r["headers"].get("anthropic-beta") for r in server.requests]

    ours = "thinking-binding-controls-2026-08-01"
    assert asyncio.run(run()) == [ours, "mine", ours, f"{ours},mine"]


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
