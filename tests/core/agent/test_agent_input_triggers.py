"""``trigger=True``: a message begins a run if none is active, and is said exactly once (spec, section 9.10; I14)."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest

from skillkit_core import (
    AgentBusy,
    AgentError,
    ApprovalDecision,
    Approver,
    CompactionResult,
    Compactor,
    Factory,
    Handled,
    ImageBlock,
    Limits,
    NoActiveRun,
    Receipt,
    ReentrancyError,
    RunAborted,
    ToolCallEventResult,
    Transform,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Hang, Reply

END = ("tool_execution_end", "turn_end", "before_agent_end", "agent_end", "agent_settled")


def users(agent: Any) -> list[str]:
    return [m.text for m in agent.messages if m.role == "user"]


# --- beginning ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("9.10", "I14")
@pytest.mark.parametrize("tell", ["steer", "follow_up"])
def test_a_message_with_a_trigger_begins_a_run_and_its_receipt_gives_the_response(kit: Any, go: Any, tell: str) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        prompts: list[tuple[str, int]] = []
        agent.events.on("before_agent_start", lambda e: prompts.append((e.prompt, len(e.images))))
        receipt = await getattr(agent, tell)("hello", images=[ImageBlock("aGk=")], trigger=True)
        assert isinstance(receipt, Receipt) and receipt.id
        response = await receipt.response()
        assert response.content == "one" and response.outcome == "completed" and receipt.done
        assert agent.messages[0].source == tell and users(agent) == ["hello"] and prompts == [("hello", 1)]
        assert agent.cancel(receipt.id) == "already_consumed"
        assert (await agent.chat("and on")).content == "two"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "9.17")
def test_the_handlers_of_input_see_it_once_and_may_change_it_or_deal_with_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent, seen = kit.agent("one"), []

        def look(event: Any) -> Any:
            seen.append((event.text, event.delivery))
            return Handled("done already") if event.text == "never mind" else Transform(text=event.text.upper())

        agent.events.on("input", look)
        dealt_with = await agent.steer("never mind", trigger=True)
        assert dealt_with.id == "" and (await dealt_with.response()).content == "done already"
        await (await agent.steer("hello", trigger=True)).response()
        assert seen == [("never mind", "steer"), ("hello", "steer")] and users(agent) == ["HELLO"]
        for wrong in ("/quit", ""):
            with pytest.raises(UsageError):
                await agent.steer(wrong, trigger=True)
        assert len(agent.seen.of("agent_start")) == 1

    go(main)


@pytest.mark.spec("9.10")
def test_during_a_run_it_is_plain_steering(kit: Any, go: Any) -> None:
    async def main() -> None:
        receipts: list[Receipt] = []

        async def act(args: Any, ctx: Any) -> str:
            receipts.append(await ctx.agent.steer("now", trigger=True))
            receipts.append(await ctx.agent.follow_up("later", trigger=True))
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "one", "two", tools=[kit.tool("a", act)])
        response = await agent.chat("go")
        assert users(agent) == ["go", "now", "later"] and len(agent.seen.of("agent_start")) == 1
        assert [(await receipt.response()).run_id for receipt in receipts] == [response.run_id] * 2
        kit.check(agent)

    go(main)


# --- races ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("9.10", "9.11", "I14")
@pytest.mark.parametrize("event", END)
def test_at_the_finish_of_a_run_it_is_heard_by_this_run_or_begins_the_next(kit: Any, go: Any, event: str) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "one", "two", tools=[kit.tool("a", "ok")])
        receipts: list[Receipt] = []

        async def steer(e: Any) -> None:
            if not receipts and not (event == "turn_end" and e.turn_index == 0):
                receipts.append(await agent.steer("wait!", trigger=True))

        agent.events.on(event, steer)
        first = await agent.chat("go")
        await agent.wait_idle()
        (receipt,) = receipts
        assert receipt.done and users(agent) == ["go", "wait!"]
        last = await receipt.response()
        runs = 2 if event in ("agent_end", "agent_settled") else 1
        assert len(agent.seen.of("agent_start")) == runs and (last.run_id == first.run_id) == (runs == 1)
        assert agent.messages[-1].role == "assistant" and not agent.queues
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "I14")
def test_threads_that_trigger_at_once_begin_exactly_one_run_on_the_loop_of_the_agent(kit: Any, go: Any) -> None:
    n = 4

    async def main() -> None:
        gate = asyncio.Event()
        agent = kit.agent(Reply("first", before=gate.wait), *["more"] * (n - 1))
        await agent.open()
        barrier, home, loops = threading.Barrier(n), asyncio.get_running_loop(), set()
        agent.events.on("agent_start", lambda e: loops.add(asyncio.get_running_loop()))

        async def tell(text: str) -> Receipt:
            barrier.wait(20)
            return await agent.steer(text, trigger=True)

        telling = [asyncio.create_task(asyncio.to_thread(asyncio.run, tell(f"m{i}"))) for i in range(n)]
        receipts = await asyncio.gather(*telling)
        gate.set()
        responses = await asyncio.gather(*(receipt.response() for receipt in receipts))
        assert {response.run_id for response in responses} == {"r1"} and loops == {home}
        assert len(agent.seen.of("agent_start")) == 1 and len(agent.scripted.requests) == n
        assert sorted(users(agent)) == [f"m{i}" for i in range(n)] and not agent.queues
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "I14")
def test_threads_that_trigger_while_runs_come_and_go_lose_and_double_nothing(kit: Any, go: Any) -> None:
    n, each = 4, 12

    async def main() -> None:
        agent = kit.agent("yes", repeat=True)
        await agent.open()

        async def tell(who: int) -> list[str]:
            said = []
            for i in range(each):
                receipt = await agent.steer(f"{who}:{i}", trigger=True)
                said.append((await receipt.response()).outcome)
            return said

        outcomes = await asyncio.gather(*(asyncio.to_thread(asyncio.run, tell(who)) for who in range(n)))
        assert outcomes == [["completed"] * each] * n
        assert sorted(users(agent)) == sorted(f"{who}:{i}" for who in range(n) for i in range(each))
        assert not agent.queues and agent.scheduler.run is None
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10")
def test_threads_without_the_loop_of_the_agent_begin_one_run_between_them(kit: Any) -> None:
    agent = kit.agent("one", "two")
    asyncio.run(agent.open())
    barrier, gate = threading.Barrier(2), threading.Barrier(2)
    agent.events.on("agent_start", lambda e: agent.seen.events and gate.wait(20))
    runs: list[Any] = []

    async def tell(text: str) -> None:
        barrier.wait(20)
        receipt = await agent.steer(text, trigger=True)
        if agent.scheduler.run is None or agent.scheduler.run.loop is not asyncio.get_running_loop():
            gate.wait(20)  # the other one's run has not asked its model yet
        runs.append((await receipt.response()).run_id)

    threads = [threading.Thread(target=asyncio.run, args=(tell(text),)) for text in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert runs == ["r1", "r1"] and sorted(users(agent)) == ["a", "b"] and len(agent.seen.of("agent_start")) == 1


@pytest.mark.spec("9.10", "I14")
def test_several_messages_at_once_keep_their_order_and_get_a_turn_each(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two", "three")
        receipts = await asyncio.gather(*(agent.steer(text, trigger=True) for text in ("a", "b", "c")))
        assert {(await receipt.response()).run_id for receipt in receipts} == {"r1"}
        assert kit.texts(agent) == [
            "user:a", "assistant:one", "user:b", "assistant:two", "user:c", "assistant:three",
        ]  # fmt: skip
        kit.check(agent)

    go(main)


# --- ends that are not its own --------------------------------------------------------------------------------------


@pytest.mark.spec("9.8", "9.10", "I14")
def test_an_abort_gives_back_what_was_not_said_and_what_comes_after_it_begins_the_next_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang("some", started), "fine")
        running = asyncio.create_task(agent.chat("go"))
        await started.wait()
        before = await agent.steer("too late", trigger=True)
        items = agent.abort("stop")
        after = await agent.steer("start over", trigger=True)
        assert [item.id for item in items] == [before.id]
        for lost in (running, before.response()):
            with pytest.raises(RunAborted):
                await lost
        assert (await after.response()).content == "fine" and users(agent) == ["go", "start over"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "I14")
def test_what_waits_when_the_caller_of_the_run_leaves_begins_the_next_one(kit: Any, go: Any) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang("some", started), "fine")
        running = asyncio.create_task(agent.chat("go"))
        await started.wait()
        receipt = await agent.follow_up("anybody there?", trigger=True)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await receipt.response()).content == "fine" and users(agent) == ["go", "anybody there?"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "I14")
def test_a_limit_that_ends_the_run_first_leaves_the_message_to_the_next(kit: Any, go: Any) -> None:
    async def main() -> None:
        receipts: list[Receipt] = []

        async def act(args: Any, ctx: Any) -> str:
            receipts.append(await ctx.agent.follow_up("b", trigger=True))
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "one", "two", tools=[kit.tool("a", act)], limits=Limits(turns=1))
        assert (await agent.chat("a")).outcome == "limit"
        assert (await receipts[0].response()).content == "one" and users(agent) == ["a", "b"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "I14")
def test_a_run_that_fails_before_it_is_said_leaves_it_queued_and_is_not_tried_again(
    kit: Any, go: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        good = agent.config
        agent.config = replace(good, model="unknown-model")
        receipt = await agent.steer("hello", trigger=True)
        await agent.wait_idle()
        with pytest.raises(AgentError, match="unknown-model"):
            await receipt.response()
        assert agent.queues.waiting("steer") == (receipt.id,) and agent.scheduler.run is None
        assert [r.message for r in caplog.records if "a message began has failed" in r.message]
        agent.config = good
        await agent.chat("now")
        assert users(agent) == ["now", "hello"]

    with caplog.at_level(logging.WARNING, "skillkit.agent"):
        go(main)


@pytest.mark.spec("9.10", "I14")
def test_a_message_taken_back_in_time_begins_nothing(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        receipt = await agent.steer("hello", trigger=True)
        assert agent.cancel(receipt.id) == "cancelled"
        with pytest.raises(AgentError, match="taken back"):
            await receipt.response()
        await agent.wait_idle()
        assert agent.messages == () and agent.scripted.requests == [] and agent.seen.of("agent_start") == []
        assert (await agent.chat("now")).content == "end"

    go(main)


# --- when it cannot be ----------------------------------------------------------------------------------------------


@pytest.mark.spec("9.10")
def test_a_closed_agent_refuses_and_one_that_closes_says_that_nobody_will_answer(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        told: list[Any] = []

        async def at_the_end(event: Any) -> None:
            told.append(await agent.steer("wait", trigger=True))
            told.append(asyncio.create_task(agent.aclose()))
            while not agent.scheduler.closed:
                await asyncio.sleep(0)

        agent.events.on("agent_end", at_the_end)
        await agent.chat("go")
        receipt, closing = told
        await closing
        with pytest.raises(AgentError, match="the agent was closed before the message was said"):
            await receipt.response()
        with pytest.raises(AgentError, match="the agent is closed"):
            await agent.steer("hello?", trigger=True)
        assert agent.queues.waiting("steer") == (receipt.id,) and users(agent) == ["go"]

    go(main)


@pytest.mark.spec("9.10")
def test_a_suspended_session_has_what_waits_denied_first(kit: Any, go: Any) -> None:
    class Later(Approver):
        async def approve(self, request: Any) -> ApprovalDecision:
            return ApprovalDecision("defer")

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "without it", tools=[kit.tool("a", "ran")], approver=Later())
        agent.events.on("tool_call", lambda e: ToolCallEventResult(ask="may it?"))
        assert (await agent.chat("go")).outcome == "suspended"
        assert (await (await agent.steer("leave it", trigger=True)).response()).content == "without it"
        assert [r.outcome for r in kit.results(agent)] == ["denied"] and agent.suspension is None
        assert kit.roles(agent) == ["user", "assistant", "tool_result", "user", "assistant"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.10", "I14")
def test_while_the_conversation_is_held_it_is_refused_and_what_waited_is_said_where_it_goes_on(
    kit: Any, go: Any
) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        receipts: list[Receipt] = []

        async def holds(event: Any) -> None:
            with pytest.raises(AgentBusy, match="fork is going on"):
                await agent.steer("now?", trigger=True)

        async def triggers(event: Any) -> None:
            if not receipts:
                receipts.append(await agent.steer("in the copy", trigger=True))
                agent.scheduler.when_idle(agent.fork)

        agent.events.on("session_before_fork", holds)
        agent.events.on("agent_end", triggers)
        await agent.chat("go")
        old = agent.session_id
        response = await receipts[0].response()
        assert response.content == "two" and users(agent) == ["go", "in the copy"]
        assert response.session_id == agent.session_id and agent.session.handle.header.parent_session is not None
        assert old is not None

    go(main)


@pytest.mark.spec("9.10", "9.16")
def test_during_a_compaction_by_hand_it_begins_a_run_afterwards(kit: Any, go: Any) -> None:
    class Slow(Compactor):
        async def compact(self, request: Any) -> CompactionResult:
            with pytest.raises(NoActiveRun):
                await agent.steer("nobody would say it")
            receipts.append(await agent.steer("and then?", trigger=True))
            return CompactionResult("short", len(request.messages))

    class Plugin:
        @hookimpl
        def register_compactors(self, register: Any) -> None:
            register(Factory("slow", lambda host: Slow()))

    receipts: list[Receipt] = []
    agent = kit.agent("word " * 300, "two", plugins=[("slow", Plugin())])

    async def main() -> None:
        await agent.chat("go")
        assert await agent.compact()
        assert (await receipts[0].response()).content == "two" and users(agent) == ["and then?"]
        kit.check(agent)

    go(main)


def test_a_handler_cannot_wait_for_the_response(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent, seen = kit.agent("one", "two"), []

        async def waits(event: Any) -> None:
            if not seen:
                seen.append(await agent.steer("more", trigger=True))
                with pytest.raises(ReentrancyError):
                    await seen[0].response()
                seen.append("refused")

        agent.events.on("agent_end", waits)
        await agent.chat("go")
        assert (await seen[0].response()).content == "two" and seen[1:] == ["refused"]

    go(main)


@pytest.mark.parametrize("what", ["wait_idle", "chat"])
def test_another_thread_that_waits_for_the_end_of_a_run_wakes_up(kit: Any, go: Any, what: str) -> None:
    async def main() -> None:
        started, end = asyncio.Event(), asyncio.Event()

        async def tool(args: Any, ctx: Any) -> str:
            started.set()
            await end.wait()
            return "done"

        agent = kit.agent(Reply(calls=[Call("work")]), "hello", tools=[kit.tool("work", tool)])
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        home, waits = asyncio.get_running_loop(), asyncio.Event()

        async def wait() -> None:
            work = agent.wait_idle() if what == "wait_idle" else agent.chat("besides", delivery="steer")
            waiting = asyncio.create_task(work)
            for _ in range(5):
                await asyncio.sleep(0)
            home.call_soon_threadsafe(waits.set)
            await waiting

        thread = asyncio.create_task(asyncio.to_thread(asyncio.run, wait()))
        await waits.wait()
        end.set()
        await asyncio.wait([thread, chat])
        await thread
        kit.check(agent)
        await agent.aclose()

    go(main())
