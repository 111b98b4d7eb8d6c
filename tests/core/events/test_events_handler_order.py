"""In which order handlers are called, and what changes to them mean during an emit (spec, 3; edge case 31)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from bus_calls import emit
from hypothesis import given, settings, strategies as st

from skillkit_core import EventBus, Host, hookimpl
from skillkit_core.events.types import Event, ToolExecutionStartEvent

PROPERTY = settings(max_examples=100, deadline=None, derandomize=True)


PHASES = ["rewrite", "first", "normal", "last", "guard"]


MARKS = {
    "rewrite": {"phase": "rewrite"},
    "first": {"phase": "first"},
    "tryfirst": {"tryfirst": True},
    "normal": {"phase": "normal"},
    "plain": {},
    "last": {"phase": "last"},
    "trylast": {"trylast": True},
    "guard": {"phase": "guard"},
}


MEANS = {"tryfirst": "first", "plain": "normal", "trylast": "last"}


def make_plugin(tag: str, mark: dict[str, Any], seen: list[str], asynchronous: bool, shape: int) -> Any:
    """A plugin with one implementation of ``turn_end``, taking any subset of the arguments."""
    if asynchronous:

        async def turn_end(self: Any, event: Any) -> None:
            seen.append(tag)
            await asyncio.sleep(0)
    elif shape == 0:

        def turn_end(self: Any) -> None:  # type: ignore[misc]
            seen.append(tag)
    elif shape == 1:

        def turn_end(self: Any, ctx: Any, event: Any) -> None:  # type: ignore[misc]
            assert event.type == "turn_end" and ctx.agent_path == ("main",)
            seen.append(tag)
    else:

        def turn_end(self: Any, event: Any) -> None:
            seen.append(tag)

    return type("Plugin", (), {"turn_end": hookimpl(**mark)(turn_end)})()


@PROPERTY
@given(
    plugins=st.lists(st.tuples(st.sampled_from(sorted(MARKS)), st.booleans(), st.integers(0, 2)), max_size=6),
    handlers=st.lists(st.tuples(st.sampled_from(PHASES), st.booleans(), st.booleans()), max_size=6),
    late=st.integers(0, 6),
)
def test_handlers_run_by_phase_then_plugins_before_session_handlers_then_in_order(
    plugins: list[tuple[str, bool, int]], handlers: list[tuple[str, bool, bool]], late: int
) -> None:
    seen: list[str] = []
    expected: list[tuple[int, int, int, str]] = []
    host = Host(discover=False, environ={})
    made = []
    for i, (mark, asynchronous, shape) in enumerate(plugins):
        made.append((f"p{i}", make_plugin(f"p{i}", MARKS[mark], seen, asynchronous, shape)))
        expected.append((PHASES.index(MEANS.get(mark, mark)), 0, i, f"p{i}"))
    for name, plugin in made[:late]:
        host.add_plugin(plugin, name=name)
    bus = EventBus(host)
    for i, (phase, asynchronous, removed) in enumerate(handlers):

        def handler(event: Any, tag: str = f"h{i}") -> None:
            seen.append(tag)

        async def async_handler(event: Any, tag: str = f"h{i}") -> None:
            await asyncio.sleep(0)
            seen.append(tag)

        off = bus.on("turn_end", async_handler if asynchronous else handler, phase=phase)  # type: ignore[call-overload]
        if removed:
            off()
        else:
            expected.append((PHASES.index(phase), 1, i, f"h{i}"))
    for name, plugin in made[late:]:
        host.add_plugin(plugin, name=name)
    asyncio.run(bus.emit("turn_end", {}))
    assert seen == [tag for *_, tag in sorted(expected)]


@pytest.mark.spec("9.31", "9.52")
def test_a_plugin_that_is_removed_during_an_emit_is_not_called_any_more() -> None:
    seen: list[str] = []
    host = Host(discover=False, environ={})
    for name in ("a", "b", "c"):
        host.add_plugin(make_plugin(name, {}, seen, False, 2), name=name)
    bus = EventBus(host)
    bus.on("turn_end", lambda e: host.remove_plugin("b"), phase="first")
    emit(bus, "turn_end", {})
    emit(bus, "turn_end", {})
    assert seen == ["a", "c", "a", "c"]


def test_a_plugins_timeout_and_tools_marks_reach_the_dispatcher() -> None:
    seen: list[str] = []

    class Plugin:
        @hookimpl(tools=("bash",), timeout=0.05)
        async def tool_execution_start(self, event: Any) -> None:
            seen.append(event.tool_name)
            await asyncio.Event().wait()

    host = Host(discover=False, environ={}, plugins=[("p", Plugin())])
    bus, errors = EventBus(host), []
    bus.on("handler_error", errors.append)
    for name in ("read", "bash"):
        emit(bus, bus.make(ToolExecutionStartEvent, tool_name=name))
    assert seen == ["bash"]
    assert errors[0].plugin == "p" and "0.05 s" in errors[0].error


@pytest.mark.spec("9.31")
def test_a_handler_added_during_an_emit_waits_for_the_next_one() -> None:
    bus, seen = EventBus(), []

    def adder(event: Event) -> None:
        seen.append("adder")
        if len(seen) == 1:
            bus.on("agent_settled", lambda e: seen.append("added"))

    bus.on("agent_settled", adder)
    emit(bus)
    assert seen == ["adder"]
    emit(bus)
    assert seen == ["adder", "adder", "added"]


@pytest.mark.spec("9.31")
def test_a_handler_removed_before_its_turn_is_not_called_and_nobody_is_skipped() -> None:
    bus, seen = EventBus(), []
    offs: dict[str, Any] = {}

    def first(event: Event) -> None:
        seen.append("first")
        offs["first"]()
        offs["second"]()

    offs["first"] = bus.on("agent_settled", first)
    offs["second"] = bus.on("agent_settled", lambda e: seen.append("second"))
    bus.on("agent_settled", lambda e: seen.append("third"))
    emit(bus)
    emit(bus)
    assert seen == ["first", "third", "third"]


@pytest.mark.spec("9.31")
def test_a_thousand_threads_worth_of_on_and_off_lose_and_double_nothing() -> None:
    bus = EventBus()
    steady: list[int] = []
    bus.on("agent_settled", lambda e: steady.append(e.seq))
    calls: list[list[int]] = [[] for _ in range(10)]
    barrier = threading.Barrier(11)

    def churn(mine: list[int]) -> None:
        barrier.wait()
        for _ in range(100):
            off = bus.on("agent_settled", lambda e: mine.append(e.seq))
            off()
            off()

    threads = [threading.Thread(target=churn, args=(mine,)) for mine in calls]
    for thread in threads:
        thread.start()

    async def main() -> int:
        barrier.wait()
        n = 0
        while any(thread.is_alive() for thread in threads) or n < 100:
            await bus.emit("agent_settled")
            n += 1
            await asyncio.sleep(0)
        return n

    emitted = asyncio.run(main())
    for thread in threads:
        thread.join()
    assert len(steady) == emitted == len(set(steady))
    for mine in calls:
        assert len(mine) == len(set(mine)), "a handler was called twice for one event"
    emit(bus)
    assert len(bus.table["agent_settled"]) == 1
