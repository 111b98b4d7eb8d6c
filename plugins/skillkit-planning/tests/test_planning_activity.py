"""The activity: what is offered and refused in a plan, questions to the person, branches, and the fresh start."""

import asyncio
import os

import pytest
from skillkit_commands import Edit, Prompt
from skillkit_planning import activity_of, current_plan
from skillkit_subagents import subagents_of

from skillkit_core import Tool, ToolResultMessage, TurnStartResult, UsageError
from skillkit_core.testing import Call, Reply, ScriptedUser

PLAN = ".skillkit/plan.md"


def write(text, path=PLAN):
    return Call("write", {"path": path, "content": text})


def results(agent):
    return [m for m in agent.messages if isinstance(m, ToolResultMessage)]


def names(request):
    return {tool.name for tool in request.tools}


@pytest.mark.smoke
async def test_a_plan_changes_nothing_but_itself_and_a_fresh_context_carries_it_out(
    agent_with, slash, own, skillkit_home
):
    (skillkit_home.cwd / "code.py").write_text("old\n")
    agent = agent_with(
        Reply(calls=[Call("read", {"path": "code.py"}), write("1. rewrite code.py"), write("x", "code.py")]),
        Reply(calls=[Call("deploy"), Call("fetch", {"url": "https://example.org"}), Call("odd"), Call("look")]),
        "The plan is complete.",
        Reply(calls=[Call("deploy"), Call("odd")]),
        "done",
        system_prompt="Be brief.",
    )
    async with agent:
        assert "/exec carries it out" in await slash(agent, "/plan")
        asked = await slash(agent, "/plan rewrite the code")
        assert asked == Prompt("rewrite the code")
        await agent.chat(asked.text)
        first = agent.model.requests[0]
        assert {"read", "write", "edit", "grep", "ls", "look", "ask_user", "spawn_agent"} == names(first) - {"glob"}
        assert first.system.startswith("Be brief.") and f"Write the plan into {PLAN}" in first.system
        read, wrote, elsewhere, *rest = results(agent)
        assert not wrote.is_error and (skillkit_home.cwd / PLAN).read_text() == "1. rewrite code.py"
        assert (
            elsewhere.text
            == f"Blocked: the activity is plan, so only {PLAN} may be written, and code.py is another file"
        )
        assert (skillkit_home.cwd / "code.py").read_text() == "old\n" and not read.is_error
        assert [r.is_error for r in rest] == [True, True, True, False] and own.used == ["look"]
        assert current_plan(agent.session, agent.host, agent.cwd) == "1. rewrite code.py"

        old = agent.session_id
        again = await slash(agent, "/exec")
        assert agent.session.handle.header.parent_session == old and agent.messages == ()
        assert activity_of(agent) == "execute"
        (skillkit_home.cwd / PLAN).unlink()  # the session has it
        await agent.chat(again.text)
        executed = agent.model.requests[3]
        assert executed.system.endswith("## Plan\n\n1. rewrite code.py")
        assert [m.text for m in executed.messages] == ["Carry out the plan."] and {"deploy", "odd"} <= names(executed)
        assert await slash(agent, "/plan show") == f"There is no plan in {skillkit_home.cwd / PLAN} yet."


async def test_the_guard_holds_where_a_tool_is_called_that_was_not_offered(agent_with, slash, own):
    agent = agent_with(Reply(calls=[Call("deploy")]), "done")
    async with agent:
        await slash(agent, "/plan")
        agent.events.on("turn_start", lambda e: TurnStartResult(tools=agent.tools), phase="guard")
        await agent.chat("go")
        assert "the activity is plan, so deploy does not run" in results(agent)[0].text and own.used == []


async def test_links_lead_nowhere_and_no_path_is_the_plan_but_its_own(agent_with, slash, skillkit_home):
    cwd = skillkit_home.cwd
    (cwd / "victim").write_text("safe")
    (cwd / ".skillkit").mkdir()
    os.symlink(cwd / "victim", cwd / PLAN)
    agent = agent_with(Reply(calls=[write("x"), write("y", "../plan.md"), write("z", "link/plan.md")]), "done")
    os.symlink(cwd / ".skillkit", cwd / "link")
    async with agent:
        await slash(agent, "/plan")
        await agent.chat("go")
        assert [r.is_error for r in results(agent)] == [True, True, True]
        assert (cwd / "victim").read_text() == "safe"
        with pytest.raises(UsageError, match="is a link"):
            await slash(agent, "/exec")


async def test_agents_below_a_plan_plan_too(agent_with, slash, own):
    spawn = Call("spawn_agent", {"task": "look around"})
    agent = agent_with(Reply(calls=[spawn]), Reply(calls=[Call("look"), write("x"), Call("deploy")]), "looked", "done")
    async with agent:
        await slash(agent, "/plan")
        await agent.chat("go")
        below = agent.model.requests[1]
        assert names(below) & {"write", "edit", "deploy", "odd"} == set() and "look" in names(below)
        assert "nothing may be changed" in below.system and own.used == ["look"]


async def test_agents_that_were_asked_in_a_plan_change_nothing_after_it(agent_with, slash, own, skillkit_home):
    begun, go = asyncio.Event(), asyncio.Event()

    async def hold(args, ctx):
        begun.set()
        await go.wait()
        return "held"

    async def meet(args, ctx):
        await begun.wait()
        return "met"

    tools = tuple(Tool(f.__name__, "Wait.", f, annotations={"mutates": "none"}) for f in (hold, meet))
    spawn = Call("spawn_agent", {"task": "wait, then deploy", "background": True})
    changes = Reply(calls=[Call("deploy"), write("x", "evil.txt"), write("x")])
    agent = agent_with(
        Reply(calls=[spawn, spawn, write("1. deploy"), Call("meet")]), Reply(calls=[Call("hold")]), "planned",
        changes, "one ended", changes, "the other that waited ended",
        settings={"subagents.parallel": 1, "permissions.mode": "bypass"}, tools=tools, ui=ScriptedUser(),
    )  # fmt: skip
    async with agent:
        await slash(agent, "/plan")
        await agent.chat("go")
        await slash(agent, "/exec")
        ended = []
        agent.events.observe(
            lambda event: event.agent_path[1:] and ended.append(event.outcome == "ok"), ["tool_execution_end"]
        )
        go.set()
        await asyncio.wait([one.task for _, one in subagents_of(agent)])
        assert ended == [True, *[False] * 6]
        assert own.used == [] and not (skillkit_home.cwd / "evil.txt").exists()
        assert (skillkit_home.cwd / PLAN).read_text() == "1. deploy" and activity_of(agent) == "execute"


@pytest.mark.parametrize(
    ("args", "answers", "told"),
    [
        ({}, [{"answer": "blue"}], "The person answered: blue"),
        ({"options": ["red", "blue"]}, [{"answer": "blue"}], "The person answered: blue"),
        (
            {"options": ["red", "blue"]},
            [{"answer": "Something else"}, {"words": "green"}],
            "The person answered: green",
        ),
        (
            {"options": ["red", {"label": "blue", "description": "as water"}], "several": True},
            [{"answer": ["red", "blue"]}],
            "The person answered: red, blue",
        ),
        ({}, [None], "The person did not want to answer."),
        ({}, None, "Nobody can be asked here. Decide yourself, and write down what you assumed."),
    ],
)
async def test_the_person_is_asked_with_options_or_in_words(agent_with, slash, args, answers, told):
    agent = agent_with(
        Reply(calls=[Call("ask_user", {"question": "Which colour?", **args})]),
        "done",
        ui=None if answers is None else ScriptedUser(*answers),
    )
    async with agent:
        await slash(agent, "/plan")
        await agent.chat("go")
        assert results(agent)[0].text == told


async def test_outside_of_a_plan_the_tool_is_there_where_somebody_answers(agent_with):
    async with agent_with("hi", ui=ScriptedUser()) as agent:
        assert "ask_user" in {t.name for t in agent.tools}
    async with agent_with("hi") as agent:
        assert "ask_user" not in {t.name for t in agent.tools}


async def test_activity_and_plan_follow_the_branch(agent_with, slash, skillkit_home):
    agent = agent_with("hello", Reply(calls=[write("first")]), "a", Reply(calls=[write("second")]), "b")
    async with agent:
        await agent.chat("hi")
        before = agent.session.leaf_id
        await slash(agent, "/plan")
        await agent.chat("one")
        first = agent.session.leaf_id
        await agent.chat("two")
        assert await slash(agent, "/plan show") == "second"
        await agent.move_to(first)
        assert activity_of(agent) == "plan" and await slash(agent, "/plan show") == "first"
        await agent.move_to(before)
        assert activity_of(agent) == "execute"


async def test_the_plan_is_edited_and_left(agent_with, slash, skillkit_home):
    async with agent_with(session=None) as agent:
        with pytest.raises(UsageError, match="there is no plan"):
            await slash(agent, "/exec")
        edit = await slash(agent, "/plan edit")
        assert isinstance(edit, Edit) and edit.path == skillkit_home.cwd / PLAN
        edit.path.write_text("by hand\n")
        assert await edit.done() == "The plan has changed: 1 line."
        await slash(agent, "/plan")
        assert await slash(agent, "/plan off") == "Activity: execute. The plan is kept."
        await slash(agent, "/exec")
        assert agent.system_prompt().endswith("## Plan\n\nby hand")
