"""Inputs that come in the middle of a run: ``turn_start`` names them, and another run may begin for them (spec, section 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    BeforeAgentStartResult,
    DrivenRun,
    RunAborted,
    TurnStartResult,
)
from skillkit_core.agent.session import Session
from skillkit_core.testing import Call, Hang, Reply


def steered(kit: Any, *turns: Any, also: Any = (), **options: Any) -> Any:
    """An agent whose tool sends it a steering message."""

    async def act(args: Any, ctx: Any) -> str:
        await getattr(ctx.agent, args.get("how", "steer"))(args["say"])
        return "did"

    return kit.agent(*turns, tools=[kit.tool("act", act), *also], **options)


def restart(event: Any) -> TurnStartResult | None:
    return TurnStartResult(restart=True) if event.inputs else None


def test_a_turn_names_the_messages_that_came_since_the_last_one(kit: Any, go: Any) -> None:
    async def main() -> None:
        turns = (
            Reply(calls=[Call("act", {"say": "shorter"})]),
            Reply(calls=[Call("act", {"say": "now", "how": "follow_up"})]),
        )
        agent = steered(kit, *turns, "one", "two")
        agent.next_run("before")
        await agent.chat("go")
        assert [[m.text for m in e.inputs] for e in agent.seen.of("turn_start")] == [[], ["shorter"], [], ["now"]]
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("how", ["steer", "follow_up"])
def test_another_run_begins_for_the_inputs_and_the_caller_gets_its_answer(kit: Any, go: Any, how: str) -> None:
    async def main() -> None:
        call = Reply(calls=[Call("act", {"say": "the other", "how": how})])
        turns = [call, "for the other"] if how == "steer" else [call, "for the first", "for the other"]
        agent = steered(kit, *turns)
        agent.events.on("turn_start", restart)
        response = await agent.chat("go")
        starts, ends = agent.seen.of("before_agent_start"), agent.seen.of("agent_end")
        assert [e.prompt for e in starts] == ["go", "the other"] and [e.outcome for e in ends] == ["completed"] * 2
        assert not any(e.resumed for e in starts)
        assert response.content == "for the other" and response.run_id == ends[1].run_id != ends[0].run_id
        assert len(agent.scripted.requests) == len(turns)
        kit.check(agent)

    go(main)


def test_a_restart_without_inputs_has_no_effect_and_no_run_restarts_for_ever(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = steered(kit, Reply(calls=[Call("act", {"say": "other"})]), "end")
        agent.events.on("turn_start", lambda event: TurnStartResult(restart=True))
        assert (await agent.chat("go")).content == "end"
        assert len(agent.seen.of("agent_start")) == 2
        kit.check(agent)

    go(main)


def test_the_receipt_of_an_input_is_answered_by_the_run_that_works_on_it(kit: Any, go: Any) -> None:
    started = asyncio.Event()

    async def act(args: Any, ctx: Any) -> str:
        started.set()
        await asyncio.sleep(0)
        return "did"

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("act")]), "for the other", tools=[kit.tool("act", act)])
        agent.events.on("turn_start", restart)
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        receipt = await agent.steer("the other", trigger=True)
        response = await receipt.response()
        assert response.content == "for the other" and (await chat).run_id == response.run_id
        await agent.wait_idle()
        kit.check(agent)

    go(main)


def test_a_chat_that_is_queued_gets_the_answer_of_the_run_that_works_on_it(kit: Any, go: Any) -> None:
    started, queued = asyncio.Event(), asyncio.Event()

    async def act(args: Any, ctx: Any) -> str:
        started.set()
        await queued.wait()
        return "did"

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("act")]), "first", "second", tools=[kit.tool("act", act)])
        agent.events.on("turn_start", restart)
        agent.events.on("queue_update", lambda event: queued.set())
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        assert (await agent.chat("the other", delivery="follow_up")).content == "second"
        assert (await chat).content == "second"

    go(main)


def test_a_stream_goes_on_with_the_run_that_follows(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = steered(kit, Reply("I act", calls=[Call("act", {"say": "other"})]), "for the other")
        agent.events.on("turn_start", restart)
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.content for e in events if e.type == "text_delta"] == ["I act", "for the other"]
        assert [e.type for e in events if e.terminal] == ["done", "done"] and events[-1].content == "for the other"

    go(main)


def test_an_abort_ends_the_run_that_follows(kit: Any, go: Any) -> None:
    started = asyncio.Event()

    async def main() -> None:
        agent = steered(kit, Reply(calls=[Call("act", {"say": "other"})]), Hang("wor", started))
        agent.events.on("turn_start", restart)
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        agent.abort("enough")
        with pytest.raises(RunAborted, match="enough"):
            await chat
        assert [e.outcome for e in agent.seen.of("agent_end")] == ["completed", "aborted"]
        kit.check(agent)

    go(main)


def test_what_a_driver_has_not_seen_begins_a_run_of_its_own(kit: Any, go: Any) -> None:
    queries: list[str] = []

    async def work(run: DrivenRun) -> None:
        queries.append(run.query)
        assert not run.resumed
        if run.query == "go":
            await run.agent.steer("one more")
            await run.agent.follow_up("and another")
        await run.say(f"said of {run.query}")

    class Code:
        async def drive(self, run: DrivenRun) -> None:
            await work(run)

    async def main() -> None:
        agent = kit.agent()
        agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=Code()))
        response = await agent.chat("go")
        assert queries == ["go", "one more", "and another"] and response.content == "said of and another"
        assert kit.texts(agent)[-2:] == ["user:and another", "assistant:said of and another"]
        kit.check(agent)

    go(main)


def test_a_handler_ends_a_driver_for_the_steering_that_the_driver_took(kit: Any, go: Any) -> None:
    ended: list[str] = []

    class Code:
        async def drive(self, run: DrivenRun) -> None:
            try:
                await run.agent.steer("other")
                run.checkpoint()
                await run.say("I go on")
            finally:
                ended.append(run.query)

    async def main() -> None:
        agent = kit.agent("the model, for the other")
        agent.events.on(
            "before_agent_start", lambda e: BeforeAgentStartResult(driver=Code()) if e.prompt == "go" else None
        )
        agent.events.on("turn_start", restart)
        response = await agent.chat("go")
        assert response.content == "the model, for the other" and ended == ["go"]
        assert "assistant:I go on" not in kit.texts(agent) and agent.session.driven is None
        kit.check(agent)

    go(main)


@pytest.mark.parametrize(("said", "prompt"), [(("go",), "go"), (("first", "go"), "go")])
def test_a_resumed_run_says_on_which_input_it_works(kit: Any, go: Any, said: Any, prompt: str) -> None:
    async def act(args: Any, ctx: Any) -> str:
        await ctx.agent.steer("shorter")
        raise SystemExit

    async def main() -> None:
        agent = kit.agent(*["ok"] * (len(said) - 1), Reply(calls=[Call("act")]), tools=[kit.tool("act", act)])
        for text in said[:-1]:
            await agent.chat(text)
        with pytest.raises(SystemExit):
            await agent.chat(said[-1])
        other = kit.agent("end", session=Session(agent.session.handle, lambda: 1.0))
        await other.resume()
        event = other.seen.one("before_agent_start")
        assert (event.prompt, event.resumed) == (prompt, True)

    go(main)


def test_a_follow_up_is_the_input_of_a_resumed_run_and_steering_is_not(kit: Any, go: Any) -> None:
    def stop(args: Any, ctx: Any) -> str:
        raise SystemExit

    async def main() -> None:
        steer = Reply(calls=[Call("act", {"say": "shorter"})])
        follow = Reply(calls=[Call("act", {"say": "and then", "how": "follow_up"})])
        agent = steered(kit, follow, "one", steer, Reply(calls=[Call("stop")]), also=[kit.tool("stop", stop)])
        with pytest.raises(SystemExit):
            await agent.chat("go")
        other = kit.agent("end", session=Session(agent.session.handle, lambda: 1.0))
        await other.resume()
        assert other.seen.one("before_agent_start").prompt == "and then"

    go(main)


def test_a_run_that_cannot_follow_fails_the_receipts_and_no_caller(kit: Any, go: Any) -> None:
    started, queued = asyncio.Event(), asyncio.Event()

    async def act(args: Any, ctx: Any) -> str:
        started.set()
        await queued.wait()
        return "did"

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("act")]), tools=[kit.tool("act", act)])
        agent.events.on("turn_start", restart)
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        receipt = await agent.steer("other", trigger=True)
        agent.scheduler.when_idle(agent.scheduler.close)  # between the two runs
        queued.set()
        assert (await chat).outcome == "completed"
        with pytest.raises(AgentError, match="closed"):
            await receipt.response()

    go(main)
