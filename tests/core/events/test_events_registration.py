"""Adding handlers to the dispatcher: names, aliases, shapes, filters, and the events that they get (spec, 3)."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from bus_calls import emit

from skillkit_core import EventBus, UnknownName, UsageError
from skillkit_core.events.types import Event, InputEvent, MessageEndEvent, ToolCallEvent, ToolExecutionStartEvent
from skillkit_core.messages import AssistantMessage, StopReason, ToolCall, ToolResultMessage


def test_on_as_a_decorator_gives_the_function_back_unchanged() -> None:
    bus, seen = EventBus(), []

    @bus.on("agent_settled")
    def handler(event: Event) -> None:
        seen.append(event.type)

    assert handler.__name__ == "handler" and not hasattr(handler, "__wrapped__")
    emit(bus)
    assert seen == ["agent_settled"]


def test_on_as_a_call_gives_an_unsubscribe_that_may_be_called_twice() -> None:
    bus, seen = EventBus(), []
    off = bus.on("agent_settled", seen.append)
    emit(bus)
    off()
    off()
    emit(bus)
    assert len(seen) == 1
    assert not bus.has("agent_settled")


def test_an_event_class_names_its_event() -> None:
    bus, seen = EventBus(), []
    bus.on(InputEvent, seen.append)
    emit(bus, "input", {"text": "hello"})
    assert seen[0].text == "hello"


@pytest.mark.parametrize(
    ("alias", "name"),
    [("tool_call", "before_tool_call"), ("tool_result", "after_tool_result"), ("context", "context_transform")],
)
def test_an_alias_means_the_same_event_for_on_and_is_refused_by_emit(alias: str, name: str) -> None:
    bus, seen = EventBus(), []
    bus.on(alias, seen.append)
    emit(bus, name, {})
    assert seen[0].type == name
    with pytest.raises(UsageError, match=f"emit '{name}'"):
        emit(bus, alias, {})


def test_response_is_the_end_of_an_answer_without_calls_that_did_not_fail() -> None:
    bus, seen = EventBus(), []
    bus.on("response", seen.append)
    final = AssistantMessage(content="done")  # type: ignore[arg-type]
    others = [
        AssistantMessage(content=(ToolCall("1", "t"),)),
        AssistantMessage(content="half", stop_reason=StopReason.aborted),  # type: ignore[arg-type]
        AssistantMessage(content="half", stop_reason=StopReason.error),  # type: ignore[arg-type]
        ToolResultMessage(tool_call_id="1", content="x"),  # type: ignore[arg-type]
    ]
    for message in [*others, final]:
        emit(bus, bus.make(MessageEndEvent, message=message))
    assert [event.message for event in seen] == [final]


def test_the_typed_subscribers_are_the_same_as_on() -> None:
    bus, seen = EventBus(), []
    bus.on_tool_call(lambda e: seen.append(e.type))
    bus.on_tool_result(lambda e: seen.append(e.type))
    bus.on_tool_output(lambda e: seen.append(e.type))
    off = bus.on_response(lambda e: seen.append(e.type))
    emit(bus, "before_tool_call", {"tool_name": "t"})
    emit(bus, "after_tool_result", {})
    emit(bus, "tool_execution_update", {"output": "x"})
    emit(bus, "message_end", {"message": AssistantMessage()})
    off()
    emit(bus, "message_end", {"message": AssistantMessage()})
    assert seen == ["before_tool_call", "after_tool_result", "tool_execution_update", "message_end"]


def test_handlers_take_the_event_or_the_event_and_the_context() -> None:
    bus, seen = EventBus(), []
    bus.on("agent_settled", lambda event: seen.append("one"))
    bus.on("agent_settled", lambda event, ctx: seen.append(ctx.agent_path))
    bus.on("agent_settled", functools.partial(lambda tag, event: seen.append(tag), "partial"))

    class Handler:
        def method(self, event: Event, ctx: Any = None) -> None:
            seen.append(ctx is bus.context)

        async def __call__(self, event: Event) -> None:
            seen.append("callable")

    bus.on("agent_settled", Handler().method)
    bus.on("agent_settled", Handler())
    emit(bus)
    assert seen == ["one", ("main",), "partial", True, "callable"]


@pytest.mark.parametrize(
    "handler",
    [lambda: None, lambda a, b, c: None, lambda event, *, needed: None, 42],
    ids=["none", "three", "kw", "42"],
)
def test_a_handler_that_cannot_take_an_event_is_refused_at_once(handler: Any) -> None:
    with pytest.raises(UsageError):
        EventBus().on("input", handler)


def test_names_that_do_not_exist_are_refused_with_close_matches() -> None:
    bus = EventBus()
    with pytest.raises(UnknownName, match="before_tool_call"):
        bus.on("before_tool_cal", lambda event: None)
    with pytest.raises(UsageError, match="rewrite, first, normal, last, guard"):
        bus.on("input", lambda event: None, phase="early")  # type: ignore[call-overload]
    for wrong in (Event, int):
        with pytest.raises(UnknownName):
            bus.on(wrong, lambda event: None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="txet"):
        emit(bus, "input", {"txet": "?"})


def test_tools_restricts_a_handler_to_calls_of_these_tools() -> None:
    bus, seen = EventBus(), []
    bus.on("tool_execution_start", lambda e: seen.append(("bash", e.tool_name)), tools=["bash"])
    bus.on("tool_execution_start", lambda e: seen.append(("text", e.tool_name)), tools="bash")
    bus.on("tool_execution_start", lambda e: seen.append(("none", e.tool_name)), tools=[])
    for name in ("bash", "read", "b"):
        emit(bus, bus.make(ToolExecutionStartEvent, tool_name=name))
    assert seen == [("bash", "bash"), ("text", "bash")]


def test_events_carry_session_run_path_a_growing_number_and_time() -> None:
    bus, seen = EventBus(clock=lambda: 12.5), []
    bus.session_id, bus.run_id = "s1", "r1"
    bus.on("agent_settled", seen.append)
    emit(bus)
    emit(bus)
    first, second = seen
    assert (first.session_id, first.run_id, first.agent_path, first.ts) == ("s1", "r1", ("main",), 12.5)
    assert second.seq > first.seq


def test_events_cannot_be_changed_in_place() -> None:
    event = ToolCallEvent(args={"a": 1})
    with pytest.raises((AttributeError, TypeError)):
        event.tool_name = "other"  # type: ignore[misc]
