"""Random legal histories: what a compactor leaves is legal for every provider, fits, and loses nothing pinned."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings, strategies as st
from skillkit_anthropic import AnthropicAdapter
from skillkit_compactors import PruneCompactor, SlidingWindowCompactor, SummaryCompactor, TokenBudgetCompactor
from skillkit_openai import OpenAIAdapter, OpenAIResponsesAdapter

from skillkit_core import (
    AbortSignal,
    AssistantMessage,
    CompactionRequest,
    CustomMessage,
    ImageBlock,
    LLMRequest,
    ModelDefinition,
    Outcome,
    Session,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    repair,
)
from skillkit_core.agent.compaction import _legal_cut, _legal_swap
from skillkit_core.estimates import estimate_message

COMPACTORS = {
    "summary": SummaryCompactor(),
    "prune": PruneCompactor(),
    "prune alone": PruneCompactor(then=None),
    "sliding-window": SlidingWindowCompactor(turns=3),
    "token-budget": TokenBudgetCompactor(),
}
ADAPTERS = {
    "anthropic": AnthropicAdapter(None, base_url="http://localhost", api_key="k"),
    "openai-chat": OpenAIAdapter(None, base_url="http://localhost", api_key="k"),
    "openai-responses": OpenAIResponsesAdapter(None, base_url="http://localhost", api_key="k"),
}
MODEL = ModelDefinition("m", "scripted", context_window=4_000)

words = st.builds(
    lambda word, n: (word + " ") * n, st.sampled_from(["parse", "日本", "=#", "naïve"]), st.integers(1, 60)
)
images = st.just(ImageBlock(data="iVBORw0KGgo="))


@st.composite
def calls_and_results(draw, state):
    """An answer with calls, and their results, of which one may be missing or pinned."""
    count = draw(st.integers(1, 4))
    calls = []
    for _ in range(count):
        state["n"] += 1
        calls.append(
            ToolCall(
                f"c{state['n']}", draw(st.sampled_from(["read", "write_file", "bash"])), {"path": f"f{state['n']}"}
            )
        )
    thinking = [ThinkingBlock("Hm.", signature="c2ln")] if draw(st.booleans()) else []
    out = [AssistantMessage(content=(*thinking, TextBlock(draw(words)), *calls), stop_reason=StopReason.tool_calls)]
    for call in calls:
        size = draw(st.sampled_from([1, 4, 4, 30]))
        content = (TextBlock(draw(words) * size), *([draw(images)] if draw(st.integers(0, 9)) == 0 else []))
        outcome = draw(st.sampled_from([Outcome.ok, Outcome.ok, Outcome.error]))
        out.append(
            ToolResultMessage(
                tool_call_id=call.id, tool_name=call.name, content=content, outcome=outcome,
                is_error=outcome is not Outcome.ok, pinned=size == 1 and draw(st.integers(0, 9)) == 0,
            )
        )  # fmt: skip
    if draw(st.integers(0, 5)) == 0:
        out.insert(1, UserMessage(content="steered", source="steer"))  # the core moves it behind the results
    if draw(st.integers(0, 9)) == 0:
        out.pop()
    return out


@st.composite
def histories(draw):
    """Turns with everything that a session may hold."""
    state, out = {"n": 0}, []
    for _ in range(draw(st.integers(1, 12))):
        out.append(UserMessage(content=draw(words), pinned=draw(st.integers(0, 14)) == 0))
        for _ in range(draw(st.integers(0, 3))):
            out += draw(calls_and_results(state))
        ending = draw(st.integers(0, 6))
        if ending < 4:
            out.append(AssistantMessage(content=draw(words)))
        elif ending == 4:
            out.append(AssistantMessage(content=draw(words), stop_reason=StopReason.aborted))
        elif ending == 5:
            out.append(CustomMessage(custom_type="note", content=draw(words), in_context=draw(st.booleans())))
    return out


def estimate(messages):
    return sum(map(estimate_message, messages))


async def compacted(compactor, messages, reason):
    """The history after a compaction, as the core makes it; ``None`` when the compactor leaves it."""
    asked = []

    async def complete(prompt, shown):
        asked.append(estimate([UserMessage(content=prompt)]) + estimate(shown))
        return "What was said is summarised. Next step: go on."

    size = estimate(messages)
    result = await compactor.compact(
        CompactionRequest(tuple(messages), MODEL, reason, size, 4_000, 2_000, AbortSignal(), estimate, complete)
    )
    assert all(tokens <= 4_000 for tokens in asked), f"a request for a summary has {asked} tokens"
    if result is None:
        return None
    session = await Session.create(None, lambda: 1.0)
    for message in messages:
        await session.append_message(message)
    cut = _legal_cut(messages, result.keep_from)
    assert cut == result.keep_from, "the core need not move the cut"
    swaps = {i: _legal_swap(messages, i, m) for i, m in result.replacements.items()}
    await session.append_compaction(result.summary, cut, size, result.details, swaps)
    return list(session.context)


def least(messages):
    """Tokens of what every compactor must leave: the newest answer with its calls, and what is pinned."""
    cut = next(
        (
            i
            for i in range(len(messages) - 1, -1, -1)
            if not isinstance(messages[i], (ToolResultMessage, CustomMessage))
        ),
        0,
    )
    while cut and any(isinstance(m, ToolResultMessage) for m in messages[cut:]) and messages[cut].role != "assistant":
        cut -= 1
    return estimate([m for m in messages[:cut] if getattr(m, "pinned", False)]) + estimate(messages[cut:])


@settings(deadline=None)
@given(messages=histories(), reason=st.sampled_from(["threshold", "overflow", "manual"]))
def test_what_every_compactor_leaves_is_legal_for_every_provider_and_shorter(messages, reason):
    for name in COMPACTORS:  # making a history costs more than compacting it
        leaves_what_is_legal_and_shorter(name, messages, reason)


def leaves_what_is_legal_and_shorter(name, messages, reason):
    after = asyncio.run(compacted(COMPACTORS[name], messages, reason))
    if after is None:
        if reason == "threshold" and name != "prune alone":
            assert estimate(messages) <= 2_000 or least(messages) + 400 > 2_000
        return

    sent = repair(tuple(after))
    for adapter in ADAPTERS.values():
        assert list(adapter.validate(LLMRequest(MODEL, sent))) == []
    assert estimate(after) < estimate(messages)
    assert isinstance(after[-1], type(messages[-1])) and sent
    for message in messages:
        if getattr(message, "pinned", False):
            assert sum(m.content == message.content and m.pinned for m in after if hasattr(m, "pinned")) >= 1
    if name != "prune" and name != "prune alone" and least(messages) + 400 <= 2_000:
        assert estimate(after) <= 2_000


@settings(deadline=None)
@given(messages=histories())
def test_compacting_what_was_compacted_stays_legal(messages):
    for name in COMPACTORS:
        stays_legal(name, messages)


def stays_legal(name, messages):
    for _ in range(3):
        after = asyncio.run(compacted(COMPACTORS[name], messages, "overflow"))
        if after is None:
            return
        sent = repair(tuple(after))
        assert all(not list(adapter.validate(LLMRequest(MODEL, sent))) for adapter in ADAPTERS.values())
        messages = [*after, UserMessage(content="and then? " * 200), AssistantMessage(content="this " * 400)]
