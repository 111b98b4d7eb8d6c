"""A conversation without an end in a small window, with every compactor, on a real session file."""

from __future__ import annotations

import pytest
from compactors_long import CHANGED, PINNED, RULES_AT, WINDOW, conversation, plugins
from skillkit_anthropic import AnthropicAdapter
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter

from skillkit_core import AgentRunner

ADAPTERS = [
    kind(None, base_url="http://localhost", api_key="k")
    for kind in (AnthropicAdapter, OpenAIAdapter, OpenAIResponsesAdapter)
]
NAMES = ["summary", "prune", "sliding-window", "token-budget"]


@pytest.mark.parametrize("turns", [70, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
async def test_a_long_conversation_in_a_small_window_runs_to_its_end(make_host, name, turns):
    host = make_host(*plugins())
    async with conversation(host, name) as (agent, model):
        ends, most = [], 0
        agent.events.on("compaction_end", lambda e: ends.append(e))

        for turn in range(1, turns + 1):
            question = model.ask(turn)
            answer = await agent.chat(question)
            assert answer.content.startswith(f"Answer {turn}.")
            assert model.last.messages[-1].role == "tool_result"
            most = max(most, agent.estimate_tokens(agent.messages))
            if turn % 7 == 0:
                for adapter in ADAPTERS:
                    assert list(adapter.validate(model.last)) == []

        text = "\n".join(m.text for m in model.last.messages)
        assert model.overflows == 0 and model.largest <= WINDOW
        assert len(ends) > turns / 20 and {e.outcome for e in ends} == {"completed"}
        assert most < WINDOW and len(agent.messages) < 150, "what is kept in mind does not grow"
        assert text.count(PINNED) == 1
        assert question in text
        assert CHANGED in text
        if name in ("summary", "prune"):
            assert model.summaries
            assert [rule for at, rule in RULES_AT.items() if at <= turns and rule not in text] == []
        else:
            assert not model.summaries, "no model is asked"
        messages, session_id = agent.messages, agent.session_id
    async with AgentRunner(host=host, session=session_id) as again:
        await again.open()
        assert again.messages == messages, "the file gives the same conversation"
