"""Agents that work for an agent, against a scripted server: side by side, in the background, stopped, broken, limited."""

import asyncio
import gc
import shutil

import pytest
from skillkit_commands import SlashCommands
from skillkit_subagents import stop, subagents_of
from skillkit_testkit import Call, Fail, Gate, Hang, Reply, until

from skillkit_core import (
    AgentRunner,
    ApprovalDecision,
    Approver,
    Limits,
    RetryPolicy,
    RunAborted,
    Survey,
    SurveyQuestion,
    TokenUsage,
    Tool,
    ToolResultMessage,
    hookimpl,
)
from skillkit_core.testing import ScriptedUser


def spends(tokens, text="", *calls, **more):
    return Reply(text=text, tool_calls=calls, usage=TokenUsage(input=tokens, output=1), **more)


def spawn(task, **args):
    return Call("spawn_agent", {"task": task, **args})


def results(agent):
    return [m for m in agent.messages if isinstance(m, ToolResultMessage)]


async def slash(agent, line):
    commands = SlashCommands(agent)
    return await commands.run(commands.match(line))


class Person(Approver):
    """Agrees once ``ready`` is set."""

    def __init__(self):
        self.asked, self.ready = [], asyncio.Event()

    async def approve(self, request):
        self.asked.append((request.agent_path, request.tool_name))
        await self.ready.wait()
        return ApprovalDecision("allow")


@pytest.mark.smoke
async def test_two_agents_at_once_share_a_budget_while_one_is_stopped_and_one_asks(agent_with, script, own):
    told = script(
        main=[spends(100, "", spawn("payer: pay the bill"), spawn("sleeper: sleep on it")), spends(200, "both heard")],
        payer=[spends(30, "", Call("pay")), spends(40, "the bill is paid")],
        sleeper=[spends(5, "I look first.", Call("look")), Hang()],
    )
    person, events = Person(), []
    async with agent_with(approver=person, limits=Limits(tokens=10_000)) as agent:
        agent.events.observe(events.append, ["agent_start", "tool_execution_start", "agent_end"])
        run = asyncio.create_task(agent.chat("main: go"))
        await until(lambda: person.asked and len(told.requests.get("sleeper", ())) == 2)
        payer, sleeper = sorted((one for _, one in subagents_of(agent)), key=lambda one: one.work)
        assert person.asked == [(("main", payer.id), "pay")]
        assert f"{sleeper.id}  [working, thinks]" in await slash(agent, "/agents")
        assert await slash(agent, f"/agents stop {sleeper.id}") == f"Stopping {sleeper.id}."
        await until(lambda: sleeper.over)
        assert not run.done() and not payer.over
        person.ready.set()
        response = await run

        paid, slept = results(agent)
        assert (paid.text, paid.is_error) == ("the bill is paid", False)
        assert slept.is_error and "a person stopped it" in slept.text and "pay" in own.used[-1]
        assert response.content == "both heard" and response.usage == agent.session.usage
        # the wire told nothing of the request that was stopped: it is booked as an estimate
        assert response.usage.output == told.charged.output and response.usage.input > told.charged.input
        store = agent.host.session_store()
        for one, role in ((payer, "payer"), (sleeper, "sleeper")):
            handle = await store.open(one.session, read_only=True)
            assert handle.header.parent_session == agent.session_id
            spent = [e.data for e in handle.entries() if e.type == "usage" and not e.data.get("estimated")]
            assert sum(e.get("input", 0) + e.get("output", 0) for e in spent) == told.by_role[role].total
            await handle.close()
        nested = [e.data for e in agent.session.entries if e.type == "usage" and e.data["purpose"] == "nested"]
        assert {e["session"] for e in nested} == {payer.session, sleeper.session}
        notes = {note.data["session"] for note in agent.session.notes("subagents.agent")}
        assert notes == {payer.session, sleeper.session}
    below = [e for e in events if len(e.agent_path) > 1]  # a front end draws the tree from the events of all agents
    began = {e.agent_path: e.parent_tool_call_id for e in below if e.type == "agent_start"}
    assert began == {("main", payer.id): paid.tool_call_id, ("main", sleeper.id): slept.tool_call_id}
    ends = {e.agent_path[-1]: (e.outcome, e.reason) for e in below if e.type == "agent_end"}
    assert ends == {payer.id: ("completed", ""), sleeper.id: ("aborted", "a person stopped it")}
    assert (paid.details["tokens"], slept.details["state"]) == (72, "stopped") and slept.details["tokens"] > 6


@pytest.mark.parametrize("when", ["at work", "ended"])
async def test_after_a_crash_an_agent_goes_on_in_its_session(agent_with, script, own, tmp_path, when):
    left, settings = tmp_path / "left", {"sessions.directory": str(tmp_path / "sessions")}
    told = script(
        main=[spends(1, "", spawn("worker: work")), spends(1, "told"), spends(1, "told after a crash")],
        worker=[spends(1, "", Call("look")), spends(1, "worked"), spends(1, "went on")],
    )
    async with agent_with(settings=settings) as agent:
        at = {"at work": "tool_execution_end", "ended": "agent_end"}[when]

        @agent.events.observe
        def crash(event):  # what a process that is killed here leaves
            if event.type == at and len(event.agent_path) > 1 and not left.exists():
                shutil.copytree(tmp_path / "sessions", left)

        await agent.chat("main: go")
        (below,) = agent.session.notes("subagents.agent")
    async with agent_with(settings={"sessions.directory": str(left)}, session=agent.session_id) as again:
        response = await again.resume()
        assert response.content == "told after a crash"
        assert results(again)[0].text == {"at work": "went on", "ended": "worked"}[when]
        assert {note.data["session"] for note in again.session.notes("subagents.agent")} == {below.data["session"]}
    assert own.used == [("agent", "look")] and len(told.requests["worker"]) == (3 if when == "at work" else 2)


async def test_the_shared_budget_ends_an_agent_and_the_call_may_lower_its_own(agent_with, script):
    told = script(
        main=[spends(50, "", spawn("one: spend")), spends(10, "never said")],
        one=[spends(60, "", Call("look")), spends(60, "", Call("look"))],
        two=[spends(1, "", spawn("three: x", budget={"turns": 1})), spends(1, "told")],
        three=[spends(1, "as far as I came", Call("look"))],
    )
    async with agent_with(limits=Limits(tokens=100)) as agent:
        response = await agent.chat("main: go")
        assert response.outcome == "limit" and "100 tokens" in response.reason
        assert "was stopped by a limit: the limit of 100 tokens is reached in the run that" in results(agent)[0].text
        assert response.usage == told.charged
    async with agent_with() as agent:
        await agent.chat("two: go")
        found = results(agent)[0]
        assert "limit of 1 turns" in found.text and found.text.endswith("as far as I came") and not found.is_error


async def test_an_agent_in_the_background_answers_by_a_message(agent_with, script):
    gate = Gate(after_deltas=None)
    told = script(
        main=[spends(1, "", spawn("slow: think", background=True)), spends(2, "I go on"), spends(3, "I heard of it")],
        slow=[spends(4, "here it is", gate=gate)],
    )
    async with agent_with(ui=ScriptedUser()) as agent:
        assert (await agent.chat("main: go")).content == "I go on"
        assert "works in the background" in results(agent)[0].text
        gate.open()
        await until(lambda: len(told.requests["main"]) == 3)
        await agent.wait_idle()
        assert "has ended. It reports:\n\nhere it is" in told.requests["main"][2].user_text
        assert agent.messages[-1].text == "I heard of it"


async def test_where_nobody_reads_later_a_run_waits_for_its_background(agent_with, script):
    told = script(
        main=[spends(1, "", spawn("slow: think", background=True)), spends(2, "I go on"), spends(3, "I heard of it")],
        slow=[spends(4, "here it is")],
    )
    async with agent_with() as agent:
        response = await agent.chat("main: go")
        assert response.content == "I heard of it" and response.usage == told.charged


async def test_an_abort_of_the_parent_ends_its_agents_and_closing_ends_those_in_the_background(agent_with, script):
    script(
        main=[spends(1, "", spawn("a: x"), spawn("b: x", background=True))],
        a=[Hang()],
        b=[Hang()],
        again=[spends(1, "", spawn("c: x", background=True)), spends(1, "bye")],
        c=[Hang()],
    )
    async with agent_with(ui=ScriptedUser()) as agent:
        run = asyncio.create_task(agent.chat("main: go"))
        await until(lambda: [one.doing for _, one in subagents_of(agent)] == ["thinks", "thinks"])
        agent.abort("enough")
        with pytest.raises(RunAborted):
            await run
        await until(lambda: all(one.over for _, one in subagents_of(agent)))
        assert {one.state for _, one in subagents_of(agent)} == {"stopped"}
    async with agent_with(ui=ScriptedUser()) as agent:
        await agent.chat("again: go")
        ((_, left),) = subagents_of(agent)
    assert (left.state, left.reason) == ("stopped", "the agent that asked was closed") and left.runner is None


async def test_a_broken_agent_is_one_error_and_a_failing_tool_its_own_matter(agent_with, script):
    script(
        main=[spends(1, "", spawn("bad: x"), spawn("good: x")), spends(1, "heard")],
        bad=[Fail(400, message="no such thing")],
        good=[spends(1, "", Call("boom")), spends(1, "it went boom")],
    )
    async with agent_with(retry=RetryPolicy(attempts=1)) as agent:
        assert (await agent.chat("main: go")).content == "heard"
        bad, good = results(agent)
        assert bad.is_error and "failed: " in bad.text and "no such thing" in bad.text
        assert (good.text, good.is_error) == ("it went boom", False)


async def test_more_than_fit_wait_too_many_are_refused_and_too_deep_ones_not_offered(agent_with, script):
    gate = Gate(after_deltas=None)
    told = script(
        main=[spends(1, "", spawn("a: x"), spawn("b: x"), spawn("c: x")), spends(1, "heard")],
        a=[spends(1, "A", gate=gate)],
        b=[spends(1, "", spawn("deep: x")), spends(1, "B")],
        deep=[spends(1, "D")],
    )
    settings = {"subagents": {"parallel": 1, "total": 3, "depth": 2}}
    async with agent_with(settings=settings) as agent:
        run = asyncio.create_task(agent.chat("main: go"))
        await until(lambda: "a" in told.requests and len(list(subagents_of(agent))) == 3)
        assert [one.state for _, one in subagents_of(agent)] == ["working", "waiting", "waiting"]
        stop(agent, list(subagents_of(agent))[2][1].id)
        gate.open()
        await run
        a, b, c = results(agent)
        assert (a.text, b.text) == ("A", "B") and "a person stopped it" in c.text
        refused = next(i for i in told.requests["b"][1].tool_results)
        assert "3 agents were asked in this session" in refused.text
    async with agent_with() as agent:
        told = script(main=[spends(1, "", spawn("b: x")), spends(1, "end")],
                      b=[spends(1, "", spawn("deep: x")), spends(1, "B")], deep=[spends(1, "D")])  # fmt: skip
        await agent.chat("main: go")
        assert [(d, one.answer) for d, one in subagents_of(agent)] == [(0, "B"), (1, "D")]
        assert "spawn_agent" in told.requests["b"][0].tool_names
        assert "spawn_agent" not in told.requests["deep"][0].tool_names


async def test_calls_of_one_message_are_counted_while_models_are_looked_up(agent_with, script):
    class Models:
        @hookimpl
        async def resolve_model(self, name):
            await asyncio.to_thread(int)

    told = script(
        main=[
            spends(1, "", spawn("x: go", model="other")),
            spends(1, "", *(spawn("x: go", model="any") for _ in range(4))),
            spends(1, "heard"),
        ],
        x=[spends(1, "ok"), spends(1, "ok")],
    )
    async with agent_with(("models", Models()), settings={"subagents": {"total": 2, "models": ["any"]}}) as agent:
        await agent.chat("main: go")
        failed, *rest = results(agent)
        assert "may not be chosen" in failed.text and [r.text[:5] for r in rest] == [
            "ok",
            "ok",
            "2 age",
            "2 age",
        ]  # it took no place
        assert len(told.requests["x"]) == 2


async def test_a_question_of_an_agent_reaches_the_person_of_the_parent_and_says_who_asks(agent_with, script):
    async def ask(args, ctx):
        answers = await ctx.ui.ask(Survey("A colour", "", (SurveyQuestion("it", "Which?"),)))
        return f"the person said {answers['it']}"

    class Asks:
        @hookimpl
        def register_tools(self, register):
            register(Tool("ask", "Ask.", ask, annotations={"mutates": "none"}))

    told = script(
        main=[spends(1, "", spawn("asker: x")), spends(1, "heard")],
        asker=[spends(1, "", Call("ask")), spends(1, "blue it is")],
    )
    person = ScriptedUser({"it": "blue"})
    async with agent_with(("asks", Asks()), ui=person) as agent:
        await agent.chat("main: go")
        ((_, one),) = subagents_of(agent)
        assert [survey.title for survey in person.surveys] == [f"{one.id} asks: A colour"]
        assert told.requests["asker"][1].tool_results[0].text == "the person said blue"


async def test_nothing_keeps_an_agent_that_has_ended_nor_one_that_is_closed(agent_with, script):
    def alive():
        gc.collect()
        return sum(type(one) is AgentRunner for one in gc.get_objects())

    known = alive()
    for _ in range(3):
        calls = [spawn("below: go"), spawn("later: go", background=True), spawn("broken: go")]
        script(
            main=[spends(1, "", *calls), *[spends(1, "heard")] * 3],
            below=[spends(1, "", spawn("deep: go")), spends(1, "done")],
            deep=[spends(1, "deep down")],
            later=[spends(1, "later on")],
            broken=[Fail(400, "no")],
        )
        async with agent_with() as agent:
            await agent.chat("main: go")
            await until(lambda agent=agent: all(one.over for _, one in subagents_of(agent)))
            await agent.wait_idle()
            assert [(depth, one.name, one.state) for depth, one in subagents_of(agent)] == [
                (0, "agent", "completed"),
                (1, "agent", "completed"),
                (0, "agent", "completed"),
                (0, "agent", "failed"),
            ]
            assert alive() == known + 1  # the four that it asked are closed, and only what they did is known
        del agent
        assert alive() == known
