"""Time limits of handlers: armed only when one suspends, and without a trace on the caller's task (spec, 3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bus_calls import emit

from skillkit_core import EventBus, UsageError


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
