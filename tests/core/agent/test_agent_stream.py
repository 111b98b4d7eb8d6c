"""The stream of a run: complete, in order, with exactly one end, whatever the adapter does (spec, 7, 9.43)."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import pickle
from typing import Any

import pytest

from skillkit_core import AgentError, ProviderError, RunAborted, Session, StreamEvent, TokenUsage
from skillkit_core.agent.run import Run
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import StopReason
from skillkit_core.testing import Call, Fail, Raw, Reply


def test_an_event_is_a_dataclass_like_any_other_without_room_for_other_attributes() -> None:
    event = StreamEvent("text_delta", "hi", index=0)
    with pytest.raises(AttributeError):
        event.contents = "other"  # type: ignore[attr-defined]
    assert type(event) is StreamEvent
    assert event == StreamEvent("text_delta", "hi", None, None, None, 0) != StreamEvent("text_delta", "hi", index=1)
    assert hash(event) == hash(copy.copy(event))
    assert pickle.loads(pickle.dumps(event)) == event
    assert dataclasses.replace(event, content="you") == StreamEvent("text_delta", "you", index=0)
    names = [f.name for f in dataclasses.fields(StreamEvent)]
    told = {name: object() for name in names}
    assert {name: getattr(StreamEvent(**told), name) for name in names} == told  # type: ignore[arg-type]


def test_an_adapter_that_is_cancelled_from_the_inside_fails_the_run_and_not_the_caller(kit: Any, go: Any) -> None:
    async def main() -> None:
        def broken(request: Any) -> Any:
            raise asyncio.CancelledError

        agent = kit.agent(broken)
        with pytest.raises(AgentError, match="inside"):
            await agent.chat("go")
        assert agent.seen.one("agent_end").outcome == "failed"
        kit.check(agent)

    go(main)


def test_the_stream_tells_everything_in_order_and_ends_with_done(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply("one", [Call("a", {"x": 1}, id="c")], thinking="hm"), Reply(["tw", "o"]), tools=[kit.tool("a", "ok")]
        )
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.type for e in events] == [
            "thinking_start", "thinking_delta", "thinking_end", "text_start", "text_delta", "text_end",
            "tool_call_start", "tool_call_delta", "tool_call_end", "tool_result",
            "text_start", "text_delta", "text_delta", "text_end", "done",
        ]  # fmt: skip
        assert [e.index for e in events[:9]] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
        result = events[9]
        assert (result.content, result.tool_name, result.tool_call_id) == ("ok", "a", "c")
        assert events[-1].content == "two" and events[-1].usage is not None and events[-1].usage.input == 20

    go(main)


def test_chat_stream_gives_the_text_and_raises_as_chat(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(["a", "b", "c"]), Fail(ErrorKind.auth, "no key"))
        assert [t async for t in agent.chat_stream("go")] == ["a", "b", "c"]
        with pytest.raises(AgentError, match="no key"):
            [t async for t in agent.chat_stream("go")]

    go(main)


BROKEN: dict[str, Any] = {
    "fails": Fail(ErrorKind.auth, "no"),
    "raises": lambda r: 1 / 0,
    "dies": Raw([StreamEvent("text_delta", "par", index=0), StreamEvent("text_delta", "tial", index=0)]),
    "says nothing": Raw([]),
    "script over": None,
}


@pytest.mark.spec("9.43", "I7")
@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_a_failing_run_ends_the_stream_with_one_error_and_chat_raises_with_the_partial_response(
    kit: Any, go: Any, kind: str
) -> None:
    async def main() -> None:
        from skillkit_core import RetryPolicy

        turns = [BROKEN[kind]] * 2 if BROKEN[kind] is not None else []
        agent = kit.agent(*turns, retry=RetryPolicy(attempts=1))
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.type for e in events if e.terminal] == ["error"] and events[-1].type == "error"
        with pytest.raises(AgentError) as caught:
            await agent.chat("go")
        response = caught.value.response
        assert response is not None and response.outcome == "failed" and response.session_id == agent.session.id
        if kind == "dies":
            assert response.content == "partial" and agent.messages[1].text == "partial"
            assert agent.messages[1].stop_reason == "error"
        assert len(agent.seen.of("agent_end")) == 2
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.43")
def test_two_done_events_and_events_after_the_end_count_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        usage = TokenUsage(3, 4)
        done = StreamEvent("done", usage=usage, stop_reason=StopReason.stop)
        text = [StreamEvent("text_start", index=0), StreamEvent("text_delta", "x", index=0, usage=usage)]
        agent = kit.agent(Raw([*text, done, done, *text]))
        response = await agent.chat("go")
        assert response.content == "x" and agent.session.usage == usage
        assert agent.messages[-1].stop_reason == "stop"
        kit.check(agent)

    go(main)


def test_an_error_event_without_an_error_fails_the_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Raw([StreamEvent("text_start", index=0), StreamEvent("error")]))
        with pytest.raises(AgentError, match="the adapter did not say why"):
            await agent.chat("go")
        assert agent.seen.one("agent_end").outcome == "failed"
        kit.check(agent)

    go(main)


def test_a_session_that_cannot_be_opened_or_written_is_an_error_and_never_a_hang(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("x", session="nope")
        with pytest.raises(AgentError, match="unknown session"):
            await agent.chat("go")
        assert [e.type async for e in agent.chat_stream_events("go")] == ["error"]

        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)

        def full(entry: Any) -> None:
            if entry.type == "message" and entry.data["message"]["role"] == "assistant":
                raise OSError("disk full")

        store.before = full
        agent = kit.agent("x", "y", session=session)
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.type for e in events if e.terminal] == ["error"] and "disk full" in str(events[-1].error)
        with pytest.raises(AgentError, match="disk full"):
            await agent.chat("go")
        assert agent.seen.of("agent_end")[0].outcome == "failed"

    go(main)


@pytest.mark.spec("9.43", "I17")
@pytest.mark.parametrize("told", ["at the start", "in the middle", "at the end", "again and again", "never"])
def test_usage_is_counted_once_wherever_the_wire_tells_it(kit: Any, go: Any, told: str) -> None:
    async def main() -> None:
        usage = TokenUsage(30, 4, cache_read=5)
        partial = {"at the start": TokenUsage(30, 1, cache_read=5)}.get(told, usage)

        def here(place: str) -> TokenUsage | None:
            if place == "at the start" and told == "at the start":
                return partial
            return usage if told in (place, "again and again") else None

        last = usage if told == "at the start" else here("at the end")
        agent = kit.agent(
            Raw([
                StreamEvent("text_start", index=0, usage=here("at the start")),
                StreamEvent("text_delta", "x", index=0, usage=here("in the middle")),
                StreamEvent("done", stop_reason=StopReason.stop, usage=last),
            ])
        )  # fmt: skip
        response = await agent.chat("go")
        assert response.usage == agent.session.usage == (TokenUsage() if told == "never" else usage)
        assert len(kit.ledger(agent)) == 1
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.50")
@pytest.mark.parametrize("end", ["done", "error"])
def test_a_slow_reader_holds_up_the_stream_only_when_its_queue_is_full_and_loses_nothing(
    kit: Any, go: Any, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(Run, "MAX_WAITING", 100)

    async def main() -> None:
        pieces = [f"{n} " for n in range(300)]
        fails = ProviderError("no", kind=ErrorKind.auth) if end == "error" else None
        agent = kit.agent(Reply(pieces, fail=fails))
        events = agent.chat_stream_events("go")
        read = [await anext(events)]
        told = -1
        while told != len(agent.seen.of("message_update")):
            told = len(agent.seen.of("message_update"))
            for _ in range(10):
                await asyncio.sleep(0)
        in_hand = Run.BURST  # at most, one of them read
        assert 102 <= told <= in_hand + 102, "the model said what was taken and what fits into the queue, and waits now"
        read += [event async for event in events]
        assert [e.content for e in read if e.type == "text_delta"] == pieces
        assert [e.type for e in read if e.terminal] == [end] == [read[-1].type]

    go(main)


def test_a_reader_has_its_turn_within_a_burst_also_when_the_adapter_never_waits(kit: Any, go: Any) -> None:
    async def main() -> None:
        said: list[int] = []

        class Burst(Raw):
            async def stream(self, request: Any) -> Any:
                async for event in super().stream(request):
                    said.append(1)
                    yield event

        deltas = [StreamEvent("text_delta", f"{n} ", index=0) for n in range(5_000)]
        agent = kit.agent(Burst([StreamEvent("text_start", index=0), *deltas, StreamEvent("done")]))
        read, most = 0, 0
        async for event in agent.chat_stream_events("go"):
            read += event.type == "text_delta"
            most = max(most, len(said) - read)
        assert read == 5_000
        assert most <= Run.BURST + 3, "events do not pile up before a reader that keeps up"

    go(main)


@pytest.mark.spec("9.50")
def test_a_slow_observer_of_updates_does_not_hold_up_the_stream_and_hears_everything(kit: Any, go: Any) -> None:
    async def main() -> None:
        pieces = [f"{n} " for n in range(200)]
        agent = kit.agent(Reply(pieces, [Call("a", {"n": 1})], thinking="hm"), "end", tools=[kit.tool("a", "ok")])
        heard: list[tuple[str, str]] = []
        first, go_on = asyncio.Event(), asyncio.Event()

        async def slow(event: Any) -> None:
            first.set()
            await go_on.wait()
            heard.append((event.event.type, event.content))

        agent.events.observe(slow, ["message_update"])
        agent.events.observe(lambda e: heard.append((e.type, e.message.text)), ["message_end"])
        events, read = agent.chat_stream_events("go"), []
        async for event in events:
            read.append(event)
            if event.type == "tool_call_end":
                break  # the whole answer is here, and the observer has not even dealt with its first event
        await first.wait()
        assert heard == []
        assert [e.content for e in read if e.type == "text_delta"] == pieces
        assert "tool_execution_start" not in agent.seen.types, "what comes after the answer waits for the observer"
        go_on.set()
        read += [event async for event in events]
        assert read[-1].type == "done"
        answer = heard[: next(i for i, (kind, _) in enumerate(heard) if kind == "message_end")]
        assert [kind for kind, _ in answer] == [
            "thinking_start", "thinking_delta", "thinking_end", "text_start", "text_delta", "text_end",
            "tool_call_start", "tool_call_delta", "tool_call_end",
        ], "deltas that wait become one, nothing else is joined or lost"  # fmt: skip
        assert "".join(text for kind, text in answer if kind == "text_delta") == "".join(pieces)
        kit.check(agent)

    go(main)


def let_pass(seconds: float) -> None:
    """Put the clock of the running loop forward: what waits for less is due."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]


@pytest.mark.spec("9.50", "I8", "I9")
@pytest.mark.parametrize("stubborn", [False, True])
def test_an_abort_does_not_wait_for_a_slow_observer_and_nothing_is_told_after_it(
    kit: Any, go: Any, stubborn: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        heard, entered, told, never = [], asyncio.Event(), asyncio.Event(), asyncio.Event()
        grace = 10.0  # is over when the test says so, never because the machine is slow

        async def slow(event: Any) -> None:
            heard.append(event.event.type)
            entered.set()
            while not never.is_set():
                try:
                    await never.wait()
                except asyncio.CancelledError:
                    told.set()
                    if not stubborn:
                        raise

        agent = kit.agent(Reply(["one ", "two"]), "fine", abort_grace=grace)
        agent.events.on("message_update", slow)
        task = asyncio.create_task(agent.chat("go"))
        await entered.wait()
        agent.abort()
        await told.wait()
        if stubborn:
            let_pass(grace)
        with pytest.raises(RunAborted):
            await task
        assert heard == ["text_start"] and agent.messages[-1].text == "one two"
        kit.check(agent)
        never.set()
        assert (await agent.chat("again")).content == "fine"
        await agent.aclose()
        assert heard[:2] == ["text_start"] * 2, "what was left of the first answer was told late"

    go(main)
    assert ("did not end within the grace time" in caplog.text) is stubborn


@pytest.mark.parametrize("late", [False, True])
def test_a_handler_of_updates_that_is_cancelled_from_the_inside_fails_the_run_and_not_the_caller(
    kit: Any, go: Any, late: bool
) -> None:
    async def main() -> None:
        heard: list[str] = []

        async def broken(event: Any) -> None:
            heard.append(event.event.type)
            if event.event.type == ("text_end" if late else "text_start"):
                raise asyncio.CancelledError
            await asyncio.sleep(0)

        agent = kit.agent(Reply(["one ", "two"]), "fine")
        off = agent.events.on("message_update", broken)
        with pytest.raises(AgentError, match="inside"):
            await agent.chat("go")
        assert heard == (["text_start", "text_delta", "text_end"] if late else ["text_start"])
        assert agent.messages[-1].text == "one two"
        kit.check(agent)
        off()
        assert (await agent.chat("again")).content == "fine"

    go(main)
