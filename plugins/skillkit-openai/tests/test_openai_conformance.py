"""The testkit's contract suite on both adapters."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter
from skillkit_testkit.conformance import AdapterConformance

from skillkit_core.contracts.adapter import LLMAdapter


@pytest.mark.spec("9.43", "9.44", "I5")
@pytest.mark.smoke
class TestChat(AdapterConformance):
    """Chat Completions."""

    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        return lambda url: OpenAIAdapter(None, base_url=f"{url}/v1", api_key="sk-testkit-key")


@pytest.mark.spec("9.43", "9.44", "I5")
class TestResponses(AdapterConformance):
    """The Responses API."""

    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        return lambda url: OpenAIResponsesAdapter(None, base_url=f"{url}/v1", api_key="sk-testkit-key")
