"""Settings that cannot be: refused in one line, and nothing is sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

MODEL = ModelDefinition("m")
BOTH = pytest.mark.parametrize("adapter_class", [OpenAIAdapter, OpenAIResponsesAdapter])


def asked(settings: ModelSettings, model: ModelDefinition = MODEL) -> LLMRequest:
    return LLMRequest(model, [UserMessage(content="hi")], settings=settings)


def refusal(adapter_class: Any, request: LLMRequest, loopback: Any) -> ProviderError:
    """The error of a request that must not be sent."""

    async def main() -> ProviderError:
        async with loopback() as server:
            server.json({}, 500)
            adapter = adapter_class(None, base_url=server.url)
            (event,) = [e async for e in adapter.stream(request)]
            await adapter.close()
            assert server.requests == []
        assert isinstance(event.error, ProviderError)
        assert "\n" not in str(event.error)
        return event.error

    return asyncio.run(main())


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
PLAIN = {"text", "tool_use"}


@pytest.mark.parametrize("abilities", [PLAIN, {*PLAIN, "image", "reasoning"}], ids=["text", "images"])
@BOTH
def test_a_schema_is_refused_for_a_model_that_is_known_to_have_no_structured_output(
    adapter_class: Any, abilities: set[str], loopback: Any
) -> None:
    model = ModelDefinition("m", max_output_tokens=8_000, capabilities=abilities)

    error = refusal(adapter_class, asked(ModelSettings(response_schema=SCHEMA), model), loopback)

    assert (error.kind, error.message.split(";")[0]) == (ErrorKind.invalid_request, "model m has no structured output")


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        ModelDefinition("m", context_window=8_000),
        ModelDefinition("m", context_window=8_000, capabilities={*PLAIN, "structured_output"}),
    ],
    ids=["nobody described it", "its server listed its window", "it can"],
)
@BOTH
def test_a_schema_is_sent_to_models_that_may_take_it(adapter_class: Any, model: ModelDefinition, loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({}, 500)
            adapter = adapter_class(None, base_url=server.url)
            async for _ in adapter.stream(asked(ModelSettings(response_schema=SCHEMA), model)):
                pass
            await adapter.close()
            (sent,) = server.requests
        body = json.loads(sent["body"])
        form = body["text"]["format"] if adapter_class is OpenAIResponsesAdapter else body["response_format"]
        assert form["type"] == "json_schema"

    asyncio.run(main())


@pytest.mark.parametrize("url", ["https://openrouter.ai/api/v1", "https://ai-gateway.vercel.sh/v1"])
def test_a_router_is_asked_whatever_is_known_about_the_model(url: str) -> None:
    """What its models can do depends on who serves them."""
    known = ModelDefinition("m", context_window=8_000, capabilities={*PLAIN, "image"})
    adapter = OpenAIAdapter(None, base_url=url, api_key="k")
    assert list(adapter.validate(asked(ModelSettings(response_schema=SCHEMA), known))) == []
