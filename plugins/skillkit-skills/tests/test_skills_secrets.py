"""A secret argument that nothing holds: a person or a program gives it for one call."""

from __future__ import annotations

import asyncio
import json

import pytest
import skillkit_bash.plugin
import skillkit_skills.plugin
from skillkit_skills import run_action

from skillkit_core import AgentConfig, AgentRunner, ToolResultMessage
from skillkit_core.errors import ToolError
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

TOKEN = "tok-5up3r-s3cr3t"
ACTION = {
    "name": "go",
    "run": ["sh", "-c", 'echo "${#API_TOKEN} $API_TOKEN"'],
    "args": {"api_token": {"secret": True, "required": True}},
    "confirm": "never",
}


@pytest.fixture
def host(make_host):
    host = make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin))
    folder = host.config_dir / "skills" / "s"
    folder.mkdir(parents=True)
    block = json.dumps({"actions": [ACTION]})
    (folder / "SKILL.md").write_text(f"---\nname: s\ndescription: Use it.\nmetadata: {{skillkit: {block}}}\n---\nGo.\n")
    return host


def talk(host, user=None):
    async def conversation():
        async with AgentRunner(AgentConfig(model="scripted", ui=user), host=host) as agent:
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("s__go")]), Reply(calls=[Call("s__go")]), "done"]))
            await agent.chat("please")
            return [m for m in agent.session.messages if isinstance(m, ToolResultMessage)], repr(agent.session.entries)

    return asyncio.run(conversation())


def test_a_person_gives_it_for_each_call(host):
    user = ScriptedUser({"API_TOKEN": TOKEN}, None)
    (first, second), kept = talk(host, user)
    assert first.text == "16 ***" and TOKEN not in kept
    assert second.is_error and second.text == (
        "action 'go' needs API_TOKEN: set the variable, or 'skills.entries.s.env'"
    )
    assert [s.title for s in user.surveys] == ["A secret for action go of skill s"] * 2


def test_without_a_person_the_call_says_what_is_missing(host):
    (first, _), _ = talk(host)
    assert first.is_error and "needs API_TOKEN" in first.text


def test_a_variable_is_taken_without_a_question(host, monkeypatch):
    monkeypatch.setenv("API_TOKEN", TOKEN)
    (first, second), kept = talk(host)
    assert first.text == second.text == "16 ***" and TOKEN not in kept


def test_a_program_gives_it_for_one_call(host):
    skill = host.skills.get("s")

    async def calls():
        result = await run_action(host, skill, skill.actions[0], {}, secrets={"API_TOKEN": TOKEN})
        assert result.text == "16 ***\n" and host.redact(f"it was {TOKEN}") == "it was ***"
        with pytest.raises(ToolError, match="needs API_TOKEN"):
            await run_action(host, skill, skill.actions[0], {})

    asyncio.run(calls())


def test_a_direct_call_takes_the_variable_and_says_what_is_missing(skillkit_cli, skillkit_home):
    pytest.importorskip("skillkit_chat", reason="the plugin chat, which has the command run, is not installed")
    folder = skillkit_home.config_dir / "skills" / "s"
    folder.mkdir(parents=True)
    block = json.dumps({"actions": [ACTION]})
    (folder / "SKILL.md").write_text(f"---\nname: s\ndescription: Use it.\nmetadata: {{skillkit: {block}}}\n---\nGo.\n")
    said = skillkit_cli("run", "--skill", "s", "go")
    assert said.exit_code == 1 and "needs API_TOKEN: set the variable" in said.stdout + said.stderr
    assert "--api-token" not in said.stdout + said.stderr
    given = skillkit_cli("run", "--skill", "s", "go", env={"API_TOKEN": TOKEN}).ok()
    assert "16 ***" in given.stdout and TOKEN not in given.stdout
