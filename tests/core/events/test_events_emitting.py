"""Emitting from sync code, from threads and from handlers; observers, who see everything and have no say (spec, 3)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from bus_calls import boom, emit

from skillkit_core import AsyncHandlerError, EventBus, EventResult, Handled, Transform, TurnEndResult, UsageError
from skillkit_core.events.results import UNSET
from skillkit_core.events.types import EVENTS, InputEvent, TurnEndEvent


@pytest.mark.spec("I8")
def test_a_cancelled_observer_does_not_hide_the_event_from_those_after_it() -> None:
    """Whoever counts starts and ends sees both."""
    bus, seen = EventBus(), []

    async def main() -> None:
        entered = asyncio.Event()

        async def slow(event: Any) -> None:
            entered.set()
            await asyncio.Event().wait()

        bus.observe(slow, ["turn_end"])
        bus.observe(seen.append, ["turn_end"])
        task = asyncio.create_task(bus.emit("turn_end", {}))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [event.type for event in seen] == ["turn_end"]


def test_emit_sync_runs_sync_handlers_with_and_without_a_loop() -> None:
    bus = EventBus()
    bus.on("turn_end", lambda e: TurnEndResult(stop=True))
    assert bus.emit_sync("turn_end", {}).stop is True  # type: ignore[attr-defined]

    async def main() -> Any:
        return bus.emit_sync(TurnEndEvent())

    assert asyncio.run(main()).stop is True


@pytest.mark.spec("9.24")
def test_emit_sync_refuses_async_handlers_on_a_loop_before_anything_runs() -> None:
    bus, seen = EventBus(), []

    async def later(event: Any) -> None:
        seen.append("async")

    bus.on("before_tool_call", lambda e: seen.append("sync"))
    bus.on("before_tool_call", later, phase="guard")

    async def main() -> None:
        with pytest.raises(AsyncHandlerError, match="later"):
            bus.emit_sync("before_tool_call", {})

    asyncio.run(main())
    assert seen == []
    bus.emit_sync("before_tool_call", {})  # without a loop it runs one of its own
    assert seen == ["sync", "async"]


def test_emit_sync_reports_a_failure_to_async_handlers_afterwards() -> None:
    bus, errors = EventBus(), []

    async def report(event: Any) -> None:
        await asyncio.sleep(0)
        errors.append(event.error)

    bus.on("handler_error", report)
    bus.on("turn_end", boom)
    bus.on("turn_end", lambda e: TurnEndResult(stop=True))

    async def main() -> Any:
        answer = bus.emit_sync("turn_end", {})
        while not errors:
            await asyncio.sleep(0)
        return answer

    assert asyncio.run(main()).stop is True
    assert errors == ["ValueError: boom"]


def test_emit_threadsafe_runs_handlers_on_the_loop_that_owns_the_bus() -> None:
    bus, threads = EventBus(), []
    bus.on("agent_settled", lambda e: threads.append(threading.get_ident()))
    with pytest.raises(UsageError):
        bus.emit_threadsafe("agent_settled")

    async def main() -> None:
        bus.loop = asyncio.get_running_loop()
        await asyncio.to_thread(lambda: bus.emit_threadsafe("agent_settled").result(5))

    asyncio.run(main())
    assert threads == [threading.get_ident()]


def test_nested_emits_stop_after_eight_levels_and_the_error_is_reported_not_raised() -> None:
    bus, errors, depth = EventBus(), [], 0

    async def again(event: Any) -> None:
        nonlocal depth
        depth += 1
        await bus.emit("agent_settled")

    bus.on("agent_settled", again)
    bus.on("handler_error", errors.append)
    emit(bus)
    assert depth == 8
    assert len(errors) == 1 and errors[0].error.startswith("EventRecursionError")


def test_observers_see_every_event_last_in_its_final_form_and_have_no_say() -> None:
    bus, seen, errors = EventBus(), [], []
    bus.observe(lambda e: seen.append(getattr(e, "text", e.type)) or Handled("mine"))  # type: ignore[func-returns-value]
    bus.on("input", lambda e: Transform(text=e.text + "!"))
    bus.on("handler_error", errors.append)
    answer = emit(bus, "input", {"text": "hi"})
    emit(bus)
    assert answer == Transform(text="hi!") and seen == ["hi!", "agent_settled"] and errors == []


def test_observers_also_see_what_a_handler_stopped() -> None:
    bus, seen, late = EventBus(), [], []
    off = bus.observe(seen.append, [InputEvent])
    bus.on("input", lambda e: Handled("done"))
    bus.on("input", late.append)
    assert emit(bus, "input", {"text": "x"}) == Handled("done")
    assert len(seen) == 1 and late == []
    off()
    off()
    emit(bus, "input", {"text": "x"})
    assert len(seen) == 1


def test_an_observer_that_fails_is_reported_and_changes_nothing() -> None:
    bus, errors = EventBus(), []
    bus.observe(boom, ["before_tool_call"])
    bus.on("handler_error", errors.append)
    assert emit(bus, "before_tool_call", {"tool_name": "t"}).block is False
    assert len(errors) == 1


@pytest.mark.spec("9.53")
def test_every_event_can_be_listened_to_and_nobody_listening_costs_a_look_up() -> None:
    bus = EventBus()
    for name in EVENTS:
        assert not bus.has(name)
    off = bus.observe(lambda e: None)
    assert all(bus.has(name) for name in EVENTS)
    off()
    assert bus.table == {}
    assert emit(bus).set_fields() == {} and not UNSET


def test_fire_builds_an_event_only_when_anybody_listens() -> None:
    bus = EventBus()

    async def main() -> None:
        assert await bus.fire(TurnEndEvent, turn_index=1) == EventResult()
        assert bus.make(TurnEndEvent).seq == 1, "the event that nobody listened to has not been made"
        bus.on("turn_end", lambda event: TurnEndResult(stop=event.turn_index == 2))
        answer = await bus.fire(TurnEndEvent, turn_index=2)
        assert isinstance(answer, TurnEndResult) and answer.stop is True

    asyncio.run(main())
