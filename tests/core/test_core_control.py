"""Abort, steering, follow-ups and queues (spec, section 7; section 9, edge cases 1 to 17)."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillkit_core import (
    AbortSignal,
    AgentError,
    AgentRunner,
    Approver,
    BeforeAgentEndResult,
    ErrorKind,
    ImageBlock,
    Limits,
    NoActiveRun,
    RunAborted,
    StopReason,
    StreamEvent,
    ToolCallEventResult,
    Transform,
    TurnEndResult,
    UsageError,
)
from skillkit_core.agent.queues import Queues
from skillkit_core.agent.repair import INTERRUPTED
from skillkit_core.agent.session import Session
from skillkit_core.events.types import EVENTS
from skillkit_core.testing import Call, Fail, Hang, Raw, Reply

PROPERTY = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


async def aborted(agent: AgentRunner, started: asyncio.Event | None = None, **abort: Any) -> RunAborted:
    """Chat, abort once ``started`` is set, give the error."""
    task = asyncio.create_task(agent.chat("go"))
    if started is not None:
        await started.wait()
        agent.abort(**abort)
    with pytest.raises(RunAborted) as caught:
        await task
    return caught.value


# --- aborting -------------------------------------------------------------------------------------------------------


def test_abort_before_the_first_delta_keeps_the_user_message_and_sends_no_empty_answer(kit: Any, go: Any) -> None:
    """Edge case 1."""

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


def test_abort_in_mid_text_keeps_the_text_and_tells_the_next_request(kit: Any, go: Any) -> None:
    """Edge case 2, I7."""

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


def test_abort_in_the_json_of_a_call_keeps_it_in_the_file_and_off_the_wire(kit: Any, go: Any) -> None:
    """Edge case 3."""

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


def test_abort_with_calls_done_running_and_not_started(kit: Any, go: Any) -> None:
    """Edge case 4."""

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


def test_a_tool_that_ignores_cancellation_is_left_behind_and_its_late_result_dropped(kit: Any, go: Any) -> None:
    """Edge case 5."""

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


@pytest.mark.parametrize("where", ["handler", "approver"])
def test_abort_while_a_call_is_being_decided_interrupts_it_and_its_siblings(kit: Any, go: Any, where: str) -> None:
    """Edge case 6."""

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


def test_abort_twice_from_another_thread_and_after_the_end_has_one_effect(kit: Any, go: Any) -> None:
    """Edge case 7."""

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


HANDLED = [
    "input", "before_agent_start", "agent_start", "turn_start", "context_transform", "message_start", "message_update",
    "message_end", "before_tool_call", "tool_execution_start", "after_tool_result", "tool_execution_end", "turn_end",
    "before_agent_end", "agent_end", "agent_settled", "usage",
]  # fmt: skip


@pytest.mark.parametrize("event", HANDLED)
@pytest.mark.parametrize("how", ["sync", "async", "swallows"])
def test_abort_from_any_handler_ends_the_run_there(kit: Any, go: Any, event: str, how: str) -> None:
    """I8, I9 and I13 at every event, also where nothing else suspends and where a handler swallows the cancellation."""

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
        kit.check_legal(agent.view.messages())
        assert len(agent.scripted.requests) <= 2
        if event in HANDLED[: HANDLED.index("turn_end")] and outcome == "aborted":
            assert len(agent.scripted.requests) <= 1
        assert agent.messages == Session(agent.session.handle, lambda: 0.0).messages
        agent.events.on("turn_start", lambda e: None)

    go(main)


def test_steer_after_abort_in_the_same_tick_is_refused_and_before_it_is_given_back(kit: Any, go: Any) -> None:
    """Edge case 8, I14."""

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


@pytest.mark.parametrize("how", ["stream", "tool", "handler"])
def test_a_cancellation_from_outside_passes_and_leaves_the_history_consistent(kit: Any, go: Any, how: str) -> None:
    """Edge case 9."""

    async def main() -> None:
        started, never = asyncio.Event(), asyncio.Event()

        async def forever(*args: Any) -> Any:
            started.set()
            await never.wait()

        turns = [Hang("part", started)] if how == "stream" else [Reply(calls=[Call("a")])]
        agent = kit.agent(*turns, "fine", tools=[kit.tool("a", forever)])
        if how == "handler":
            agent.events.on("before_tool_call", lambda e: forever())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5) as limit:
                async with asyncio.TaskGroup() as group:
                    group.create_task(agent.chat("go"))
                    await started.wait()
                    limit.reschedule(asyncio.get_running_loop().time())
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0
        assert agent.seen.one("agent_end").outcome == "aborted"
        kit.check(agent)
        assert (await agent.chat("again")).content == "fine"
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("how", ["stream", "tool", "handler"])
def test_a_program_that_ends_in_the_middle_of_a_run_leaves_a_legal_history(
    kit: Any, go: Any, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Edge case 9: the end of ``asyncio.run`` cancels everything at once."""

    async def main() -> AgentRunner:
        started = asyncio.Event()

        async def forever(*args: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

        turns = [Hang("part", started)] if how == "stream" else [Reply(calls=[Call("a"), Call("a")])]
        agent: AgentRunner = kit.agent(*turns, tools=[kit.tool("a", forever)])
        if how == "handler":
            agent.events.on("before_tool_call", lambda e: forever())
        agent.scratch["task"] = asyncio.create_task(agent.chat("go"))
        await started.wait()
        return agent

    agent = go(main)
    assert agent.seen.one("agent_end").outcome == "aborted"  # type: ignore[attr-defined]
    assert agent.scratch["task"].cancelled()
    kit.check(agent)
    assert caplog.records == []


def test_closing_the_stream_early_aborts_the_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Hang("some text"), "fine")
        async for event in agent.chat_stream_events("go"):
            if event.type == "text_delta":
                break
        await agent.wait_idle()
        await agent.chat("again")
        assert kit.texts(agent)[:2] == ["user:go", "assistant:some text"]
        kit.check(agent)

    go(main)


def test_an_aborted_stream_ends_with_one_error_and_does_not_raise(kit: Any, go: Any) -> None:
    async def main() -> None:
        for event in ("before_agent_start", "turn_start", "message_update", "turn_end"):
            agent = kit.agent("text")
            agent.events.on(event, lambda e, ctx: ctx.abort())
            events = [e async for e in agent.chat_stream_events("go")]
            assert [e.type for e in events if e.terminal] == ["error"] and events[-1].terminal
            assert isinstance(events[-1].error, RunAborted)

    go(main)


def test_abort_is_accounted_for_once(kit: Any, go: Any) -> None:
    """I17: the ledger has one entry for each request, also an aborted one."""

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


def test_the_agent_closes_an_active_run_and_tools_that_were_left_behind(kit: Any, go: Any) -> None:
    async def main() -> None:
        running, ended = asyncio.Event(), asyncio.Event()

        async def slow(args: Any, ctx: Any) -> str:
            running.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return ""

        agent = kit.agent(Reply(calls=[Call("a")]), tools=[kit.tool("a", slow)])
        task = asyncio.create_task(agent.chat("go"))
        await running.wait()
        await agent.aclose()
        assert ended.is_set()
        with pytest.raises(RunAborted):
            await task
        assert agent.seen.types[-1] == "session_shutdown"
        assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task() and "skillkit" in t.get_name()] == []

    go(main)


# --- steering -------------------------------------------------------------------------------------------------------


def test_steer_while_nothing_runs_is_refused(kit: Any, go: Any) -> None:
    """Edge case 10."""

    async def main() -> None:
        agent = kit.agent("x")
        with pytest.raises(NoActiveRun):
            await agent.steer("hello?")
        assert (await agent.chat("hello", delivery="steer")).content == "x"
        with pytest.raises(NoActiveRun):
            await agent.steer("hello?")

    go(main)


@pytest.mark.parametrize("event", ["tool_execution_end", "turn_end", "before_agent_end", "agent_end", "agent_settled"])
def test_steer_at_the_finish_is_consumed_by_this_run_or_refused(kit: Any, go: Any, event: str) -> None:
    """Edge case 11, I14."""

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "one", "two", tools=[kit.tool("a", "ok")])
        outcome: list[str] = []

        async def steer(e: Any, ctx: Any) -> None:
            if outcome or (event == "turn_end" and e.turn_index == 0):
                return
            try:
                await ctx.steer("wait!")
                outcome.append("consumed")
            except NoActiveRun:
                outcome.append("refused")

        agent.events.on(event, steer)
        response = await agent.chat("go")
        assert agent.queues.waiting("steer") == ()
        if outcome == ["consumed"]:
            assert "user:wait!" in kit.texts(agent)
        else:
            assert outcome == ["refused"] and event in ("agent_end", "agent_settled")
            assert response.content == "one" and "user:wait!" not in kit.texts(agent)
        kit.check(agent)

    go(main)


def test_steer_in_a_sequential_batch_skips_what_has_not_started(kit: Any, go: Any) -> None:
    """Edge case 12."""

    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("something else")
            return "real"

        agent = kit.agent(Reply(calls=[Call("a")] * 3), "end", tools=[kit.tool("a", act)], parallel_tools=False)
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["ok", "skipped", "skipped"]
        assert [m.role for m in agent.messages] == ["user", "assistant", *["tool_result"] * 3, "user", "assistant"]
        assert agent.messages[5].text == "something else"
        kit.check(agent)

    go(main)


def test_steer_while_all_parallel_calls_run_skips_none(kit: Any, go: Any) -> None:
    """Edge case 13."""

    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("later", images=[ImageBlock("aGk=")])
            return "real"

        agent = kit.agent(Reply(calls=[Call("a"), Call("a")]), "end", "end", tools=[kit.tool("a", act)])
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["ok", "ok"]
        assert [m.role for m in agent.messages][:5] == ["user", "assistant", "tool_result", "tool_result", "user"]
        assert agent.messages[4].content[1] == ImageBlock("aGk=")
        kit.check(agent)

    go(main)


def test_steer_during_the_preflight_of_a_parallel_batch_skips_all_of_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[Any] = []
        agent = kit.agent(
            Reply(calls=[Call("a"), Call("a")]), "end", tools=[kit.tool("a", lambda a, c: ran.append(1) or "x")]
        )

        async def steer(event: Any, ctx: Any) -> None:
            if event.index == 1:
                await ctx.steer("no, wait")

        agent.events.on("tool_call", steer)
        await agent.chat("go")
        assert ran == [] and [r.outcome for r in kit.results(agent)] == ["skipped", "skipped"]
        kit.check(agent)

    go(main)


def test_the_policy_after_batch_lets_the_whole_batch_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            if args["n"] == 0:
                await ctx.agent.steer("later")
            return "real"

        calls = [Call("a", {"n": n}) for n in range(3)]
        agent = kit.agent(
            Reply(calls=calls), "end", tools=[kit.tool("a", act)], parallel_tools=False, steer_policy="after_batch"
        )
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["ok"] * 3 and agent.messages[5].text == "later"

    go(main)


@pytest.mark.parametrize(("mode", "requests"), [("one_at_a_time", 3), ("all", 2)])
def test_two_steers_give_two_turns_or_one_and_keep_their_order(kit: Any, go: Any, mode: str, requests: int) -> None:
    """Edge case 14."""

    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("one")
            await ctx.agent.steer("", images=[ImageBlock("aGk=")])
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "end", "end", tools=[kit.tool("a", act)], queue_mode=mode)
        await agent.chat("go")
        assert len(agent.scripted.requests) == requests
        users = [m for m in agent.messages if m.role == "user"]
        assert [m.text for m in users] == ["go", "one", ""] and users[2].content == (ImageBlock("aGk="),)
        assert users[1].source == "steer"
        kit.check(agent)

    go(main)


def test_steering_comes_before_follow_ups_and_those_after_everything_else(kit: Any, go: Any) -> None:
    """Edge case 15."""

    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.follow_up("follow")
            await ctx.agent.steer("steer")
            return "x"

        agent = kit.agent(
            Reply(calls=[Call("a")]),
            Reply(calls=[Call("b")]),
            "end",
            "last",
            tools=[kit.tool("a", act), kit.tool("b", "y")],
        )
        response = await agent.chat("go")
        users = [m.text for m in agent.messages if m.role == "user"]
        assert users == ["go", "steer", "follow"] and response.content == "last"
        assert len(agent.seen.of("agent_start")) == 1 and {e.run_id for e in agent.seen.of("turn_start")} == {"r1"}
        kit.check(agent)

    go(main)


def test_follow_ups_wait_for_stop_hooks(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("a", "b", "c")
        agent.events.on("turn_start", lambda e, ctx: ctx.follow_up("follow") if e.turn_index == 0 else None)
        agent.events.on(
            "before_agent_end",
            lambda e: BeforeAgentEndResult("hook") if e.n_continues == 0 and len(e.messages) == 2 else None,
        )
        await agent.chat("go")
        assert [m.text for m in agent.messages if m.role == "user"] == ["go", "hook", "follow"]

    go(main)


def test_a_steer_during_a_retry_wait_is_delivered_afterwards(kit: Any, go: Any) -> None:
    """Edge case 16."""

    async def main() -> None:
        agent = kit.agent(Fail(ErrorKind.server), "one", "two")
        agent.events.on("retry_scheduled", lambda e, ctx: ctx.steer("hurry"))
        await agent.chat("go")
        assert kit.texts(agent) == ["user:go", "assistant:one", "user:hurry", "assistant:two"]
        kit.check(agent)

    go(main)


def test_commands_and_empty_messages_cannot_be_queued_and_input_is_asked_once(kit: Any, go: Any) -> None:
    """Edge case 17."""

    async def main() -> None:
        problems: list[str] = []

        async def act(args: Any, ctx: Any) -> str:
            for text in ("/compact", ""):
                try:
                    await ctx.agent.steer(text)
                except UsageError as error:
                    problems.append(str(error))
            await ctx.agent.steer("shout")
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", act)])
        inputs: list[Any] = []

        def shout(event: Any) -> Any:
            inputs.append((event.text, event.delivery))
            return Transform(text=event.text + "!") if event.text else None

        agent.events.on("input", shout)
        await agent.chat("go")
        assert len(problems) == 2
        assert inputs == [("go", "prompt"), ("", "steer"), ("shout", "steer")]
        assert [m.text for m in agent.messages if m.role == "user"] == ["go!", "shout!"]

    go(main)


def test_chat_with_delivery_queues_into_the_run_and_waits_for_its_end(kit: Any, go: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()
        agent = kit.agent(Reply("one", before=gate.wait), "two")
        first = asyncio.create_task(agent.chat("go"))
        while not agent.scripted.requests:
            await asyncio.sleep(0)
        second = asyncio.create_task(agent.chat("and then", delivery="follow_up"))
        await asyncio.sleep(0)
        gate.set()
        assert (await first).content == (await second).content == "two"

    go(main)


def test_queued_items_are_cancelled_by_id(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        first, second = agent.next_run("same text"), agent.next_run("same text")
        assert agent.cancel(second) == "cancelled" and agent.cancel(second) == "already_cleared"
        assert agent.queues.waiting("next_run") == (first,)
        await agent.chat("go")
        assert kit.texts(agent) == ["user:same text", "user:go", "assistant:end"]
        assert agent.cancel(first) == "already_consumed"
        updates = [e.next_run for e in agent.seen.of("queue_update")]
        assert updates == [(first,), (first, second), (first,), ()]

    go(main)


def test_what_waits_for_the_next_run_survives_one_that_cannot_start(kit: Any, go: Any) -> None:
    """I14."""

    async def main() -> None:
        agent = kit.agent("end")
        waiting = agent.next_run("do not lose me")
        agent.config = replace(agent.config, model="unknown-model")
        with pytest.raises(AgentError, match="unknown-model"):
            await agent.chat("go")
        assert agent.queues.waiting("next_run") == (waiting,)

    go(main)


def test_an_item_that_cannot_be_kept_goes_back_to_its_queue(kit: Any, go: Any) -> None:
    """I14."""

    async def main() -> None:
        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)
        agent = kit.agent(
            Reply(calls=[Call("a")]),
            "end",
            tools=[kit.tool("a", lambda a, c: c.agent.steer("precious"))],
            session=session,
        )

        def refuse(entry: Any) -> None:
            if "precious" in str(entry.data):
                raise OSError("disk full")

        store.before = refuse
        with pytest.raises(AgentError, match="disk full"):
            await agent.chat("go")
        assert len(agent.queues.waiting("steer")) == 1
        store.before = None
        await agent.chat("once more")
        assert [m.text for m in agent.messages if m.role == "user"] == ["go", "once more", "precious"]

    go(main)


def test_the_switch_of_an_adapter_holds_from_the_next_request(kit: Any, go: Any) -> None:
    from skillkit_core.testing import ScriptedModel

    async def main() -> None:
        other = ScriptedModel(["from the other"])
        agent = kit.agent(
            Reply(calls=[Call("a")]), tools=[kit.tool("a", lambda a, c: c.agent.set_adapter("other") or "switched")]
        )
        agent.host.adapters.register("other", other, source="test")
        response = await agent.chat("go")
        assert response.content == "from the other" and agent.seen.one("model_select").provider == "other"
        assert agent.messages[-1].provider == "other"
        kit.check(agent)

    go(main)


# --- random actions at random gates ---------------------------------------------------------------------------------

ACTIONS = st.sampled_from(["abort", "steer", "follow_up", "raise", "next_run", "cancel", "stop"])
CALLS = st.builds(Call, st.sampled_from(["a", "b", "zzz"]))
TURNS = st.lists(
    st.one_of(
        st.builds(Reply, st.sampled_from(["", "text"]), st.lists(CALLS, max_size=3)),
        st.just(Reply("cut", [Call("a", raw='{"x')], stop=StopReason.length)),
        st.builds(Fail, st.sampled_from([ErrorKind.server, ErrorKind.auth, ErrorKind.overflow])),
        st.just(Raw([StreamEvent("text_delta", "torn", index=0)])),
    ),
    min_size=1,
    max_size=5,
)  # fmt: skip


@PROPERTY
@given(
    turns=TURNS,
    plan=st.dictionaries(st.integers(1, 60), st.tuples(ACTIONS, st.booleans()), max_size=4),
    parallel=st.booleans(),
    stream=st.booleans(),
    gates=st.booleans(),
)
def test_whatever_happens_at_whatever_event_the_invariants_hold(
    kit: Any, turns: list[Any], plan: dict[int, tuple[str, bool]], parallel: bool, stream: bool, gates: bool
) -> None:
    """I1, I2, I8, I9, I13, I14, I17 under random scripts, and actions at random events and writes; two runs each."""

    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            ctx.on_output("x")
            await asyncio.sleep(0)
            return "ok"

        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)
        tools = [kit.tool("a", act), kit.tool("b", "b")]
        agent = kit.agent(*turns, tools=tools, parallel_tools=parallel, session=session)
        accepted: list[str] = []
        returned: list[str] = []
        count = 0

        async def gate(event: Any, suspend: bool) -> Any:
            nonlocal count
            count += 1
            action, early = plan.get(count, ("", False))
            if suspend and not early:
                await asyncio.sleep(0)
            try:
                if action == "abort":
                    returned.extend(i.id for i in agent.abort())
                elif action == "steer":
                    accepted.append(await agent.steer("steered"))
                elif action == "follow_up":
                    accepted.append(await agent.follow_up("followed"))
                elif action == "next_run":
                    accepted.append(agent.next_run("next"))
                elif action == "cancel" and accepted and agent.cancel(accepted[-1]) == "cancelled":
                    returned.append(accepted[-1])
            except NoActiveRun:
                pass
            if suspend:
                await asyncio.sleep(0)
            if action == "raise":
                raise ValueError("handler broke")
            return TurnEndResult(stop=True) if action == "stop" and event.type == "turn_end" else None

        async def waits(event: Any) -> Any:
            return await gate(event, True)

        for name in EVENTS:
            if name not in ("queue_update", "handler_error", "session_start", "message_update"):
                agent.events.on(name, waits)
        store.before = lambda entry: gate(entry, True) if gates else None
        for _ in range(2):
            if stream:
                events = [e async for e in agent.chat_stream_events("go")]
                assert [e.type for e in events if e.terminal] == [events[-1].type]
            else:
                try:
                    await agent.chat("go")
                except AgentError as error:
                    assert error.response is not None
            assert agent.events.run_id is None
            kit.check(agent)
        starts, ends = len(agent.seen.of("agent_start")), len(agent.seen.of("agent_end"))
        assert starts == ends
        consumed = sum(m.text in ("steered", "followed", "next") for m in agent.messages)
        waiting = [i for kind in ("steer", "follow_up", "next_run") for i in agent.queues.waiting(kind)]
        assert sorted([*returned, *waiting]) == sorted(set(returned) | set(waiting))
        assert consumed + len(returned) + len(waiting) == len(accepted)

    asyncio.run(main())


# --- parts ----------------------------------------------------------------------------------------------------------


def test_queues_know_items_by_id_and_keep_them_in_order() -> None:
    queues = Queues()
    ids = [queues.put("steer", "same") for _ in range(3)]
    assert queues.cancel(ids[1]) == "cancelled"
    (first,) = queues.take("steer")
    queues.put_back(first)
    assert queues.waiting("steer") == (ids[0], ids[2])
    assert [i.id for i in queues.take("steer", "all")] == [ids[0], ids[2]]
    assert not queues and queues.take("steer") == [] and queues.cancel("q99") == "already_cleared"


def test_a_signal_is_set_once_calls_back_once_and_passes_to_its_children() -> None:
    calls: list[str] = []
    parent = AbortSignal()
    child = AbortSignal(parent)
    parent.add_callback(lambda: calls.append("a"))
    off = parent.add_callback(lambda: calls.append("removed"))
    parent.add_callback(lambda: 1 / 0)
    parent.add_callback(lambda: calls.append("b"))
    off()
    assert parent.abort("why") and not parent.abort("again")
    child.add_callback(lambda: calls.append("late"))
    assert calls == ["a", "b", "late"] and child.aborted and child.reason == "why"
    with pytest.raises(RunAborted, match="why"):
        child.raise_if_aborted()


def test_waiting_for_a_signal_wakes_from_another_thread(go: Any) -> None:
    async def main() -> None:
        signal = AbortSignal()
        waiting = asyncio.create_task(signal.wait())
        await asyncio.sleep(0)
        threading.Thread(target=signal.abort).start()
        await waiting
        await signal.wait()

    go(main)


def test_a_stream_that_was_broken_out_of_aborts_its_own_run_and_no_other(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(["one ", "two"]), "second", "third")
        async for event in agent.chat_stream_events("x"):
            if event.type == "text_delta":
                break
        assert (await asyncio.wait_for(agent.chat("y"), 30)).content == "second"
        assert (await agent.chat("z")).content == "third"

    go(main)


def test_a_secret_that_somebody_types_is_cut_out_before_it_is_kept(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("fine")
        agent.host.remember_secret("sk-very-secret-1")
        await agent.chat("my key is sk-very-secret-1, keep it")
        assert agent.messages[0].text == "my key is ***, keep it"
        assert "very-secret" not in str(agent.scripted.requests[0].messages)

    go(main)
