"""A secret that is given for one command: in its environment, in nothing that is shown or kept, and gone with it."""

from __future__ import annotations

import asyncio

import pytest
import skillkit_bash.plugin
from skillkit_bash import BashRuntime
from skillkit_process import Mask

from skillkit_core import AgentConfig, AgentRunner, ToolResultMessage
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

TOKEN = "tok-5up3r-s3cr3t"
SHOW = "echo ${#DEPLOY_TOKEN}; echo $DEPLOY_TOKEN; echo $DEPLOY_TOKEN >&2"
SHOWN = "16\n***\n[stderr]\n***"


@pytest.fixture
def talk(make_host):
    """What commands came to, what one agent kept and told of them, and its host."""

    def run(*calls, user=None, **options):
        settings = {"tools.allow": ["bash"], **options.pop("settings", {})}
        host = make_host(("bash", skillkit_bash.plugin), settings=settings, **options)
        told = []

        async def conversation():
            script = [*(Reply(calls=[Call("bash", call)]) for call in calls), "done"]
            async with AgentRunner(AgentConfig(model="scripted", ui=user), host=host) as agent:
                agent.set_adapter(ScriptedModel(script))
                agent.events.observe(lambda event, ctx: told.append(repr(event)))
                await agent.chat("please")
                told.extend(repr(entry) for entry in agent.session.entries)
                return [m for m in agent.session.messages if isinstance(m, ToolResultMessage)]

        return asyncio.run(conversation()), "\n".join(told), host

    return run


def test_a_person_gives_a_secret_for_one_command(talk):
    user = ScriptedUser({"DEPLOY_TOKEN": TOKEN})
    results, told, _ = talk({"command": SHOW, "secrets": ["DEPLOY_TOKEN"]}, {"command": SHOW}, user=user)
    assert [r.text for r in results] == [SHOWN, "0"]
    assert TOKEN not in told and "ToolExecutionUpdateEvent" in told
    (survey,) = user.surveys
    assert (survey.title, survey.text) == ("A secret for one command", SHOW)
    assert [(q.id, q.kind) for q in survey.questions] == [("DEPLOY_TOKEN", "secret")]


def test_a_secret_that_the_user_allowed_needs_no_question(talk, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    call = {"command": SHOW, "secrets": ["DEPLOY_TOKEN"]}
    results, told, _ = talk(call, {"command": SHOW}, settings={"bash.secrets": ["DEPLOY_TOKEN"]})
    assert [r.text for r in results] == [SHOWN, "0"] and TOKEN not in told


@pytest.mark.parametrize("given", ["nobody", "declined"])
def test_a_variable_that_nobody_allowed_is_not_handed_out(talk, monkeypatch, given):
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    user = ScriptedUser(None) if given == "declined" else None
    (result,), told, _ = talk({"command": SHOW, "secrets": ["DEPLOY_TOKEN"]}, user=user)
    who = "the user did not give" if user else "nobody can be asked for"
    assert result.text == (
        f"{who} DEPLOY_TOKEN; the user can set the variable and allow it: 'secrets: [DEPLOY_TOKEN]' in the section bash"
    )
    assert result.is_error and TOKEN not in told


def test_a_project_allows_no_secret(talk, skillkit_home, skillkit_cli, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    folder = skillkit_home.cwd / ".skillkit"
    folder.mkdir()
    (folder / "config.yaml").write_text("bash: {secrets: [DEPLOY_TOKEN], timeout: 77}\n")
    skillkit_cli("config", "trust", ".", "--yes").ok()
    (result,), _, host = talk({"command": SHOW, "secrets": ["DEPLOY_TOKEN"]})
    assert host.config.section("bash").timeout == 77, "the project is trusted"
    assert result.text.startswith("nobody can be asked for DEPLOY_TOKEN")


def test_the_file_with_the_whole_output_holds_no_secret_either(make_host, go):
    host = make_host()
    host.remember_secret(TOKEN)
    command = "for i in 1 2 3 4 5; do yes x | head -c 60000; printf '%s' \"$T\"; done"
    result = go(BashRuntime(host).execute(command, env={"T": TOKEN, "PATH": "/usr/bin:/bin"}, max_output=1000))
    kept = result.stdout_path.read_bytes()
    assert TOKEN.encode() not in kept and kept.count(b"***") == 5 and len(kept) == result.stdout_bytes


@pytest.mark.parametrize("size", range(1, 20))
def test_a_secret_is_found_wherever_chunks_end(size):
    text, mask = (
        b"a tok tok-5up3r-s3cr3ttok-5up3r-s3cr3t tok-5up3r-s3cr3 end tok-5up3r",
        Mask([TOKEN, "tok-5up3r-s3cr3t-longer"]),
    )
    shown = b"".join(mask(text[at : at + size]) for at in range(0, len(text), size)) + mask.rest()
    assert shown == b"a tok ****** tok-5up3r-s3cr3 end tok-5up3r"


def test_what_only_looks_like_the_beginning_of_a_secret_arrives(make_host, go):
    host = make_host()
    host.remember_secret(TOKEN)
    heard = []
    env = {"T": TOKEN, "PATH": "/usr/bin:/bin"}
    result = go(BashRuntime(host).execute("printf 'a tok-5up'", env=env, on_output=heard.append))
    assert result.stdout == "".join(heard) == "a tok-5up"
