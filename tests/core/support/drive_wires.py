"""What the installed providers would make of a request (I6)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from skillkit_core import AssistantMessage, LLMAdapter, LLMRequest

ADAPTERS = {
    "skillkit_anthropic": ("AnthropicAdapter",),
    "skillkit_openai": ("OpenAIAdapter", "OpenAIResponsesAdapter"),
}


@cache
def adapters() -> tuple[LLMAdapter, ...]:
    """An adapter for each wire whose plugin is installed."""
    found: list[LLMAdapter] = []
    for module, names in ADAPTERS.items():
        if find_spec(module) is not None:
            package = __import__(module)
            found += [getattr(package, name)(None, base_url="http://127.0.0.1:9/v1", api_key="none") for name in names]
    return tuple(found)


def check_wires(request: LLMRequest) -> None:
    """Every wire takes the request, as one that another model's answers are in, and as one of its own."""
    for adapter in adapters():
        said_here = {"provider": adapter.provider, "api": adapter.api, "model": request.model.id}
        own = tuple(replace(m, **said_here) if isinstance(m, AssistantMessage) else m for m in request.messages)
        model: Any = replace(request.model, provider=adapter.provider, api=adapter.api)
        for messages in (request.messages, own):
            problems = adapter.validate(replace(request, model=model, messages=messages, scratch={}))
            assert not problems, f"I6: {adapter.api} would refuse the request: {list(problems)}"
