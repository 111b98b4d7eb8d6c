"""The adapter keeps what the contract promises."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from skillkit_anthropic import AnthropicAdapter
from skillkit_testkit.conformance import AdapterConformance

from skillkit_core.contracts.adapter import LLMAdapter


class TestAnthropicAdapter(AdapterConformance):
    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        return lambda url: AnthropicAdapter(None, provider="anthropic", base_url=url, api_key="k")
