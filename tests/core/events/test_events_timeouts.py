"""Time limits of handlers: armed only when one suspends, and without a trace on the caller's task (spec, 3)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from bus_calls import emit

from skillkit_core import EventBus, TurnEndResult, UsageError
from skillkit_core.events.types import TurnEndEvent


def hang(done: list[str] | None = None) -> Any:
    async def handler(event: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            if done is not None:
                done.append("cleaned up")

    return handler


@pytest.mark.parametrize("timeout", ["5", True, [5]])
def test_a_time_limit_that_is_no_number_is_refused_before_a_handler_runs_under_it(timeout: Any) -> None:
    bus = EventBus()
    with pytest.raises(UsageError, match="it must be a number of seconds"):
        bus.on("before_tool_call", hang(), timeout=timeout)
    assert not bus.has("before_tool_call")


def test_a_handler_that_hangs_is_cut_reported_and_the_others_run() -> None:
    bus, seen, errors, cleaned = EventBus(), [], [], []
    bus.on("agent_settled", hang(cleaned), timeout=0.05)
    bus.on("agent_settled", lambda e: seen.append("after"))
    bus.on("handler_error", errors.append)

    async def main() -> int:
        await bus.emit("agent_settled")
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert asyncio.run(main()) == 0
    assert seen == ["after"] and cleaned == ["cleaned up"]
    assert [e.event for e in errors] == ["agent_settled"] and "0.05 s" in errors[0].error


def test_no_timer_is_armed_for_a_handler_that_never_suspends() -> None:
    bus = EventBus()

    async def quick(event: Any) -> None:
        return None

    async def slow(event: Any) -> None:
        await asyncio.sleep(0)

    async def timers(handler: Any) -> int:
        loop, armed = asyncio.get_running_loop(), 0
        original = loop.call_later

        def counting(*args: Any, **kwargs: Any) -> Any:
            nonlocal armed
            armed += 1
            return original(*args, **kwargs)

        loop.call_later = counting  # type: ignore[method-assign]
        off = bus.on("agent_settled", handler)
        await bus.emit("agent_settled")
        off()
        return armed

    assert asyncio.run(timers(lambda e: None)) == 0
    assert asyncio.run(timers(quick)) == 0
    assert asyncio.run(timers(slow)) == 1


def test_a_timeout_ends_a_handler_that_swallows_cancellation_and_leaves_no_trace_on_the_task() -> None:
    bus, errors = EventBus(), []

    async def stubborn(event: Any) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def shielded(event: Any) -> None:
        async def inner() -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "swallowed below"
            return ""

        await asyncio.create_task(inner())

    bus.on("agent_settled", stubborn, timeout=0.05)
    bus.on("agent_settled", shielded, timeout=0.05)
    bus.on("handler_error", errors.append)

    async def main() -> None:
        await bus.emit("agent_settled")
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0
        await asyncio.sleep(0)  # would raise if a cancellation were left over

    asyncio.run(main())
    assert len(errors) == 2 and all("HandlerTimeout" in e.error for e in errors)


def test_a_cancellation_from_outside_passes_through_a_waiting_handler() -> None:
    bus, errors = EventBus(), []
    bus.on("agent_settled", hang(), timeout=30)
    bus.on("handler_error", errors.append)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await bus.emit("agent_settled")

    asyncio.run(main())
    assert errors == []


def test_nested_timeouts_cut_the_inner_handler_only() -> None:
    bus, errors, seen = EventBus(), [], []

    async def outer(event: Any) -> None:
        await bus.emit("agent_settled")
        seen.append("outer went on")

    bus.on("turn_end", outer, timeout=5)
    bus.on("agent_settled", hang(), timeout=0.05)
    bus.on("handler_error", errors.append)
    emit(bus, "turn_end", {})
    assert seen == ["outer went on"] and [e.event for e in errors] == ["agent_settled"]


def test_default_timeouts_are_those_of_the_spec() -> None:
    bus = EventBus()
    bus.on("turn_end", lambda e: None)
    bus.on("input", lambda e: None, phase="guard")
    bus.on("before_tool_call", lambda e: None)
    bus.on("session_shutdown", lambda e: None)
    bus.observe(lambda e: None, ["session_shutdown"])
    timeouts = {name: [r.timeout for r in records] for name, records in bus.table.items()}
    assert timeouts == {"turn_end": [30.0], "input": [60.0], "before_tool_call": [60.0], "session_shutdown": [5.0, 5.0]}


def test_each_handler_has_a_time_of_its_own_and_a_report_has_none_of_it() -> None:
    bus, order = EventBus(), []

    async def waits(event: Any) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        order.append("waited")

    async def reported(event: Any) -> None:
        order.append("report begins")
        await asyncio.sleep(0.05)  # longer than the handler that failed may take
        order.append("report ends")

    async def answers(event: Any) -> TurnEndResult:
        await asyncio.sleep(0)
        return TurnEndResult(stop=True, reason="enough")

    bus.on("turn_end", waits, timeout=30)
    bus.on("turn_end", hang(order), timeout=0.01)
    bus.on("turn_end", waits, timeout=30)
    bus.on("turn_end", answers, timeout=30)
    bus.on("handler_error", reported)

    async def main() -> Any:
        armed, loop = [], asyncio.get_running_loop()
        original = loop.call_later

        def counting(delay: float, *args: Any, **kwargs: Any) -> Any:
            armed.append(delay)
            return original(delay, *args, **kwargs)

        loop.call_later = counting  # type: ignore[method-assign]
        return await bus.emit("turn_end"), [delay for delay in armed if delay != 0.05]

    result, armed = asyncio.run(main())
    assert (result.stop, result.reason) == (True, "enough")
    assert order == ["waited", "cleaned up", "report begins", "report ends", "waited"]
    assert armed == [30, 0.01, 30, 30, 30], "one for each handler that suspends, and one for the report's own"


def test_events_that_wait_at_the_same_time_do_not_disturb_each_other() -> None:
    bus, seen = EventBus(), []

    async def inner(event: Any) -> None:
        await asyncio.sleep(0)
        seen.append("inner")

    async def outer(event: Any) -> None:
        await bus.emit("agent_settled")
        await asyncio.sleep(0)
        seen.append("outer")

    bus.on("agent_settled", inner)
    bus.on("turn_end", outer)

    async def main() -> None:
        await asyncio.gather(*(bus.emit("turn_end") for _ in range(20)))

    asyncio.run(main())
    assert sorted(seen) == ["inner"] * 20 + ["outer"] * 20


def test_an_event_is_freed_with_its_last_reference() -> None:
    class Note(str):
        """A value whose end can be seen."""

    bus, ends = EventBus(), []

    async def quick(event: Any) -> TurnEndResult:
        return TurnEndResult(reason=event.message)

    async def slow(event: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    async def main() -> None:
        for handler in (quick, slow):
            off = bus.on("turn_end", handler)
            note = Note("said")
            ends.append(weakref.ref(note))
            await bus.emit(bus.make(TurnEndEvent, message=note))
            off()
            del note

    gc.disable()
    try:
        asyncio.run(main())
        assert [end() for end in ends] == [None, None]
    finally:
        gc.enable()
