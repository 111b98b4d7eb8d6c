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

MISTYPED = {
    "max_tokens": ("5", True, 5.0),
    "temperature": ("hot", [], False),
    "top_p": ([], "1"),
    "stop": (5, "END", (5,), None),
    "thinking": (5, ["high"]),
    "tool_choice": ({"type": "auto"}, 5),
    "parallel_tool_calls": ("yes", 1),
    "response_schema": ("object", []),
    "timeout": ("5", [], True),
    "headers": ([("a", "b")], {"a": 5}, None),
    "extra": (5, [("a", 1)], {"tools": {"type": "web_search"}}, {"tools": 5}, {"tools": ["web_search"]}, None),
}


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


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in MISTYPED.items() for v in values], ids=lambda v: repr(v)
)
def test_a_setting_of_a_wrong_type_is_refused(name, value):
    request = ask(settings=ModelSettings(**{name: value}))

    error = refusal(request)

    assert (error.kind, error.provider, error.retryable) == (ErrorKind.invalid_request, "anthropic", False)
    assert error.message.startswith(f"{name} is of type {type(value).__name__}; it must be a")
    (line,) = AnthropicAdapter(None, api_key="k").validate(request)
    assert error.message in line


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
