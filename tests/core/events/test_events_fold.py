"""How several answers become one, for every result type (spec, section 5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    UNSET,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    BeforeCompactResult,
    CompactionResult,
    ContextTransformResult,
    Continue,
    CustomMessage,
    EventBus,
    Handled,
    MessageEndResult,
    ProviderRequestResult,
    SessionStartResult,
    ToolResultEventResult,
    Transform,
    TurnEndResult,
    TurnStartResult,
    UserMessage,
)
from skillkit_core.messages import AssistantMessage, TextBlock, ToolCall, ToolResultMessage, blocks_of
from skillkit_core.models import TokenUsage


def fold(name: str, data: dict[str, Any], *answers: Any) -> tuple[Any, list[Any], list[Any]]:
    """What comes of ``answers``, the events that the handlers saw, and the errors."""
    bus, seen, errors = EventBus(), [], []
    bus.on("handler_error", errors.append)
    for answer in answers:

        def handler(event: Any, answer: Any = answer) -> Any:
            seen.append(event)
            return answer(event) if callable(answer) else answer

        bus.on(name, handler)
    return asyncio.run(bus.emit(name, data)), seen, errors


def user(text: str) -> UserMessage:
    return UserMessage(content=blocks_of(text))


def note(text: str) -> CustomMessage:
    return CustomMessage(custom_type="note", content=blocks_of(text), in_context=True)


def test_nobody_with_an_opinion_gives_an_empty_answer() -> None:
    result, _, errors = fold("turn_end", {}, None, TurnEndResult(), None)
    assert result.set_fields() == {} and errors == []


def test_session_start_contexts_are_joined_in_order() -> None:
    result, _, _ = fold(
        "session_start", {}, SessionStartResult(context=[note("a")]), SessionStartResult(context=(note("b"), note("c")))
    )
    assert [m.text for m in result.context] == ["a", "b", "c"]


def test_input_transforms_chain_and_each_handler_sees_the_one_before() -> None:
    result, seen, _ = fold(
        "input",
        {"text": "a"},
        lambda e: Transform(text=e.text + "b"),
        Continue(),
        lambda e: Transform(text=e.text + "c"),
    )
    assert result == Transform(text="abc")
    assert [e.text for e in seen] == ["a", "ab", "ab"]


def test_input_images_and_text_are_merged_field_by_field() -> None:
    result, _, _ = fold("input", {"text": "a"}, Transform(images=(TextBlock("i"),)), Transform(text="b"))
    assert result.text == "b" and result.images == (TextBlock("i"),)


def test_the_first_handled_stops_the_others() -> None:
    result, seen, _ = fold("input", {"text": "a"}, Transform(text="b"), Handled("mine"), Handled("late"))
    assert result == Handled("mine") and len(seen) == 2


def test_before_agent_start_joins_messages_and_chains_the_system_prompt() -> None:
    result, seen, _ = fold(
        "before_agent_start",
        {"system_prompt": "base"},
        lambda e: BeforeAgentStartResult(system_prompt=e.system_prompt + " one", messages=[user("x")]),
        lambda e: BeforeAgentStartResult(system_prompt=e.system_prompt + " two"),
        BeforeAgentStartResult(messages=[user("y")]),
    )
    assert result.system_prompt == "base one two"
    assert [m.text for m in result.messages] == ["x", "y"]
    assert seen[2].system_prompt == "base one two"


def test_turn_start_joins_what_is_appended_and_chains_what_is_sent() -> None:
    result, seen, _ = fold(
        "turn_start",
        {"messages": (user("a"),)},
        TurnStartResult(append=[user("x")], messages=[user("only")]),
        lambda e: TurnStartResult(append=[user("y")], messages=[*e.messages, user("more")]),
    )
    assert [m.text for m in result.append] == ["x", "y"]
    assert [m.text for m in result.messages] == ["only", "more"]
    assert [m.text for m in seen[1].messages] == ["only"]


@pytest.mark.spec("9.29")
def test_context_transform_chains_and_an_empty_list_leaves_the_previous_value() -> None:
    hidden = CustomMessage(custom_type="ui", content=blocks_of("x"))
    result, seen, errors = fold(
        "context_transform",
        {"messages": (user("a"), user("b"))},
        lambda e: ContextTransformResult(messages=e.messages[1:]),
        ContextTransformResult(messages=[]),
        ContextTransformResult(messages=[hidden]),
        ContextTransformResult(messages=[ToolResultMessage(tool_call_id="1")]),
        ContextTransformResult(messages=["text"]),  # type: ignore[list-item]
        ContextTransformResult(messages="text"),  # type: ignore[arg-type]
        lambda e: ContextTransformResult(messages=[*e.messages, user("c")]),
    )
    assert [m.text for m in result.messages] == ["b", "c"]
    assert [m.text for m in seen[-1].messages] == ["b"]
    assert len(errors) == 5


def test_provider_requests_chain_the_payload_and_merge_headers_and_options() -> None:
    result, seen, _ = fold(
        "before_provider_request",
        {"payload": {"n": 1}, "headers": {"a": "1", "b": "1"}},
        ProviderRequestResult(headers={"b": "2"}, options={"x": 1}),
        lambda e: ProviderRequestResult(payload={**e.payload, "m": 2}, headers={"c": "3"}, options={"y": 2}),
    )
    assert result.payload == {"n": 1, "m": 2}
    assert result.headers == {"a": "1", "b": "2", "c": "3"} and result.options == {"x": 1, "y": 2}
    assert seen[1].headers == {"a": "1", "b": "2"}


@pytest.mark.spec("9.30")
def test_message_end_chains_and_refuses_another_role_or_other_calls() -> None:
    call = ToolCall("c1", "t")
    original = AssistantMessage(content=(TextBlock("a"), call))
    better = AssistantMessage(content=(TextBlock("b"), call))
    result, seen, errors = fold(
        "message_end",
        {"message": original},
        MessageEndResult(message=better),
        MessageEndResult(message=user("other role")),
        MessageEndResult(message=AssistantMessage(content=(TextBlock("no call"),))),
        MessageEndResult(message=AssistantMessage(content=(ToolCall("c2", "t"),))),
        MessageEndResult(message="text"),  # type: ignore[arg-type]
    )
    assert result.message is better and len(errors) == 4
    assert all(e.message is better for e in seen[1:])


def test_message_end_of_a_tool_result_keeps_its_call() -> None:
    original = ToolResultMessage(tool_call_id="c1", content=blocks_of("a"))
    good = ToolResultMessage(tool_call_id="c1", content=blocks_of("b"))
    bad = ToolResultMessage(tool_call_id="c2", content=blocks_of("b"))
    result, _, errors = fold(
        "message_end", {"message": original}, MessageEndResult(message=bad), MessageEndResult(message=good)
    )
    assert result.message is good and len(errors) == 1


@pytest.mark.spec("9.26")
def test_tool_results_are_patched_field_by_field_and_none_is_a_value() -> None:
    result, seen, _ = fold(
        "after_tool_result",
        {"content": blocks_of("raw"), "details": {"x": 1}, "is_error": True},
        ToolResultEventResult(is_error=False),
        ToolResultEventResult(details=None),
        ToolResultEventResult(content="patched"),
    )
    assert result.set_fields() == {"is_error": False, "details": None, "content": blocks_of("patched")}
    assert seen[1].is_error is False and seen[1].details == {"x": 1}
    assert seen[2].details is None and seen[2].content == blocks_of("raw")


@pytest.mark.spec("9.25")
@pytest.mark.parametrize(
    "patch",
    [
        ToolResultEventResult(content=5),  # type: ignore[arg-type]
        ToolResultEventResult(content=["text"]),  # type: ignore[list-item]
        ToolResultEventResult(is_error="no"),  # type: ignore[arg-type]
        ToolResultEventResult(usage=5),  # type: ignore[arg-type]
    ],
)
def test_a_patch_of_wrong_types_is_discarded_and_earlier_ones_stay(patch: Any) -> None:
    result, _, errors = fold("after_tool_result", {}, ToolResultEventResult(content="first"), patch)
    assert result.set_fields() == {"content": blocks_of("first")} and len(errors) == 1


def test_usage_of_a_tool_result_can_be_taken_away() -> None:
    result, _, _ = fold(
        "after_tool_result",
        {"usage": TokenUsage(1)},
        ToolResultEventResult(usage=TokenUsage(2)),
        ToolResultEventResult(usage=None),
    )
    assert result.set_fields() == {"usage": None}


def test_one_handler_is_enough_to_stop_after_a_turn_and_reasons_are_joined() -> None:
    result, _, _ = fold(
        "turn_end",
        {},
        TurnEndResult(stop=True, reason="one"),
        TurnEndResult(stop=False),
        TurnEndResult(stop=True, reason="two"),
    )
    assert result.stop is True and result.reason == "one\n\ntwo"


def test_continuations_are_joined_in_order() -> None:
    result, _, _ = fold(
        "before_agent_end", {}, BeforeAgentEndResult("a"), BeforeAgentEndResult(), BeforeAgentEndResult("b")
    )
    assert result.continue_with == "a\n\nb"


def test_any_cancel_wins_and_the_first_compaction_counts_the_others_are_reported() -> None:
    first, second = CompactionResult("one", 1), CompactionResult("two", 2)
    result, _, errors = fold(
        "before_compact",
        {},
        BeforeCompactResult(compaction=first),
        BeforeCompactResult(cancel=True),
        BeforeCompactResult(compaction=second, cancel=False),
    )
    assert result.cancel is True and result.compaction is first
    assert len(errors) == 1 and "compaction" in errors[0].error


def test_unknown_fields_of_a_result_are_refused() -> None:
    with pytest.raises(TypeError):
        TurnEndResult(halt=True)  # type: ignore[call-arg]
    assert TurnEndResult().stop is UNSET
