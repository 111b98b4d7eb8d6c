"""Thinking: how much is asked for, and what of it goes back to whom."""

from __future__ import annotations

import pytest
from anthropic_bodies import body, call, result, said, tool, valid
from skillkit_anthropic.request import RequestEncoder

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.messages import StopReason, TextBlock, ThinkingBlock, UserMessage
from skillkit_core.models import ModelDefinition


@pytest.mark.parametrize(
    ("model", "level", "thinking", "effort"),
    [
        ("claude-sonnet-4-5", "off", {"type": "disabled"}, None),
        ("claude-sonnet-4-5", "minimal", {"type": "enabled", "budget_tokens": 1_024}, None),
        ("claude-sonnet-4-5-20250929", "high", {"type": "enabled", "budget_tokens": 16_384}, None),
        ("claude-opus-4-5", "xhigh", {"type": "enabled", "budget_tokens": 32_768}, None),
        ("claude-3-7-sonnet-20250219", "low", {"type": "enabled", "budget_tokens": 2_048}, None),
        ("claude-sonnet-4-20250514", "low", {"type": "enabled", "budget_tokens": 2_048}, None),
        ("claude-3-5-haiku-20241022", "high", None, None),
        ("claude-3-haiku-20240307", "off", None, None),
        ("claude-opus-4-6", "xhigh", {"type": "adaptive"}, "max"),
        ("claude-sonnet-4-6", "minimal", {"type": "adaptive"}, "low"),
        ("claude-opus-4-8", "xhigh", {"type": "adaptive", "display": "summarized"}, "xhigh"),
        ("claude-sonnet-5", "medium", {"type": "adaptive", "display": "summarized"}, "medium"),
        ("anthropic/claude-haiku-4.6", "high", {"type": "adaptive"}, "high"),
        ("claude-opus-4-8", "off", None, None),
        ("claude-sonnet-5", "off", {"type": "disabled"}, None),
        ("claude-sonnet-5-5", "off", {"type": "between_tools"}, None),
        ("claude-haiku-5-5", "off", {"type": "disabled"}, None),
        ("claude-fable-5", "off", None, "low"),  # always thinks
        ("MiniMax-M2", "medium", {"type": "enabled", "budget_tokens": 8_192}, None),
    ],
)
def test_levels_of_models_that_nobody_described(model, level, thinking, effort):
    sent = valid([UserMessage(content="hi")], model=ModelDefinition(model), settings=ModelSettings(thinking=level))
    assert sent.get("thinking") == thinking
    assert sent.get("output_config", {}).get("effort") == effort


def test_the_definition_of_a_model_decides_its_levels():
    levels = {
        "off": None,
        "low": 3_000,
        "medium": "medium",
        "high": {"thinking": {"type": "adaptive"}, "speed": "slow"},
    }
    model = ModelDefinition("m", thinking_levels=levels, max_output_tokens=64_000, reasoning=True)
    by = {n: body(model=model, settings=ModelSettings(thinking=n)) for n in levels}
    assert "thinking" not in by["off"]
    assert by["low"]["thinking"]["budget_tokens"] == 3_000
    assert by["medium"]["output_config"] == {"effort": "medium"}
    assert (by["high"]["thinking"], by["high"]["speed"]) == ({"type": "adaptive"}, "slow")
    plain = ModelDefinition("m", context_window=1000, max_output_tokens=500)
    assert "thinking" not in body(model=plain, settings=ModelSettings(thinking="high"))


def test_budget_and_length_fit_together():
    sent = valid([UserMessage(content="x")], settings=ModelSettings(thinking="xhigh"))
    assert sent["thinking"]["budget_tokens"] == 32_768
    assert sent["max_tokens"] > 32_768
    sent = valid([UserMessage(content="x")], settings=ModelSettings(thinking="high", max_tokens=4_096))
    assert (sent["thinking"]["budget_tokens"], sent["max_tokens"]) == (3_072, 4_096)
    assert "thinking" not in valid(
        [UserMessage(content="x")], settings=ModelSettings(thinking="high", max_tokens=1_500)
    )


def test_a_forced_tool_goes_without_a_thinking_budget():
    chosen = ModelSettings(thinking="high", tool_choice="required")
    assert "thinking" not in valid([UserMessage(content="x")], settings=chosen, tools=(tool("a"),))


@pytest.mark.parametrize(("model", "thinking"), [("claude-opus-4-6", None), ("claude-sonnet-5", {"type": "disabled"})])
def test_a_forced_tool_goes_without_adaptive_thinking(model, thinking):
    chosen = ModelSettings(thinking="xhigh", tool_choice="required")
    sent = valid([UserMessage(content="x")], settings=chosen, tools=(tool("a"),), model=ModelDefinition(model))
    assert (sent.get("thinking"), "output_config" in sent) == (thinking, False)


DROPPED = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1"])
def test_thinking_that_is_tied_to_what_was_before_it_does_not_fail_a_compacted_conversation(model):
    definition = ModelDefinition(model)
    plain = valid([UserMessage(content="x")], model=definition)
    assert plain["thinking"] == {"type": "adaptive", "block_binding": DROPPED}
    asked = valid([UserMessage(content="x")], model=definition, settings=ModelSettings(thinking="high"))
    assert asked["thinking"] == {"type": "adaptive", "display": "summarized", "block_binding": DROPPED}
    own = ModelSettings(extra={"thinking": {"type": "disabled"}})
    assert body(model=definition, settings=own)["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("provider", ["anthropic", "gateway"])
@pytest.mark.parametrize(
    "model", ["claude-sonnet-5", "claude-opus-5", "claude-fable-5", "MiniMax-M2", "claude-opus-5-5"]
)
def test_nobody_else_is_asked_about_tied_thinking(provider, model):
    sent = body(model=ModelDefinition(model), encoder=RequestEncoder(provider))
    assert ("thinking" in sent) == (provider == "anthropic" and model == "claude-opus-5-5")


def test_an_open_tool_loop_of_another_model_goes_without_a_thinking_budget():
    foreign = said(ThinkingBlock("hm", "sig"), call("c"), model="other")
    chosen = ModelSettings(thinking="high")
    assert "thinking" not in valid([UserMessage(content="x"), foreign, result("c")], settings=chosen)
    closed = [UserMessage(content="x"), foreign, result("c"), said(TextBlock("ok")), UserMessage(content="next")]
    assert "thinking" in valid(closed, settings=chosen)
    own = [
        UserMessage(content="x"),
        said(ThinkingBlock("hm", "sig"), call("c")),
        result("c"),
        said(call("d")),
        result("d"),
    ]
    assert "thinking" in valid(own, settings=chosen)


@pytest.mark.spec("I5")
def test_thinking_replays_byte_for_byte_to_its_own_model_only():
    thought = (
        ThinkingBlock("Let me   think\n", "c2ln+/="),
        ThinkingBlock("", "c2ln"),
        ThinkingBlock(redacted=True, data="b3BhcXVl"),
        TextBlock("So."),
    )
    own = valid([UserMessage(content="go"), said(*thought), UserMessage(content="on")])["messages"][1]["content"]
    assert own == [
        {"type": "thinking", "thinking": "Let me   think\n", "signature": "c2ln+/="},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "So."},
    ]
    for foreign in ({"model": "claude-opus-5"}, {"provider": "other"}, {"api": "openai-chat"}):
        history = [UserMessage(content="go"), said(*thought, **foreign), UserMessage(content="on")]
        sent = valid(history)["messages"][1]["content"]
        assert sent == [{"type": "text", "text": "Let me   think\n"}, {"type": "text", "text": "So."}], foreign


@pytest.mark.spec("I5")
def test_unsigned_thinking_is_text_and_nothing_ends_in_thinking():
    aborted = said(ThinkingBlock("half a thou"), stop_reason=StopReason.aborted)
    cut = said(ThinkingBlock("whole", "sig"), ThinkingBlock(redacted=True, data="x"), stop_reason=StopReason.length)
    for message, text in ((aborted, "half a thou"), (cut, "whole")):
        sent = valid([UserMessage(content="go"), message, UserMessage(content="on")])
        assert sent["messages"][1]["content"] == [{"type": "text", "text": text}]
