"""The dispatcher: registration, order, snapshots, timeouts, errors (spec, sections 3 and 4; edge cases 24 and 31)."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time
from typing import Any

import pytest
from bus_calls import boom, emit
from hypothesis import given, settings
from hypothesis import strategies as st

from skillkit_core import (
    AsyncHandlerError,
    Continue,
    EventBus,
    Handled,
    Host,
    Transform,
    TurnEndResult,
    UnknownName,
    UsageError,
    hookimpl,
)
from skillkit_core.events.bus import GuardFailed
from skillkit_core.events.results import UNSET
from skillkit_core.events.types import (
    EVENTS,
    Event,
    HandlerErrorEvent,
    InputEvent,
    MessageEndEvent,
    ToolCallEvent,
    ToolExecutionStartEvent,
    TurnEndEvent,
)
from skillkit_core.messages import AssistantMessage, StopReason, ToolCall, ToolResultMessage

PROPERTY = settings(max_examples=100, deadline=None, derandomize=True)


# --- registration ---------------------------------------------------------------------------------------------------


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


# --- order ----------------------------------------------------------------------------------------------------------

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


# --- snapshots ------------------------------------------------------------------------------------------------------


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


# --- timeouts -------------------------------------------------------------------------------------------------------


def hang(done: list[str] | None = None) -> Any:
    async def handler(event: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            if done is not None:
                done.append("cleaned up")

    return handler


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


# --- errors ---------------------------------------------------------------------------------------------------------


def test_a_handler_that_raises_is_reported_once_and_the_others_run() -> None:
    bus, errors, seen = EventBus(), [], []
    bus.on("turn_end", boom)
    bus.on("turn_end", lambda e: TurnEndResult(stop=True))
    bus.on("turn_end", lambda e: seen.append("after"))
    bus.on("handler_error", errors.append)
    answer = emit(bus, "turn_end", {})
    assert answer.stop is True and seen == ["after"]
    (error,) = errors
    assert isinstance(error, HandlerErrorEvent)
    assert error.event == "turn_end" and error.error == "ValueError: boom" and "boom" in error.source
    assert "in boom" in error.traceback and error.plugin is None


def test_an_error_in_a_handler_of_handler_error_goes_to_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    bus, calls = EventBus(), []

    def worse(event: Any) -> None:
        calls.append(event.event)
        raise RuntimeError("worse")

    bus.on("handler_error", worse)
    bus.on("turn_end", boom)
    with caplog.at_level(logging.WARNING, "skillkit.events"):
        emit(bus, "turn_end", {})
    assert calls == ["turn_end"]
    assert "worse" in caplog.text


def test_without_anybody_to_tell_an_error_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()
    bus.on("turn_end", boom)
    with caplog.at_level(logging.WARNING, "skillkit.events"):
        emit(bus, "turn_end", {})
    assert "ValueError: boom" in caplog.text


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        ("turn_end", "stop"),
        ("turn_end", Continue()),
        ("turn_end", TurnEndResult(stop="yes")),  # type: ignore[arg-type]
        ("input", TurnEndResult(stop=True)),
        ("input", Transform(text=5)),  # type: ignore[arg-type]
        ("agent_settled", TurnEndResult(stop=True)),
        ("agent_settled", 5),
    ],
)
def test_a_wrong_return_type_is_an_error_and_the_answer_is_discarded(event: str, answer: Any) -> None:
    bus, errors = EventBus(), []
    bus.on(event, lambda e: answer)
    bus.on("handler_error", errors.append)
    result = emit(bus, event, {})
    assert result.set_fields() == {} and len(errors) == 1


def test_a_bad_field_discards_the_whole_answer_not_half_of_it() -> None:
    bus, errors = EventBus(), []
    bus.on("input", lambda e: Transform(text="kept"))
    bus.on("input", lambda e: Transform(text="half", images=5))  # type: ignore[arg-type]
    bus.on("handler_error", errors.append)
    assert emit(bus, "input", {"text": "raw"}).text == "kept"
    assert len(errors) == 1


def test_a_guard_that_raises_hangs_or_answers_nonsense_fails_closed() -> None:
    async def late(event: Any) -> None:
        await asyncio.Event().wait()

    for guard in (boom, late, lambda e: "what?"):
        bus, errors, seen = EventBus(), [], []
        bus.on("input", guard, phase="guard", timeout=0.05)
        bus.on("handler_error", errors.append)
        bus.observe(seen.append, ["input"])
        with pytest.raises(GuardFailed):
            emit(bus, "input", {"text": "x"})
        assert len(errors) == 1 and len(seen) == 1


def test_a_failing_handler_in_phase_guard_of_an_observed_event_guards_nothing() -> None:
    bus = EventBus()
    bus.on("agent_settled", boom, phase="guard")
    emit(bus)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_base_exceptions_are_never_swallowed(kind: type[BaseException]) -> None:
    bus, errors, seen = EventBus(), [], []

    def handler(event: Any) -> None:
        raise kind

    bus.on("turn_end", handler)
    bus.on("handler_error", errors.append)
    bus.observe(seen.append, ["turn_end"])
    with pytest.raises(kind):
        emit(bus, "turn_end", {})
    assert errors == [] and len(seen) == 1


def test_a_cancelled_observer_does_not_hide_the_event_from_those_after_it() -> None:
    """I8: whoever counts starts and ends sees both."""
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


def test_debug_mode_names_a_handler_that_holds_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()
    bus.debug = True

    def busy(event: Any) -> None:
        until = time.perf_counter() + 0.06
        while time.perf_counter() < until:
            pass

    bus.on("agent_settled", busy)
    with caplog.at_level(logging.WARNING, "skillkit.events"):
        emit(bus)
    assert "busy" in caplog.text and "held the loop" in caplog.text


# --- emitting from elsewhere ----------------------------------------------------------------------------------------


def test_emit_sync_runs_sync_handlers_with_and_without_a_loop() -> None:
    bus = EventBus()
    bus.on("turn_end", lambda e: TurnEndResult(stop=True))
    assert bus.emit_sync("turn_end", {}).stop is True  # type: ignore[attr-defined]

    async def main() -> Any:
        return bus.emit_sync(TurnEndEvent())

    assert asyncio.run(main()).stop is True


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


# --- observers ------------------------------------------------------------------------------------------------------


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


def test_every_event_can_be_listened_to_and_nobody_listening_costs_a_look_up() -> None:
    bus = EventBus()
    for name in EVENTS:
        assert not bus.has(name)
    off = bus.observe(lambda e: None)
    assert all(bus.has(name) for name in EVENTS)
    off()
    assert bus.table == {}
    assert emit(bus).set_fields() == {} and not UNSET
