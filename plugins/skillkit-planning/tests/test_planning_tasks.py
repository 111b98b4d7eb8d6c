"""The list of tasks: the model keeps it, the person sees it, the branch holds it, and a compaction does not lose it."""

import os

import skillkit_planning.plugin
import skillkit_testkit as testkit
from skillkit_commands import Indicators

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser


def tasks(**states):
    return Call(
        "tasks", {"tasks": [{"task": name.replace("_", " "), "state": state} for name, state in states.items()]}
    )


FIRST = tasks(read_the_code="done", write_the_test="doing", repair_it="pending")


async def test_the_list_is_kept_shown_and_follows_the_branch(agent_with, slash):
    async with agent_with(Reply(calls=[FIRST]), Reply(text="on it"), ui=ScriptedUser()) as agent:
        assert await slash(agent, "/tasks") == "The model keeps no list of tasks here."
        result = await agent.chat("repair it")
        (answer,) = [m for m in result.messages if m.role == "tool_result"]
        assert answer.text == "☑ read the code\n▶ write the test\n☐ repair it"
        assert [one["state"] for one in answer.details["tasks"]] == ["done", "doing", "pending"]
        assert await slash(agent, "/tasks") == answer.text
        assert Indicators(agent).read()["tasks"] == "1/3 write the test"
        await agent.session.move_to(agent.session.entries[0].id)  # before the list
        assert "tasks" not in {name for name, said in Indicators(agent).read().items() if said}


async def test_a_list_that_is_done_says_nothing_in_the_status_line(agent_with):
    done = tasks(read_the_code="done", repair_it="done")
    async with agent_with(Reply(calls=[done]), Reply(text="done"), ui=ScriptedUser()) as agent:
        await agent.chat("repair it")
        assert Indicators(agent).read()["tasks"] == ""


async def test_a_compaction_leaves_the_model_its_list(agent_with):
    turns = [Reply(calls=[FIRST]), Reply(text="on it"), Reply(text="going on"), Reply(text="and on")]
    async with agent_with(*turns, ui=ScriptedUser()) as agent:
        await agent.chat("repair it")
        await agent.chat("go on")
        assert "▶ write the test" not in agent.model.requests[-1].system  # the call is there itself
        await agent.session.append_compaction("What was said.", len(agent.session.context), tokens_before=1)
        await agent.chat("go on")
        assert "## Tasks" in agent.model.requests[-1].system
        assert "▶ write the test\n☐ repair it" in agent.model.requests[-1].system


async def test_nobody_sees_a_list_without_a_person_or_of_an_agent_below(make_host, skillkit_home):
    host = make_host(("planning", skillkit_planning.plugin))
    model = ScriptedModel([Reply(text="hello")])
    async with AgentRunner(AgentConfig(cwd=skillkit_home.cwd), host=host) as agent:
        agent.set_adapter(model)
        await agent.chat("hello")
    assert "tasks" not in [tool.name for tool in model.requests[0].tools]


def test_a_person_at_a_terminal_sees_the_list_and_where_it_stands(skillkit_cli, llm_server):
    given = {"tasks": [dict(one) for one in FIRST.args["tasks"]]}
    llm_server.script(testkit.Reply(tool_calls=[testkit.Call("tasks", given)]), testkit.Reply(text="I am on it."))
    argv = ["--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any"]
    env = {**os.environ, "NO_COLOR": "1", "OPENAI_API_KEY": "key-of-the-tests"}
    with skillkit_cli.terminal("chat", *argv, cwd=skillkit_cli.home.cwd, env=env) as chat:
        chat.send("repair it\r")
        chat.wait_for("write the test")
        chat.wait_for("I am on it.")
        chat.wait_for("1/3 write the test")
        chat.send("\x04")
        assert chat.wait() == 0
    llm_server.check()
