"""Handlers that fail: reported once, their answer discarded; guards fail closed (spec, 4; edge case 24)."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from bus_calls import boom, emit

from skillkit_core import Continue, EventBus, Transform, TurnEndResult
from skillkit_core.events.subscriptions import GuardFailed
from skillkit_core.events.types import HandlerErrorEvent


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


@pytest.mark.spec("9.24")
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


@pytest.mark.parametrize("waits", [False, True])
def test_a_handler_that_takes_long_is_named_without_debug_mode(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    monkeypatch.setattr("skillkit_core.events.bus.HELD_SECONDS", -1.0)
    bus = EventBus()

    def busy(event: Any) -> None:
        pass

    async def late(event: Any) -> None:
        await asyncio.sleep(0)

    bus.on("agent_settled", late if waits else busy)
    with caplog.at_level(logging.WARNING, "skillkit.events"):
        emit(bus)
    assert f"{'late' if waits else 'busy'}' took 0.0 s on agent_settled, and the run waited for it" in caplog.text
