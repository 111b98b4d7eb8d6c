"""Slash commands through the Python API: an agent, its host, plugins that bring commands."""

import time

import pytest
import skillkit_commands.plugin
from skillkit_commands import Prompt, SlashCommand, SlashCommands, SlashCommandSet

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    PluginError,
    Session,
    TextBlock,
    UnknownName,
    UsageError,
    UserMessage,
    hookimpl,
)  # fmt: skip
from skillkit_core.testing import Reply, ScriptedModel, ScriptedUser


async def shout(agent, arguments, ui):
    return arguments.upper()


class Shouter:
    @hookimpl(optionalhook=True)
    def register_slash_commands(self, register):
        register(SlashCommand("shout", "Say it loud.", shout, "TEXT", lambda agent, typed: [f"{typed}!", f"{typed}!!"]))


def plugin(*items):
    class Some:
        @hookimpl(optionalhook=True)
        def register_slash_commands(self, register):
            for item in items:
                register(item)

    return Some()


@pytest.fixture
def agent_with(make_host):
    def make(*plugins, config=None, replies=()):
        host = make_host(("commands", skillkit_commands.plugin), *plugins)
        agent = AgentRunner(config or AgentConfig(), host=host, session="new")
        agent.set_adapter(ScriptedModel(list(replies)))
        return agent

    return make


async def said(agent, line, ui=None):
    commands = SlashCommands(agent)
    return await commands.run(commands.match(line), ui)


@pytest.mark.smoke
async def test_a_command_of_a_plugin_is_listed_completed_and_run(agent_with):
    async with agent_with(("shouter", Shouter())) as agent:
        commands = SlashCommands(agent)
        assert {"shout", "model", "compact", "tree"} <= {c.name for c in commands.all()}
        assert [(c.text, c.help) for c in commands.complete("/sh")] == [("/shout ", "Say it loud.")]
        assert [c.text for c in commands.complete("/shout hey")] == ["/shout hey!", "/shout hey!!"]
        assert await commands.run(commands.match("/shout hello\nthere")) == "HELLO\nTHERE"
        assert next(c for c in commands.all() if c.name == "shout").origin == "shouter"


@pytest.mark.parametrize("line", ["hello", "/etc/hosts is wrong", "/ nothing", "/", "//", "/Users", "look: /model"])
async def test_text_that_does_not_look_like_a_command_is_none(agent_with, line):
    async with agent_with() as agent:
        assert SlashCommands(agent).match(line) is None


async def test_an_unknown_command_is_said_with_close_names(agent_with):
    async with agent_with() as agent:
        with pytest.raises(UnknownName, match="modle") as caught:
            SlashCommands(agent).match("/modle x")
        assert "'model'" in str(caught.value.hint)


async def test_arguments_of_a_command_that_takes_none_are_refused(agent_with):
    async with agent_with() as agent:
        with pytest.raises(UsageError, match="/compact takes no arguments"):
            SlashCommands(agent).match("/compact now")


async def test_a_set_cannot_take_the_name_of_a_registered_command(agent_with):
    theirs = SlashCommandSet("files", lambda agent: [SlashCommand("model", "Mine.", shout, origin="project")])
    async with agent_with(("thief", plugin(theirs))) as agent:
        names = {c.name: c.help for c in SlashCommands(agent).all()}
        assert names["model"] == "Show or choose the model."
        assert names["model@project"] == "Mine."


async def test_two_plugins_with_one_name_are_both_reached_by_their_origin(agent_with):
    command = SlashCommand("go", "Go.", shout, "TEXT")
    async with agent_with(("a", plugin(command)), ("b", plugin(command))) as agent:
        assert {"go@a", "go@b"} <= {c.name for c in SlashCommands(agent).all()}
        assert await said(agent, "/go@b x") == "X"
        with pytest.raises(UnknownName):
            await said(agent, "/go x")


async def test_a_set_that_fails_leaves_the_others_and_is_reported(agent_with):
    def broken(agent):
        raise RuntimeError("no server")

    async with agent_with(("bad", plugin(SlashCommandSet("prompts", broken))), ("shouter", Shouter())) as agent:
        assert await said(agent, "/shout x") == "X"
        assert "no server" in str([p.message for p in agent.host.problems if p.plugin == "bad"])


async def test_a_handler_that_raises_is_one_error_that_names_it(agent_with):
    async def fails(agent, arguments, ui):
        raise KeyError("city")

    async def wrong(agent, arguments, ui):
        return 5

    bad = plugin(SlashCommand("fails", "Fail.", fails), SlashCommand("wrong", "Return a number.", wrong))
    async with agent_with(("bad", bad)) as agent:
        with pytest.raises(PluginError, match=r"/fails \(bad\) failed: KeyError: 'city'"):
            await said(agent, "/fails")
        with pytest.raises(PluginError, match=r"/wrong \(bad\) returned a int"):
            await said(agent, "/wrong")


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"name": "Shout"}, "must match"), ({"help": "two\nlines"}, "one line"), ({"handler": "nothing"}, "handler")],
)
def test_a_command_that_nobody_can_use_is_refused_where_it_is_made(change, problem):
    with pytest.raises(UsageError, match=problem):
        SlashCommand(**{"name": "shout", "help": "Say it loud.", "handler": shout, **change})


async def test_the_model_is_shown_chosen_and_asked_for(agent_with):
    async with agent_with() as agent:
        assert await said(agent, "/model acme/one") == "Model: acme/one, from the next request on."
        assert agent.config.model == "acme/one"
        assert await said(agent, "/model") == "Model: acme/one"


async def test_going_back_in_the_tree_keeps_what_followed_as_a_branch(agent_with):
    async with agent_with(replies=["one", "two", "three"]) as agent:
        await agent.chat("first")
        await agent.chat("second")
        entry = next(e.id for e in agent.session.entries if "second" in str(dict(e.data)))
        person = ScriptedUser({"choice": entry})
        assert (await said(agent, "/tree", person)) == f"Now before {entry}. What followed is kept as a branch."
        assert [m.text for m in agent.messages] == ["first", "one"]
        await agent.chat("other")
        assert [m.text for m in agent.messages] == ["first", "one", "other", "three"]
        assert "second" in str([dict(e.data) for e in agent.session.entries])
        with pytest.raises(UsageError, match="nobody can be asked"):
            await said(agent, "/tree")


async def test_sessions_are_forked_begun_and_resumed(agent_with):
    async with agent_with(replies=["one", Reply("two")]) as agent:
        await agent.chat("first")
        old = agent.session_id
        assert (await said(agent, "/fork")).endswith(f"a copy of {old}.")
        assert [m.text for m in agent.messages] == ["first", "one"]
        await said(agent, "/new")
        assert not agent.messages
        assert await said(agent, f"/resume {old}") == f"Now in {old} with 2 messages."
        assert "2 messages" in await said(agent, "/session")


async def test_a_session_of_another_folder_stands_apart_and_is_asked_about(agent_with, tmp_path):
    async with agent_with(replies=["one"]) as agent:
        await agent.chat("first")
        store, asked = agent.host.session_store(), []
        far = await Session.create(store, time.time, cwd=str(tmp_path / "far"))
        await far.append_message(UserMessage(content=(TextBlock("paint the wall"),)))
        await far.append("session_info", {"title": "paint"})
        await far.close()

        class Person(ScriptedUser):
            async def ask(self, survey):
                asked.append(
                    " ".join(
                        [survey.text, *(f"{o.label} {o.description}" for q in survey.questions for o in q.options)]
                    )
                )
                return await super().ask(survey)

        before = agent.session_id
        assert await said(agent, "/resume", Person({"choice": far.id}, {"here": False})) is None
        assert f"paint in {tmp_path}/far" in asked[0] and f"is of {tmp_path}/far. Go on with it in" in asked[1]
        assert await said(agent, f"/resume {far.id}", Person({"here": False})) is None
        assert agent.session_id == before
        assert f"Now in {far.id}" in await said(agent, f"/resume {far.id}", Person({"here": True}))
        assert f"Now in {before}" in await said(agent, "/resume", Person({"choice": before}))


async def test_without_a_compactor_compacting_says_what_is_missing(agent_with):
    async with agent_with(replies=["one"]) as agent:
        await agent.chat("first")
        with pytest.raises(UsageError, match="no compactor"):
            await said(agent, "/compact")


async def test_a_prompt_is_handed_back_for_the_front_end_to_ask(agent_with):
    async def ask(agent, arguments, ui):
        return Prompt(f"Explain {arguments}.")

    async with agent_with(("x", plugin(SlashCommand("explain", "Explain.", ask, "WHAT")))) as agent:
        assert await said(agent, "/explain it") == Prompt("Explain it.")
