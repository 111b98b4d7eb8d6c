"""The adapter keeps what the contract promises, and serves an agent of a real host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from skillkit_anthropic import AnthropicAdapter, plugin
from skillkit_testkit import Reply
from skillkit_testkit.conformance import AdapterConformance

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.contracts.adapter import LLMAdapter
from skillkit_core.models import TokenUsage


@pytest.mark.spec("9.43", "9.44", "I5")
@pytest.mark.smoke
class TestAnthropicAdapter(AdapterConformance):
    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        return lambda url: AnthropicAdapter(None, provider="anthropic", base_url=url, api_key="k")


def test_an_agent_of_a_real_host_talks_over_it(llm_server):
    thought = Reply(thinking="Hm.", text="First.", usage=TokenUsage(input=10, output=5, cache_read=7))
    llm_server.script(thought, Reply(text="Second."))
    host = Host(discover=False)
    host.add_plugin(plugin, name="anthropic")

    async def work() -> list[str]:
        config = AgentConfig(model="claude-sonnet-5", provider="anthropic", base_url=llm_server.url, api_key="k")
        agent = AgentRunner(config, host=host)
        try:
            first = await agent.chat("one")
            assert (first.usage.input, first.usage.cache_read) == (10, 7)
            return [first.content, (await agent.chat("two")).content]
        finally:
            await host.adapters.close()

    assert asyncio.run(work()) == ["First.", "Second."]
    before, after = (request.body["messages"] for request in llm_server.requests)
    assert [m["role"] for m in after] == ["user", "assistant", "user"]
    assert after[0]["content"][0]["text"] == before[0]["content"][0]["text"] == "one"
    assert after[1]["content"][0]["type"] == "thinking"
    assert after[1]["content"][0]["signature"]
