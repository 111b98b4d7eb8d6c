"""Abort: what was shown is kept, every call has its result, nothing comes later (spec, 7; edge cases 1 to 9)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from skillkit_core import (
    AgentRunner,
    Approver,
    Limits,
    NoActiveRun,
    RunAborted,
    Session,
    StreamEvent,
    ToolCallEventResult,
    TurnEndResult,
)
from skillkit_core.agent.repair import INTERRUPTED
from skillkit_core.testing import Call, Hang, Raw, Reply


async def aborted(agent: AgentRunner, started: asyncio.Event | None = None, **abort: Any) -> RunAborted:
    """Chat, abort once ``started`` is set, give the error."""
    task = asyncio.create_task(agent.chat("go"))
    if started is not None:
        await started.wait()
        agent.abort(**abort)
    with pytest.raises(RunAborted) as caught:
        await task
    return caught.value


@pytest.mark.spec("9.1")
def test_abort_before_the_first_delta_keeps_the_user_message_and_sends_no_empty_answer(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang(started=started), "fine")
        error = await aborted(agent, started, reason="changed my mind")
        assert error.response.outcome == "aborted" and "changed my mind" in str(error)
        assert kit.texts(agent) == ["user:go"]
        assert agent.seen.one("agent_end").outcome == "aborted"
        kit.check(agent)
        await agent.chat("again")
        assert [m.text for m in agent.scripted.requests[1].messages] == ["go", "again"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.2", "I7")
def test_abort_in_mid_text_keeps_the_text_and_tells_the_next_request(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        events = [
            StreamEvent("thinking_start", index=0),
            StreamEvent("thinking_delta", "unsigned", index=0),
            StreamEvent("text_start", index=1),
            StreamEvent("text_delta", "half an ans", index=1),
        ]
        agent = kit.agent(Raw(events, hang=True, started=started), "fine")
        error = await aborted(agent, started)
        assert error.response.content == "half an ans"
        partial = agent.messages[1]
        assert partial.stop_reason == "aborted" and partial.text == "half an ans" and len(partial.content) == 2
        kit.check(agent)
        await agent.chat("again")
        sent = agent.scripted.requests[1].messages[1]
        assert [type(b).__name__ for b in sent.content] == ["TextBlock", "TextBlock"]
        assert [b.text for b in sent.content] == ["half an ans", INTERRUPTED]

    go(main)


@pytest.mark.spec("9.3", "I1")
def test_abort_in_the_json_of_a_call_keeps_it_in_the_file_and_off_the_wire(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        events = [
            StreamEvent("text_delta", "I will", index=0),
            StreamEvent("tool_call_start", index=1, tool_name="a", tool_call_id="c"),
            StreamEvent("tool_call_delta", '{"pa', index=1, tool_name="a", tool_call_id="c"),
        ]
        agent = kit.agent(Raw(events, hang=True, started=started), "fine", tools=[kit.tool("a", "x")])
        await aborted(agent, started)
        (call,) = agent.messages[1].tool_calls
        assert call.incomplete and call.args is None and call.raw_args == '{"pa'
        kit.check(agent)
        reloaded = Session(agent.session.handle, lambda: 0.0)
        assert reloaded.messages[1].tool_calls == (call,)
        await agent.chat("again")
        assert agent.scripted.requests[1].messages[1].tool_calls == ()
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.4", "I1", "I2")
def test_abort_with_calls_done_running_and_not_started(kit: Any, go: Any) -> None:
    async def main() -> None:
        running = asyncio.Event()

        async def act(args: Any, ctx: Any) -> str:
            if args["n"] == "B":
                running.set()
                await ctx.signal.wait()
                await asyncio.Event().wait()
            return args["n"]

        calls = [Call("act", {"n": n}, id=n) for n in "ABC"]
        agent = kit.agent(Reply(calls=calls), tools=[kit.tool("act", act)], parallel_tools=False)
        await aborted(agent, running)
        assert [(r.tool_call_id, r.outcome, r.is_error) for r in kit.results(agent)] == [
            ("A", "ok", False), ("B", "interrupted", True), ("C", "interrupted", True),
        ]  # fmt: skip
        assert len(agent.seen.of("tool_execution_end")) == 3
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.5", "13.4")
def test_a_tool_that_ignores_cancellation_is_left_behind_and_its_late_result_dropped(kit: Any, go: Any) -> None:
    async def main() -> None:
        running, late = asyncio.Event(), asyncio.Event()
        after: list[Any] = []

        async def stubborn(args: Any, ctx: Any) -> str:
            running.set()
            while not late.is_set():
                try:
                    await late.wait()
                except asyncio.CancelledError:
                    continue
            ctx.on_output("late output")
            return "late result"

        agent = kit.agent(Reply(calls=[Call("a")]), "next", tools=[kit.tool("a", stubborn)], abort_grace=0.02)
        agent.events.on("tool_result", after.append)
        await aborted(agent, running)
        assert [r.outcome for r in kit.results(agent)] == ["interrupted"]
        before = len(agent.seen.events)
        late.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(agent.seen.events) == before and after == []
        assert [r.outcome for r in kit.results(agent)] == ["interrupted"]
        kit.check(agent)
        await agent.chat("go on")
        await agent.aclose()
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.6")
@pytest.mark.parametrize("where", ["handler", "approver"])
def test_abort_while_a_call_is_being_decided_interrupts_it_and_its_siblings(kit: Any, go: Any, where: str) -> None:
    async def main() -> None:
        waiting, closed = asyncio.Event(), []

        async def dialog(*args: Any) -> Any:
            waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                closed.append("closed")

        class Asks(Approver):
            approve = dialog

        ran: list[Any] = []
        agent = kit.agent(
            Reply(calls=[Call("a"), Call("a")]), tools=[kit.tool("a", lambda a, c: ran.append(1))], approver=Asks()
        )
        if where == "handler":

            async def asks(event: Any) -> Any:
                return await dialog()

            agent.events.on("tool_call", asks)
        else:
            agent.events.on("tool_call", lambda e: ToolCallEventResult(ask="?"))
        await aborted(agent, waiting)
        assert closed == ["closed"] and ran == []
        assert [r.outcome for r in kit.results(agent)] == ["interrupted", "interrupted"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.7")
def test_abort_twice_from_another_thread_and_after_the_end_has_one_effect(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang("text", started), "fine")
        assert agent.abort() == []
        task = asyncio.create_task(agent.chat("go"))
        await started.wait()
        await agent.steer("unheard")
        answers: list[Any] = []
        threads = [threading.Thread(target=lambda: answers.append(agent.abort("stop"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        await asyncio.to_thread(lambda: [t.join() for t in threads])
        with pytest.raises(RunAborted):
            await task
        assert sorted(len(a) for a in answers) == [0] * 7 + [1]
        assert agent.abort() == []
        assert (await agent.chat("again")).content == "fine"
        assert [e.outcome for e in agent.seen.of("agent_end")] == ["aborted", "completed"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.7", "I14")
def test_an_abort_that_comes_after_the_last_word_takes_nothing_away(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        gave: list[Any] = []

        async def steer_and_stop(event: Any, ctx: Any) -> Any:
            off()
            await ctx.steer("and then?")
            return TurnEndResult(stop=True, reason="enough")

        off = agent.events.on("turn_end", steer_and_stop)
        agent.events.on("agent_end", lambda e, ctx: gave.append(agent.abort("too late")) if not gave else None)
        response = await agent.chat("go")
        assert response.outcome == "completed" and gave == [[]]
        assert len(agent.queues.waiting("steer")) == 1, "what waits is not lost with an abort that has no effect"
        await agent.chat("go on")
        assert kit.texts(agent) == ["user:go", "assistant:one", "user:go on", "user:and then?", "assistant:two"]
        kit.check(agent)

    go(main)


HANDLED = [
    "input", "before_agent_start", "agent_start", "turn_start", "context_transform", "message_start", "message_update",
    "message_end", "before_tool_call", "tool_execution_start", "after_tool_result", "tool_execution_end", "turn_end",
    "before_agent_end", "agent_end", "agent_settled", "usage",
]  # fmt: skip


@pytest.mark.spec("I8", "I9")
@pytest.mark.parametrize("event", HANDLED)
@pytest.mark.parametrize("how", ["sync", "async", "swallows"])
def test_abort_from_any_handler_ends_the_run_there(kit: Any, go: Any, event: str, how: str) -> None:
    """At every event, also where nothing else suspends and where a handler swallows the cancellation."""

    async def main() -> None:
        agent = kit.agent(
            Reply("x", [Call("a")]),
            "end",
            tools=[kit.tool("a", "ok")],
            limits=Limits(turns=5),
        )

        def sync(e: Any, ctx: Any) -> None:
            ctx.abort("from a handler")

        async def suspends(e: Any, ctx: Any) -> None:
            ctx.abort("from a handler")
            await asyncio.sleep(0)

        async def swallows(e: Any, ctx: Any) -> None:
            ctx.abort("from a handler")
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                return

        agent.events.on(event, {"sync": sync, "async": suspends, "swallows": swallows}[how])
        try:
            await agent.chat("go")
            outcome = "completed"
        except RunAborted as error:
            outcome = error.response.outcome  # type: ignore[union-attr]
        assert outcome == ("completed" if event in ("agent_end", "agent_settled") else "aborted")
        kit.check_brackets(agent.seen.events)
        kit.check_legal(agent.conversation.context.messages())
        assert len(agent.scripted.requests) <= 2
        if event in HANDLED[: HANDLED.index("turn_end")] and outcome == "aborted":
            assert len(agent.scripted.requests) <= 1
        assert agent.messages == Session(agent.session.handle, lambda: 0.0).messages
        agent.events.on("turn_start", lambda e: None)

    go(main)


@pytest.mark.spec("9.8", "I14")
def test_steer_after_abort_in_the_same_tick_is_refused_and_before_it_is_given_back(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang(started=started), "fine")
        task = asyncio.create_task(agent.chat("go"))
        await started.wait()
        first = await agent.steer("first")
        later = await agent.follow_up("later")
        items = agent.abort()
        assert [(i.id, i.kind, i.text) for i in items] == [(first, "steer", "first"), (later, "follow_up", "later")]
        with pytest.raises(NoActiveRun):
            await agent.steer("second")
        kept = await agent.follow_up("for the next run")
        with pytest.raises(RunAborted):
            await task
        assert agent.cancel(first) == "already_cleared"
        assert agent.queues.waiting("next_run") == (kept,)
        await agent.chat("again")
        assert kit.texts(agent) == ["user:go", "user:for the next run", "user:again", "assistant:fine"]
        assert agent.cancel(kept) == "already_consumed"
        kit.check(agent)

    go(main)


@pytest.mark.spec("I17")
def test_abort_is_accounted_for_once(kit: Any, go: Any) -> None:
    """The ledger has one entry for each request, also an aborted one."""

    async def main() -> None:
        from skillkit_core import TokenUsage

        started = asyncio.Event()
        events = [StreamEvent("text_delta", "x", index=0, usage=TokenUsage(7, 1))]
        agent = kit.agent(Raw(events, hang=True, started=started))
        await aborted(agent, started)
        (entry,) = [e.data for e in agent.session.entries if e.type == "usage"]
        assert entry["input"] == 7 and entry["error"] == "aborted"
        assert agent.session.usage == TokenUsage(7, 1)
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.8", "I14")
def test_a_steer_that_is_still_being_read_when_the_run_is_aborted_is_refused(kit: Any, go: Any) -> None:
    async def main() -> None:
        started, reading, read = asyncio.Event(), asyncio.Event(), asyncio.Event()
        agent = kit.agent(Hang(started=started), "fine")

        async def slow(event: Any) -> None:
            if event.delivery == "steer":
                reading.set()
                await read.wait()

        agent.events.on("input", slow)
        task = asyncio.create_task(agent.chat("go"))
        await started.wait()
        steering = asyncio.create_task(agent.steer("turn left"))
        await reading.wait()
        given_back = agent.abort()
        read.set()
        with pytest.raises(NoActiveRun):
            await steering
        with pytest.raises(RunAborted):
            await task
        assert given_back == [] and agent.queues.waiting("steer") == ()
        await agent.chat("again")
        assert kit.texts(agent) == ["user:go", "user:again", "assistant:fine"]

    go(main)
