"""Repair: any list of messages becomes a legal history (spec, I1 to I4 and I7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from skillkit_core import AssistantMessage, CustomMessage, StopReason, ToolCall, UserMessage
from skillkit_core.agent.repair import INTERRUPTED, Repairer, repair
from skillkit_core.messages import Outcome, RefusalBlock, TextBlock, ThinkingBlock, ToolResultMessage, blocks_of

PROPERTY = settings(deadline=None, derandomize=True)

IDS = st.sampled_from(["a", "b", "a_2", "a_2_2", ""])
CALLS = st.builds(
    lambda id, whole, incomplete: ToolCall(id, "t", {} if whole else None, "", incomplete and not whole),
    IDS, st.sampled_from([True, True, False]), st.booleans(),
)  # fmt: skip
THINKING = st.builds(
    ThinkingBlock, st.just("hm"), st.sampled_from([None, "sig"]), st.just(False), st.sampled_from([None, "d"])
)
TEXTS = st.builds(TextBlock, st.sampled_from(["x", " ", "", INTERRUPTED]))
CONTENT = st.lists(st.one_of(CALLS, CALLS, TEXTS, THINKING, st.just(RefusalBlock("no"))), max_size=4).map(tuple)
REASONS = st.sampled_from(
    [StopReason.stop, StopReason.tool_calls, StopReason.length, StopReason.aborted, StopReason.error]
)
MESSAGES = st.one_of(
    st.builds(UserMessage, content=st.just(blocks_of("u")), ts=st.integers(0, 5)),
    st.builds(AssistantMessage, content=CONTENT, stop_reason=REASONS, ts=st.integers(0, 5)),
    st.builds(AssistantMessage, content=CONTENT, stop_reason=REASONS, ts=st.integers(0, 5)),
    st.builds(ToolResultMessage, tool_call_id=IDS, tool_name=st.just("t"), content=st.builds(blocks_of, st.sampled_from("rs"))),
    st.builds(ToolResultMessage, tool_call_id=IDS, tool_name=st.just("t"), content=st.builds(blocks_of, st.sampled_from("rs"))),
    st.builds(
        CustomMessage, custom_type=st.just("c"), content=st.sampled_from([(), blocks_of("c")]), in_context=st.booleans()
    ),
)  # fmt: skip
HISTORIES = st.lists(MESSAGES, max_size=10)


def problems(messages: Any) -> list[str]:
    """What is wrong with a history by I1 and I2."""
    found, waiting, seen = [], [], set()
    for i, message in enumerate(messages):
        if message.role == "tool_result":
            if not waiting or waiting.pop(0) != message.tool_call_id:
                found.append(f"{i}: result {message.tool_call_id!r} does not fit")
            continue
        found += [f"{i}: {c!r} has no result" for c in waiting]
        waiting = []
        if message.role == "assistant":
            for call in message.tool_calls:
                if not call.id or call.id in seen:
                    found.append(f"{i}: id {call.id!r} is empty or was used before")
                seen.add(call.id)
                waiting.append(call.id)
        elif message.role != "user":
            found.append(f"{i}: role {message.role}")
    return found + [f"end: {c!r} has no result" for c in waiting]


@pytest.mark.spec("I1", "I2")
@PROPERTY
@given(HISTORIES)
def test_any_list_of_messages_becomes_legal(messages: list[Any]) -> None:
    assert problems(repair(messages)) == []


@pytest.mark.spec("I3")
@PROPERTY
@given(HISTORIES)
def test_repair_is_idempotent_and_a_legal_history_comes_back_as_the_same_object(messages: list[Any]) -> None:
    once = repair(messages)
    assert repair(once) is once
    assert repair(list(once)) == list(once)


@pytest.mark.spec("I3")
@PROPERTY
@given(HISTORIES)
def test_repair_is_deterministic_and_reads_no_clock(messages: list[Any]) -> None:
    once, again = repair(messages), repair(list(messages))
    assert list(once) == list(again)
    times = {m.ts for m in messages} | {0.0}
    assert {m.ts for m in once} <= times


@pytest.mark.spec("I3")
@PROPERTY
@given(HISTORIES, st.lists(st.integers(0, 10), max_size=4))
def test_repairing_a_growing_history_is_the_same_as_repairing_it_at_once(messages: list[Any], cuts: list[int]) -> None:
    worker, last = Repairer(), 0
    for cut in sorted({*cuts, len(messages)}):
        worker.extend(messages[last:cut])
        if worker.settled:
            assert list(worker.out) == list(repair(messages[:cut]))
        last = max(last, cut)
    assert worker.finish() == list(repair(messages))


@pytest.mark.spec("I7")
@PROPERTY
@given(HISTORIES)
def test_what_was_said_is_never_lost(messages: list[Any]) -> None:
    """User messages and text of answers stay, in their order; only blank text of cut-off answers may go."""

    def said(items: Any) -> list[str]:
        return [
            b.text for m in items if m.role == "assistant" for b in m.content
            if isinstance(b, TextBlock) and b.text.strip() and b.text != INTERRUPTED
        ]  # fmt: skip

    out = repair(messages)
    assert said(out) == said(messages)
    users = [m for m in messages if m.role == "user" or (m.role == "custom" and m.in_context and m.content)]
    assert len([m for m in out if m.role == "user"]) == len(users)


@pytest.mark.spec("I5", "I7")
@PROPERTY
@given(HISTORIES)
def test_a_cut_off_answer_carries_a_note_and_no_unsigned_thinking(messages: list[Any]) -> None:
    for message in repair(messages):
        if message.role == "assistant" and message.stop_reason in ("aborted", "error"):
            assert message.content.count(TextBlock(INTERRUPTED)) >= 1
            assert not any(isinstance(b, ThinkingBlock) and not b.signature and not b.data for b in message.content)
            assert not any(isinstance(b, ToolCall) and b.incomplete and b.args is None for b in message.content)


def call(*ids: str) -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(i, "t") for i in ids), stop_reason=StopReason.tool_calls, ts=3.0)


def result(id: str, text: str = "r") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=id, tool_name="t", content=blocks_of(text))


def user(text: str = "u") -> UserMessage:
    return UserMessage(content=blocks_of(text))


def shape(messages: Any) -> list[str]:
    return [(getattr(m, "tool_call_id", "") and f"{m.tool_call_id}={m.text[:1]}") or m.role for m in messages]


@pytest.mark.spec("I2")
@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([user(), call("a", "b"), result("b", "B"), result("a", "A")], ["user", "assistant", "a=A", "b=B"]),
        ([call("a", "b"), result("a"), user()], ["assistant", "a=r", "b=T", "user"]),
        ([call("a"), user("between"), result("a")], ["assistant", "a=r", "user"]),
        ([result("a"), user()], ["user"]),
        ([call("a"), result("a", "1"), result("a", "2")], ["assistant", "a=1"]),
        ([call("a"), result("a", "1"), call("a"), result("a", "2")], ["assistant", "a=1", "assistant", "a_2=2"]),
        ([call("a", "a", "a"), result("a", "1"), result("a", "2"), result("a", "3")], ["assistant", "a=1", "a_2=2", "a_3=3"]),
        ([call("a"), call("b"), result("a"), result("b")], ["assistant", "a=T", "assistant", "b=r"]),
    ],
)  # fmt: skip
def test_results_are_put_where_they_belong(messages: list[Any], wanted: list[str]) -> None:
    assert shape(repair(messages)) == wanted


def test_a_call_without_a_result_gets_one_that_does_not_pretend() -> None:
    (_, missing) = repair([call("a")])
    assert missing.outcome is Outcome.interrupted and missing.is_error and missing.ts == 3.0  # type: ignore[attr-defined]
    assert "not known" in missing.text


def test_calls_of_a_suspended_run_stay_open() -> None:
    history = (user(), call("a", "b", "c"), result("b"))
    out = repair(history, frozenset({"a", "c"}))
    assert out is history
    assert shape(repair(history, frozenset({"a"}))) == ["user", "assistant", "b=r", "c=T"]


def test_the_names_of_plugin_messages_are_user_messages_or_nothing() -> None:
    note = CustomMessage(custom_type="note", content=blocks_of("n"), in_context=True, ts=2.0)
    hidden = CustomMessage(custom_type="ui", content=blocks_of("h"))
    (only,) = repair([hidden, note])
    assert only == UserMessage(content=blocks_of("n"), source="custom:note", ts=2.0)


def test_a_call_cut_by_its_length_limit_stays_with_its_result() -> None:
    cut = AssistantMessage(content=(ToolCall("a", "t", None, '{"x', incomplete=True),), stop_reason=StopReason.length)
    history = (user(), cut, result("a"))
    assert repair(history) is history
