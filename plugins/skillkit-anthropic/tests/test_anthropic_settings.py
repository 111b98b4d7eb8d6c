"""Settings that cannot be: refused in one line, and nothing is sent."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from anthropic_server import TEXT, Server, answering, ask, collect, response, sse
from skillkit_anthropic import AnthropicAdapter

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.errors import ErrorKind
from skillkit_core.models import ModelDefinition


def refusal(request):
    """The error of a request that must not be sent."""

    async def main():
        server = Server(answering(response(b"", "500 X")))
        async with server.running() as url:
            (event,) = await collect(AnthropicAdapter(None, base_url=url, api_key="k"), request)
        assert server.connections == 0
        assert "\n" not in str(event.error)
        return event.error

    return asyncio.run(main())


LEVELS = {"low": 3_000, "high": 20_000}


@pytest.mark.parametrize("model_id", ["m", "claude-sonnet-4-5", "claude-opus-4-8"])
def test_a_thinking_level_that_the_table_of_the_model_lacks_is_refused(model_id):
    model = ModelDefinition(model_id, max_output_tokens=64_000, reasoning=True, thinking_levels=LEVELS)
    request = replace(ask(settings=ModelSettings(thinking="medium")), model=model)

    error = refusal(request)

    assert error.kind is ErrorKind.invalid_request
    assert f"model '{model_id}' has no thinking level 'medium'; known: low, high" in str(error)


@pytest.mark.parametrize(("model_id", "thinking"), [("m", {"type": "disabled"}), ("claude-opus-4-8", None)])
def test_off_needs_no_place_in_the_table(model_id, thinking):
    model = ModelDefinition(model_id, max_output_tokens=64_000, reasoning=True, thinking_levels=LEVELS)

    async def main():
        server = Server(answering(response(sse(TEXT))))
        async with server.running() as url:
            request = replace(ask(settings=ModelSettings(thinking="off")), model=model)
            await collect(AnthropicAdapter(None, base_url=url, api_key="k"), request)
        return server.requests[0]["body"].get("thinking")

    assert asyncio.run(main()) == thinking
