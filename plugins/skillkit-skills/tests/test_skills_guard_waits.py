"""The guard of skills waits until there is something to guard, and not a call longer."""

import asyncio

from skillkit_skills import plugin

from skillkit_core import AgentConfig, AgentRunner, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

STRICT = "---\nname: strict\ndescription: Be quiet.\ndisallowed-tools: shout\n---\nBe quiet.\n"


async def shout(args, ctx):
    return "HELLO"


def outcomes(make_host, home, *answers, **config):
    """What the calls of each answer end with, and whether the guard waits in the end."""
    folder = home.config_dir / "skills" / "strict"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(STRICT)

    async def work():
        tools = (Tool("shout", "Shout.", shout, {"type": "object"}),)
        async with AgentRunner(AgentConfig(tools=tools, **config), host=make_host(("skills", plugin))) as agent:
            agent.set_adapter(ScriptedModel([*(Reply(calls=calls) for calls in answers), "done"]))
            await agent.chat("go")
            ended = [str(message.outcome) for message in agent.messages if message.role == "tool_result"]
            return ended, not agent.events.has("before_tool_call")

    return asyncio.run(work())


SHOUT, ACTIVATE = Call("shout", {}), Call("activate_skill", {"name": "strict"})


def test_without_a_skill_in_play_no_call_is_looked_at(make_host, skillkit_home):
    assert outcomes(make_host, skillkit_home, [SHOUT]) == (["ok"], True)


def test_it_guards_from_the_call_behind_the_activation(make_host, skillkit_home):
    found = outcomes(make_host, skillkit_home, [SHOUT, ACTIVATE, SHOUT], [SHOUT], parallel_tools=False)
    assert found == (["ok", "ok", "blocked", "blocked"], False)


def test_it_guards_a_skill_that_is_active_from_the_start(make_host, skillkit_home):
    for bare in (False, True):
        assert outcomes(make_host, skillkit_home, [SHOUT], skills=("strict",), bare=bare) == (["blocked"], False)


def test_where_a_skill_that_should_be_active_is_not_there_no_call_runs(make_host, skillkit_home):
    assert outcomes(make_host, skillkit_home, [SHOUT], skills=("missing",)) == (["blocked"], False)
