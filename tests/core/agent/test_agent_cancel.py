"""Cancellation from outside: a caller that leaves, a program that ends, an agent that is closed (spec, 4, 9.9)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from skillkit_core import AbortSignal, AgentRunner, RunAborted
from skillkit_core.testing import Call, Hang, Reply


@pytest.mark.spec("9.9")
@pytest.mark.parametrize("how", ["stream", "tool", "handler"])
def test_a_cancellation_from_outside_passes_and_leaves_the_history_consistent(kit: Any, go: Any, how: str) -> None:
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


@pytest.mark.spec("9.9")
@pytest.mark.parametrize("how", ["stream", "tool", "handler"])
def test_a_program_that_ends_in_the_middle_of_a_run_leaves_a_legal_history(
    kit: Any, go: Any, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of ``asyncio.run`` cancels everything at once."""

    kept: dict[str, Any] = {}

    async def main() -> AgentRunner:
        started = asyncio.Event()

        async def forever(*args: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

        turns = [Hang("part", started)] if how == "stream" else [Reply(calls=[Call("a"), Call("a")])]
        agent: AgentRunner = kit.agent(*turns, tools=[kit.tool("a", forever)])
        if how == "handler":
            agent.events.on("before_tool_call", lambda e: forever())
        kept["task"] = asyncio.create_task(agent.chat("go"))
        await started.wait()
        return agent

    agent = go(main)
    assert agent.seen.one("agent_end").outcome == "aborted"  # type: ignore[attr-defined]
    assert kept["task"].cancelled()
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


@pytest.mark.spec("9.9")
@pytest.mark.parametrize("what", ["closing the stream", "chatting again"])
def test_who_is_cancelled_while_a_run_that_was_left_comes_to_its_end_is_cancelled(kit: Any, go: Any, what: str) -> None:
    async def main() -> None:
        running, ending, end = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def tool(args: Any, ctx: Any) -> str:
            running.set()
            try:
                return await asyncio.get_running_loop().create_future()
            finally:
                ending.set()
                await end.wait()

        agent = kit.agent(Reply(calls=[Call("slow")]), "never", tools=[kit.tool("slow", tool)])
        events = agent.chat_stream_events("go")
        await anext(events)
        await running.wait()
        closing = asyncio.create_task(events.aclose())
        await ending.wait()
        leaving = closing if what == "closing the stream" else asyncio.create_task(agent.chat("again"))
        for _ in range(3):
            await asyncio.sleep(0)

        leaving.cancel()
        await asyncio.sleep(0)
        end.set()

        with pytest.raises(asyncio.CancelledError):
            await leaving
        await asyncio.wait([closing])
        assert agent.scheduler.run is None and kit.roles(agent) == ["user", "assistant", "tool_result"]
        kit.check(agent)
        await agent.aclose()

    go(main())
