"""Settings that cannot be: refused in one line, and nothing is sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter

from skillkit_core import AgentConfig, AgentError, AgentRunner, Host
from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import UserMessage
from skillkit_core.models import ModelDefinition

MODEL = ModelDefinition("m")
BOTH = pytest.mark.parametrize("adapter_class", [OpenAIAdapter, OpenAIResponsesAdapter])
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


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in MISTYPED.items() for v in values], ids=lambda v: repr(v)
)
@BOTH
def test_a_setting_of_a_wrong_type_is_refused(adapter_class: Any, name: str, value: Any, loopback: Any) -> None:
    request = asked(ModelSettings(**{name: value}))

    error = refusal(adapter_class, request, loopback)

    assert (error.kind, error.provider, error.retryable) == (ErrorKind.invalid_request, "openai", False)
    assert error.message.startswith(f"{name} is of type {type(value).__name__}; it must be a")
    assert list(adapter_class(None, base_url="http://127.0.0.1:1/v1").validate(request)) == [error.message]


@BOTH
def test_every_setting_of_a_wrong_type_is_named(adapter_class: Any) -> None:
    wrong = asked(ModelSettings(**{name: values[0] for name, values in MISTYPED.items()}))  # type: ignore[arg-type]
    lines = adapter_class(None, base_url="http://127.0.0.1:1/v1").validate(wrong)
    assert [line.split(" ")[0] for line in lines] == list(MISTYPED)


def test_a_run_with_a_setting_of_a_wrong_type_fails_in_its_words(loopback: Any) -> None:
    async def main() -> None:
        async with loopback() as server:
            server.json({}, 500)
            settings = ModelSettings(max_tokens="5")  # type: ignore[arg-type]
            agent = AgentRunner(AgentConfig(model=MODEL, settings=settings), host=Host(discover=False))
            adapter = OpenAIAdapter(None, base_url=server.url)
            agent.set_adapter(adapter)
            with pytest.raises(AgentError, match="max_tokens is of type str; it must be an int") as caught:
                await agent.chat("hi")
            assert "report it" not in str(caught.value)
            await adapter.close()
            assert server.requests == []

    asyncio.run(main())
