"""A run that code drives in the place of a model (spec, section 7; invariant I21)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    ApprovalDecision,
    Approver,
    BeforeAgentStartResult,
    DrivenRun,
    LimitReached,
    Limits,
    RunAborted,
    Session,
    ToolCall,
    ToolCallEventResult,
    TurnEndResult,
    TurnStartResult,
    UsageError,
    UserMessage,
)
from skillkit_core.testing import Fail, Reply

Work = Callable[[DrivenRun], Any]


class Code:
    """A driver made of a function."""

    def __init__(self, work: Work) -> None:
        self.work, self.runs = work, 0

    async def drive(self, run: DrivenRun) -> None:
        self.runs += 1
        await self.work(run)


class Later(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


def driven(kit: Any, work: Work | Any, *turns: Any, **config: Any) -> Any:
    agent = kit.agent(*turns, **config)
    driver = work if hasattr(work, "drive") else Code(work)
    agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=driver))
    agent.driver = driver
    return agent


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall("", name, args)


def entries(agent: Any, kind: str) -> list[Any]:
    return [e for e in agent.session.entries if e.type == kind]


@pytest.mark.spec("I21")
def test_code_says_and_calls_in_the_place_of_the_model(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        assert (run.query, run.resumed) == ("weather in Oslo?", False)
        await run.say("I look.")
        (result,) = await run.call(call("weather", city="Oslo"))
        await run.say(f"It says {result.text}.")

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("weather", lambda args, ctx: f"18 C in {args['city']}")])
        events = [event async for event in agent.chat_stream_events("weather in Oslo?")]
        assert [e.content for e in events if e.type == "text_delta"] == ["I look.", "It says 18 C in Oslo."]
        assert [e.type for e in events if e.type in ("tool_call_start", "tool_result", "done", "error")] == [
            "tool_call_start", "tool_result", "done",
        ]  # fmt: skip
        assert kit.roles(agent) == ["user", "assistant", "assistant", "tool_result", "assistant"]
        assert len(agent.seen.of("turn_start")) == 3 and agent.seen.one("agent_end").outcome == "completed"
        assert agent.seen.one("before_tool_call").args == {"city": "Oslo"}
        kit.check(agent)

    go(main)


def test_no_model_is_named_selected_or_asked(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.say("done")

    async def main() -> None:
        agent = driven(kit, work)
        response = await agent.chat("hi")
        assert response.content == "done" and response.usage.total == 0
        assert agent.scripted.requests == [] and agent.seen.of("model_select") == []
        start = agent.seen.one("agent_start")
        assert start.model is None and start.provider == "" and start.tools == ()
        assert entries(agent, "model_change") == entries(agent, "usage") == [] and agent.session.model is None
        assert [e.data["message"].get("model") for e in entries(agent, "message")] == [None, None]

    go(main)


def test_a_driver_needs_no_provider_and_everybody_else_does(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.say("I need none")

    async def main() -> None:
        from skillkit_core import AgentConfig, AgentRunner

        agent = AgentRunner(AgentConfig(), host=kit.host())
        remove = agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=Code(work)))
        assert (await agent.chat("hi")).content == "I need none"
        remove()
        agent.events.on("before_agent_start", lambda event: None)
        with pytest.raises(AgentError, match="no provider can be asked"):
            await agent.chat("hi")

    go(main)


def test_a_later_model_sees_what_the_driver_said_and_called(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.call(call("act"))
        await run.say("acted")

    async def main() -> None:
        agent = kit.agent("and I saw it", tools=[kit.tool("act", "ok")])
        remove = agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=Code(work)))
        await agent.chat("one")
        remove()
        await agent.chat("two")
        assert [m.role for m in agent.scripted.requests[0].messages] == [
            "user", "assistant", "tool_result", "assistant", "user",
        ]  # fmt: skip
        kit.check(agent)

    go(main)


def test_guards_decide_on_a_drivers_calls_and_unknown_tools_are_results(kit: Any, go: Any) -> None:
    outcomes: list[str] = []

    async def work(run: DrivenRun) -> None:
        results = await run.call(call("act", n=1), call("act", n=2), call("acct"), ToolCall("x", "act", None, "{"))
        outcomes.extend(f"{r.outcome}" for r in results)
        assert "Did you mean act?" in results[2].text

    def guard(event: Any) -> ToolCallEventResult | None:
        return ToolCallEventResult(block=True, reason="not two") if event.args.get("n") == 2 else None

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", "did")])
        agent.events.on("before_tool_call", guard, phase="guard")
        await agent.chat("go")
        assert outcomes == ["ok", "blocked", "error", "error"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("I21")
def test_a_call_that_waits_suspends_the_run_and_no_call_runs_twice(kit: Any, go: Any) -> None:
    ran: list[int] = []
    seen: list[Any] = []

    async def work(run: DrivenRun) -> None:
        await run.say("I begin.")
        first = await run.call(call("act", n=1), call("act", n=1))
        seen.append((run.resumed, run.query, [r.text for r in first]))
        (second,) = await run.call(call("act", n=2))
        await run.say(f"second: {second.outcome}")

    def act(args: Any, ctx: Any) -> str:
        ran.append(args["n"])
        return f"did {args['n']} as {len(ran)}"

    def guard(event: Any) -> ToolCallEventResult | None:
        return ToolCallEventResult(ask="two?") if event.args.get("n") == 2 else None

    def desk(session: Any = None) -> Any:
        agent = driven(kit, work, tools=[kit.tool("act", act)], approver=Later(), session=session)
        agent.events.on("before_tool_call", guard, phase="guard")
        return agent

    async def main() -> None:
        agent = desk()
        response = await agent.chat("go")
        assert response.outcome == "suspended" and ran == [1, 1]
        kit.check(agent)
        waiting = agent.suspension.calls[0].id
        other = desk(Session(agent.session.handle, lambda: 1.0))
        response = await other.resume({waiting: "allow"})
        assert response.outcome == "completed" and response.content == "second: ok" and ran == [1, 1, 2]
        assert seen == [(False, "go", ["did 1 as 1", "did 1 as 2"]), (True, "go", ["did 1 as 1", "did 1 as 2"])]
        assert kit.texts(other).count("assistant:I begin.") == 1
        kit.check(other)
        with pytest.raises(UsageError, match="nothing to resume"):
            await other.resume()

    go(main)


def test_a_denied_call_is_a_result_for_the_driver(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        (result,) = await run.call(call("act"))
        await run.say(str(result.outcome))

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", "did")], approver=Later())
        agent.events.on("before_tool_call", lambda event: ToolCallEventResult(ask="sure?"), phase="guard")
        await agent.chat("go")
        response = await agent.resume({agent.suspension.calls[0].id: "deny"})
        assert response.content == "denied"
        kit.check(agent)

    go(main)


@pytest.mark.spec("I21")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("at", ["between the calls", "in the call", "after the answer", "before the end"])
def test_a_killed_driver_begins_again_and_repeats_no_effect(kit: Any, go: Any, tmp_path: Path, at: str) -> None:
    log, store = tmp_path / "effects", kit.FileStore(tmp_path)

    def stop(here: str) -> None:
        if here == at and not (tmp_path / "again").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    def act(args: Any, ctx: Any) -> str:
        with log.open("a") as file:
            file.write(f"{args['n']}\n")
        if args["n"] == 2:
            stop("in the call")
        return f"did {args['n']}"

    async def work(run: DrivenRun) -> None:
        assert run.resumed == (tmp_path / "again").exists() and run.query == "go"
        (one,) = await run.call(call("act", n=1))
        stop("between the calls")
        (two,) = await run.call(call("act", n=2))
        await run.say(f"{one.text}, {two.outcome}")
        stop("after the answer")
        await run.call(call("act", n=3))
        stop("before the end")

    def desk(session: Any) -> Any:
        return driven(kit, work, tools=[kit.tool("act", act)], session=session)

    async def first() -> None:
        session = await Session.create(store, lambda: 1.0, session_id="s")
        await desk(session).chat("go")

    async def again() -> None:
        agent = desk(await Session.open(store, "s", lambda: 1.0))
        response = await agent.resume()
        two = "interrupted" if at == "in the call" else "ok"
        assert response.outcome == "completed" and response.content == f"did 1, {two}"
        assert kit.texts(agent).count(f"assistant:did 1, {two}") == 1
        kit.check(agent)

    assert kit.forked(first)
    (tmp_path / "again").touch()
    go(again)
    assert log.read_text().split() == ["1", "2", "3"]


@pytest.mark.parametrize("error", [ValueError("mine"), AgentError("mine")])
def test_a_driver_that_raises_fails_its_run(kit: Any, go: Any, error: Exception) -> None:
    async def work(run: DrivenRun) -> None:
        await run.say("so far")
        raise error

    async def main() -> None:
        agent = driven(kit, work)
        with pytest.raises(AgentError, match="mine") as raised:
            await agent.chat("go")
        assert raised.value.response.content == "so far" and agent.seen.one("agent_end").outcome == "failed"
        kit.check(agent)
        assert (await agent.events.fire(type(agent.seen.events[0]))) is not None  # the bus is alive

    go(main)


def test_an_interrupt_in_a_driver_interrupts_the_program_and_the_session_is_whole(kit: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.say("so far")
        raise KeyboardInterrupt

    agents = []

    async def main() -> None:
        agents.append(driven(kit, work))
        await agents[0].chat("go")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert agents[0].seen.one("agent_end").outcome == "aborted"
    kit.check(agents[0])


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_driver_that_hangs_ends_with_the_abort_and_speaks_no_more(kit: Any, go: Any, stubborn: bool) -> None:
    late: list[str] = []
    started = asyncio.Event()

    async def work(run: DrivenRun) -> None:
        await run.say("so far")
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            for speak in (
                run.say("late"),
                run.call(call("act")),
                run.ask([UserMessage(content="?")], purpose="test.late"),
            ):
                try:
                    await speak
                except AgentError as error:
                    late.append(error.message)
            if stubborn:
                await asyncio.Event().wait()  # until the agent is closed

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", "did")], abort_grace=0.05)
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        agent.abort("enough")
        with pytest.raises(RunAborted, match="enough"):
            await chat
        assert late == ["the run is over"] * 3 and kit.texts(agent) == ["user:go", "assistant:so far"]
        kit.check(agent)
        await agent.aclose()

    go(main)


def test_a_driver_that_returns_early_leaves_nobody_behind(kit: Any, go: Any) -> None:
    left: list[Any] = []

    async def work(run: DrivenRun) -> None:
        async def beside() -> None:
            await asyncio.sleep(0)
            await run.say("too late")

        left.append((run, asyncio.create_task(beside())))

    async def main() -> None:
        agent = driven(kit, work)
        response = await agent.chat("go")
        assert response.outcome == "completed" and response.content == ""
        run, task = left[0]
        (gone,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(gone, (AgentError, asyncio.CancelledError))
        with pytest.raises(AgentError, match="the run is over"):
            await run.say("too late")
        assert run.checkpoint() == []
        assert kit.texts(agent) == ["user:go"]
        kit.check(agent)

    go(main)


def test_a_driver_that_cancels_itself_or_is_no_coroutine_fails(kit: Any, go: Any) -> None:
    class Plain:
        def drive(self, run: DrivenRun) -> None:
            return None

    async def cancelled(run: DrivenRun) -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        with pytest.raises(AgentError, match="the driver Plain failed"):
            await driven(kit, Plain()).chat("go")
        agent = driven(kit, cancelled)
        with pytest.raises(AgentError, match="cancelled from the inside"):
            await agent.chat("go")
        kit.check(agent)

    go(main)


def test_what_is_no_driver_is_refused_and_the_first_of_two_counts(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.say("the first")

    async def main() -> None:
        agent = kit.agent("the model")
        remove = agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=work))
        assert (await agent.chat("go")).content == "the model"
        assert "driver must be a Driver" in str(agent.seen.of("handler_error")[0].error)
        remove()
        for driver in (Code(work), Code(work)):
            agent.events.on("before_agent_start", lambda event, d=driver: BeforeAgentStartResult(driver=d))
        assert (await agent.chat("go")).content == "the first"
        assert "another handler gave 'driver' first" in str(agent.seen.of("handler_error")[-1].error)

    go(main)


def test_two_calls_and_texts_at_once_are_turns_one_after_the_other(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        one, _, two = await asyncio.gather(run.call(call("act", n=1)), run.say("between"), run.call(call("act", n=2)))
        assert [one[0].text, two[0].text] == ["did 1", "did 2"]
        assert await run.call() == ()

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", lambda args, ctx: f"did {args['n']}")])
        await agent.chat("go")
        assert len(agent.seen.of("turn_end")) == 3
        kit.check(agent)

    go(main)


def test_a_tool_that_speaks_for_the_driver_gets_an_error_and_nothing_hangs(kit: Any, go: Any) -> None:
    runs: list[DrivenRun] = []

    async def work(run: DrivenRun) -> None:
        runs.append(run)
        (result,) = await run.call(call("act"))
        await run.say(result.text)
        with pytest.raises(UsageError, match="a driver calls ToolCall"):
            await run.call("act")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="says a text"):
            await run.say(3)  # type: ignore[arg-type]

    async def act(args: Any, ctx: Any) -> str:
        await runs[0].say("from a tool")
        return "did"

    async def main() -> None:
        response = await driven(kit, work, tools=[kit.tool("act", act)]).chat("go")
        assert "a tool cannot speak or call for the driver" in response.content

    go(main)


def test_a_driver_cannot_wait_for_its_own_run(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.agent.wait_idle()

    async def main() -> None:
        with pytest.raises(AgentError, match="called from a handler of the run it would wait for"):
            await driven(kit, work).chat("go")

    go(main)


def test_steering_reaches_the_driver_at_its_checkpoint_and_skips_no_call(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        assert run.checkpoint() == []
        await run.agent.steer("shorter")
        (result,) = await run.call(call("act"))
        (item,) = run.checkpoint()
        await run.say(f"{result.outcome}, {item.text}")
        assert [m.text for m in run.messages][-2:] == ["shorter", "ok, shorter"]

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", "did")])
        assert (await agent.chat("go")).content == "ok, shorter"
        kit.check(agent)

    go(main)


def test_a_checkpoint_whose_message_nobody_persisted_gives_it_back(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.agent.steer("shorter")
        run.checkpoint()
        run.agent.abort("enough")

    async def main() -> None:
        agent = driven(kit, work)
        with pytest.raises(RunAborted):
            await agent.chat("go")
        said = "user:shorter" in kit.texts(agent)
        assert said != bool(agent.queues.items["steer"])  # consumed, or still queued: never lost, never both (I14)

    go(main)


def test_a_driver_asks_models_in_the_books_and_under_the_limits(kit: Any, go: Any) -> None:
    asked: list[str] = []

    async def work(run: DrivenRun) -> None:
        answers = await asyncio.gather(*(
            run.ask([UserMessage(content=f"q{i}")], system="s", purpose="test.ask", role="critic") for i in range(2)
        ))  # fmt: skip
        asked.extend(a.text for a in answers)
        with pytest.raises(LimitReached, match="limit of 2 requests"):
            await run.ask([UserMessage(content="q3")], purpose="test.ask")
        await run.say("so far: " + ", ".join(asked))
        with pytest.raises(LimitReached):
            await run.call(call("act"))
        await run.ask([UserMessage(content="q4")], purpose="test.ask")

    async def main() -> None:
        agent = driven(kit, work, "a1", "a2", limits=Limits(requests=2), tools=[kit.tool("act", "did")])
        response = await agent.chat("go")
        assert response.outcome == "limit" and "2 requests" in response.reason and sorted(asked) == ["a1", "a2"]
        assert [(e["purpose"], e["role"]) for e in kit.ledger(agent)] == [("test.ask", "critic")] * 2
        assert kit.roles(agent) == ["user", "assistant"] and len(agent.seen.of("message_end")) == 1
        assert [m.text for m in agent.scripted.requests[0].messages] == ["q0"] and not agent.scripted.requests[0].tools
        kit.check(agent)

    go(main)


def test_handlers_of_turns_stop_a_driver(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.say("one")
        await run.say("two")

    async def main() -> None:
        agent = driven(kit, work)
        remove = agent.events.on("turn_end", lambda event: TurnEndResult(stop=True, reason="enough", outcome="limit"))
        response = await agent.chat("go")
        assert (response.outcome, response.reason, response.content) == ("limit", "enough", "one")
        remove()
        agent.events.on("turn_start", lambda event: TurnStartResult(stop=True, reason="no more"))
        response = await agent.chat("go")
        assert (response.outcome, response.reason, response.content) == ("limit", "no more", "")
        kit.check(agent)

    go(main)


def test_a_failed_request_of_a_driver_is_retried_and_its_error_is_the_drivers(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        answer = await run.ask([UserMessage(content="q")], purpose="test.ask")
        await run.say(answer.text)
        await run.ask([UserMessage(content="q")], purpose="test.ask")

    async def main() -> None:
        from skillkit_core import ErrorKind

        agent = driven(kit, work, Fail(), "after a retry", Fail(ErrorKind.invalid_request, "no", status=400))
        with pytest.raises(AgentError, match="no"):
            await agent.chat("go")
        assert len(kit.ledger(agent)) == 3 and kit.texts(agent)[-1] == "assistant:after a retry"
        kit.check(agent)

    go(main)


def test_a_new_input_gives_the_work_of_an_earlier_driver_up(kit: Any, go: Any) -> None:
    ran: list[int] = []

    async def work(run: DrivenRun) -> None:
        ran.append(len((await run.call(call("act", n=1)))[0].text))
        if run.query == "one":
            raise ValueError("no end")
        assert not run.resumed

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", "did")])
        with pytest.raises(AgentError):
            await agent.chat("one")
        await agent.chat("two")
        assert len(kit.results(agent)) == 2  # the same call for another input runs again
        kit.check(agent)

    go(main)


def test_a_secret_in_the_arguments_does_not_make_a_call_run_again(kit: Any, go: Any) -> None:
    ran: list[str] = []

    async def work(run: DrivenRun) -> None:
        await run.call(call("act", key="sk-very-secret-123"))
        if not run.resumed:
            raise ValueError("once")

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", lambda args, ctx: ran.append(args["key"]) or "did")])
        agent.host.remember_secret("sk-very-secret-123")
        with pytest.raises(AgentError):
            await agent.chat("go")
        await agent.resume()
        assert ran == ["sk-very-secret-123"]

    go(main)


def test_a_nested_agent_of_a_driver_is_a_child_of_its_run(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        child = kit.agent(host=run.agent.host)
        response = await child.chat("below")
        await run.say(f"{response.content} from {len(child.events.agent_path)}")

    async def main() -> None:
        agent = driven(kit, work, Reply("hello"))
        assert (await agent.chat("go")).content == "hello from 2"
        assert [e["purpose"] for e in kit.ledger(agent)] == ["nested"]

    go(main)


def test_a_run_without_a_driver_after_a_crash_is_resumed_by_the_model(kit: Any, go: Any) -> None:
    async def work(run: DrivenRun) -> None:
        await run.call(call("act"))
        raise ValueError("the plugin is removed now")

    async def main() -> None:
        agent = driven(kit, work, tools=[kit.tool("act", "did")])
        with pytest.raises(AgentError):
            await agent.chat("go")
        other = kit.agent(Reply("the model goes on"), session=Session(agent.session.handle, lambda: 1.0))
        assert (await other.resume()).content == "the model goes on"
        kit.check(other)

    go(main)
