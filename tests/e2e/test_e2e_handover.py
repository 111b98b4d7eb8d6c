"""A conversation that goes from one provider to another and back over real wires: thinking, images, ids, details."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from skillkit_anthropic import AnthropicAdapter
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter
from skillkit_testkit.turns import Call, Reply

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    AssistantMessage,
    Host,
    ImageBlock,
    ModelDefinition,
    Tool,
    ToolOutput,
)
from skillkit_core.messages import TextBlock, ThinkingBlock

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
LONG_ID = "call_" + "x" * 200 + "|fc_" + "y" * 240
SEES = frozenset({"text", "tool_use", "image"})
BLIND = frozenset({"text", "tool_use"})
OTHERS = {"chat": OpenAIAdapter, "responses": OpenAIResponsesAdapter}


async def look(args: Any, ctx: Any) -> ToolOutput:
    return ToolOutput([TextBlock("a picture"), ImageBlock(PIXEL)], details={"not": "for models"})


@contextlib.asynccontextmanager
async def agent_of(
    server: Any, other: str, capabilities: frozenset[str]
) -> AsyncIterator[tuple[AgentRunner, Any, Any]]:
    """An agent that knows two models: A at Anthropic's wire, B at one of OpenAI's."""
    host = Host(discover=False)
    adapters = {
        "a": AnthropicAdapter(None, provider="a", base_url=server.url, api_key="none"),
        "b": OTHERS[other](None, provider="b", base_url=server.openai_url, api_key="none"),
    }
    for name, adapter in adapters.items():
        host.adapters.register(name, adapter)
    a = ModelDefinition("model-a", "a", capabilities=SEES, reasoning=True)
    b = ModelDefinition("model-b", "b", capabilities=capabilities, reasoning=True)
    async with AgentRunner(AgentConfig(model=a, tools=(Tool("look", "Looks.", look),)), host=host) as agent:
        yield agent, a, b
    for adapter in adapters.values():
        await adapter.close()
    await host.aclose()


@pytest.mark.spec("9.42", "I5", "I6")
@pytest.mark.parametrize("other", OTHERS)
def test_a_conversation_goes_to_another_model_and_back(llm_server, skillkit_home, other):
    llm_server.script(
        Reply(thinking="A thinks.", signature="c2lnLWE=", text="From A.", tool_calls=[Call("look")]),
        Reply(thinking="A looks.", signature="c2lnLWEy", text="A saw it."),
        Reply(thinking="B thinks.", signature="c2lnLWI=", text="From B.", tool_calls=[Call("look", id=LONG_ID)]),
        Reply(text="B saw it."),
        Reply(text="A again."),
    )

    async def talk() -> Sequence[Any]:
        async with agent_of(llm_server, other, SEES) as (agent, a, b):
            hidden = ThinkingBlock(redacted=True, data="cmVkYWN0ZWQ=")
            known = {"provider": "a", "api": "anthropic-messages", "model": "model-a"}
            await agent.chat("look", images=[ImageBlock(PIXEL)])
            await agent.session.append_message(AssistantMessage(content=(hidden, TextBlock("Hidden.")), **known))
            agent.set_model(b)
            assert (await agent.chat("and you?")).content == "B saw it."
            agent.set_model(a)
            assert (await agent.chat("and you again?")).content == "A again."
            return agent.messages

    messages = asyncio.run(talk())
    first, _, to_b, _, back = llm_server.requests
    assert [r.api for r in llm_server.requests] == [first.api] * 2 + [to_b.api] * 2 + [first.api]
    theirs = to_b.raw.decode()
    assert "A thinks." in theirs and "Hidden." in theirs, "what A thought is text to B"
    assert "c2lnLWE=" not in theirs and "cmVkYWN0ZWQ=" not in theirs, "A's proofs went to B"
    thoughts = [
        b for m in back.body["messages"] if m["role"] == "assistant" for b in m["content"] if "thinking" in b["type"]
    ]
    assert thoughts == [
        {"type": "thinking", "thinking": "A thinks.", "signature": "c2lnLWE="},
        {"type": "thinking", "thinking": "A looks.", "signature": "c2lnLWEy"},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
    ]
    assert "c2lnLWI=" not in back.raw.decode(), "B's proof went to A"
    results = [m for m in messages if m.role == "tool_result"]
    assert results[1].tool_call_id == LONG_ID, "the session keeps the id as it came"
    last = [item for item in back.items if item.kind == "result"][-1]
    assert last.text == "a picture" and len(last.call_id) <= 64


@pytest.mark.spec("9.20")
@pytest.mark.parametrize("other", OTHERS)
def test_a_model_without_eyes_gets_a_note_and_nobody_gets_details(llm_server, skillkit_home, other):
    llm_server.script(Reply(tool_calls=[Call("look")]), Reply(text="I cannot see."))

    async def talk() -> None:
        async with agent_of(llm_server, other, BLIND) as (agent, _, b):
            agent.set_model(b)
            assert (await agent.chat("look", images=[ImageBlock(PIXEL)])).content == "I cannot see."
            assert agent.messages[2].details == {"not": "for models"}

    asyncio.run(talk())
    for request in llm_server.requests:
        assert PIXEL not in request.raw.decode() and "for models" not in request.raw.decode()
    assert "image" in llm_server.last.tool_results[0].text
