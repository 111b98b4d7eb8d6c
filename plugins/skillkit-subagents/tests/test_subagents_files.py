"""Agents in files: what is read, which tools and model they get, trust, and the commands that show them."""

import json

import pytest
import skillkit_shell_hooks.plugin
import skillkit_skills.plugin
import skillkit_subagents.plugin
from skillkit_subagents import agent_files
from skillkit_testkit import Call, Reply

from skillkit_core import ToolResultMessage

LOOKER = """\
---
name: looker
description: Looks at things. Use it to look.
tools: [look, mcp__git, Edit, "Bash(git:*)"]
disallowedTools: pay
model: sonnet
maxTurns: 7
memory: user
permissionMode: bypassPermissions
---
You look, and say what you see.
"""

ALL = "---\ndescription: Has all but two.\ndisallowedTools: [pay, Task]\n---\nAll."


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


@pytest.mark.smoke
async def test_an_agent_of_a_file_gets_its_prompt_and_no_tool_that_the_parent_lacks(
    agent_with, script, skillkit_home, own
):
    write(skillkit_home.config_dir / "agents", "looker.md", LOOKER)
    write(
        skillkit_home.config_dir / "agents",
        "all.md",
        "---\ndescription: Has all but two.\ndisallowedTools: [pay, Task]\n---\nAll.",
    )
    told = script(
        main=[
            Reply(tool_calls=[
                Call("spawn_agent", {"task": "looker: look", "agent": "looker"}),
                Call("spawn_agent", {"task": "all: look", "agent": "all", "tools": ["look", "pay", "boom", "write"]}),
            ]),
            Reply(text="heard"),
        ],
        looker=[Reply(tool_calls=[Call("pay"), Call("look")]), Reply(text="seen")],
        all=[Reply(text="all")],
    )  # fmt: skip
    async with agent_with(only_tools=frozenset({"spawn_agent", "look", "pay", "mcp__git__log"})) as agent:
        begun = []
        agent.events.observe(begun.append, ["agent_start"])
        await agent.chat("main: go")
        first = told.requests["main"][0]
        about = next(t for t in first.tools if t.name == "spawn_agent")
        assert "- looker: Looks at things. Use it to look." in about.description
        looker = told.requests["looker"]
        assert looker[0].tool_names == ("look", "mcp__git__log")
        assert looker[0].system.startswith("You look, and say what you see.\n\nYou work for another agent")
        assert looker[1].tool_results[0].text.startswith("There is no tool 'pay'")
        assert own.used == [("looker", "look")]
        assert told.requests["all"][0].tool_names == ("look",)
        texts = [m.text for m in agent.messages if isinstance(m, ToolResultMessage)]
        assert texts[0].startswith("seen\n\n[no such tool here: Edit]") and "boom, write" in texts[1]
        assert looker[0].model == "sonnet"  # asked at the endpoint that was named
        assert {event.limits["turns"] for event in begun if len(event.agent_path) == 2} == {7, 50}


async def test_models_are_chosen_within_what_the_user_allows(agent_with, script, skillkit_home):
    write(skillkit_home.config_dir / "agents", "looker.md", LOOKER.replace("sonnet", "haiku"))
    calls = [{"task": "a: x", "model": "other"}, {"task": "a: x", "model": "big"}, {"task": "a: x", "agent": "looker"}]
    told = script(
        main=[Reply(tool_calls=[Call("spawn_agent", args) for args in calls]), Reply(text="heard")],
        a=[Reply(text="A"), Reply(text="A")],
    )
    settings = {"subagents": {"models": ["big"], "model_aliases": {"haiku": "small"}}}
    async with agent_with(settings=settings) as agent:
        await agent.chat("main: go")
        refused = next(m for m in agent.messages if isinstance(m, ToolResultMessage))
        assert refused.is_error and "the model 'other' may not be chosen; one of big" in refused.text
        assert sorted(r.model for r in told.requests["a"]) == ["big", "small"]


def test_files_are_listed_and_shown_and_those_of_a_project_need_trust(skillkit_cli, skillkit_home):
    write(skillkit_home.cwd / ".claude" / "agents", "looker.md", LOOKER)
    write(skillkit_home.config_dir / "agents", "looker.md", LOOKER)
    write(skillkit_home.config_dir / "agents", "odd.md", "---\nname: Not Good\n---\nx")
    write(skillkit_home.config_dir / "agents", "empty.md", "---\nname: empty\n---\n")
    listed = skillkit_cli("agents", "list", "--json").ok().json
    assert [(a["name"], a["origin"], a["usable"]) for a in listed] == [
        ("empty", "user", False), ("looker", "user", True), ("odd", "user", False),
    ]  # fmt: skip
    plain = skillkit_cli("agents").ok()
    assert "looker  user  sonnet" in plain.stdout and "the folder is" not in plain.stdout
    assert "config trust" in plain.stderr and "it has no system prompt" in plain.stderr
    assert ".claude/agents" in skillkit_cli("config", "trust", "--yes").ok().stdout
    shown = skillkit_cli("agents", "show", "looker", "--json").ok().json
    assert (shown["origin"], shown["tools"], shown["denied"]) == (
        "project:claude", ["look", "mcp__git", "Edit"], ["pay"],
    )  # fmt: skip
    assert shown["prompt"] == "You look, and say what you see."
    assert any("Bash(git:*)" in p for p in shown["problems"]) and "no effect here: memory" in shown["problems"]
    assert any("permissionMode: bypassPermissions has no effect" in p for p in shown["problems"])
    missing = skillkit_cli("agents", "show", "loker")
    assert missing.exit_code == 2 and "looker" in missing.stderr


def test_an_embedded_host_reads_files_once(make_host, skillkit_home):
    host = make_host()
    write(skillkit_home.config_dir / "agents", "looker.md", LOOKER)
    first = agent_files(host)
    write(skillkit_home.config_dir / "agents", "late.md", LOOKER)
    assert agent_files(host) is first


@pytest.mark.parametrize(
    "head",
    [
        'tools: [look\nmodel: {"a" "b"',
        "tools: look\ntools: [look, pay]",
        "description: x\n  tools look",
        "base: &a [look]\ntools: *a",
    ],
)
@pytest.mark.parametrize("closed", ["---\n", ""])
def test_a_file_that_would_lose_the_key_that_restricts_it_defines_no_agent(make_host, skillkit_home, head, closed):
    folder = skillkit_home.config_dir / "agents"
    write(folder, "looker.md", f"---\n{head}\n{closed}Look.")
    write(folder, "quoted.md", "---\ndescription: Looks: only\ntools: look\n---\nLook.")
    looker, quoted = agent_files(make_host())
    if "  tools" in head and closed:  # the next line of the description, in YAML
        assert looker.tools is None and looker.description == "x tools look"
    else:
        assert looker.broken and looker.problems[0].startswith("line ")
    assert not quoted.broken and quoted.tools == ("look",)
    assert quoted.problems == ("line 2: a value needs quotes and was read as text",)


AS_PEOPLE_WRITE = {
    "colon": "description: Use this agent when: tests are asked for. Example: user: \"hi\"\ntools: Read",
    "example": (
        "description: Use it for reviews. Examples:\n\n<example>\nContext: code was written.\n"
        "user: \"please check\"\nassistant: \"I use it\"\n</example>\n\ntools: Read\ncolor: red"
    ),
    "braces": "description: {a}: b\ntools: Read",
    "brackets": "description: [one] of: many # things\ntools: Read",
    "quoted": "description: \"Quoted\" and: more\ntools: Read",
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", AS_PEOPLE_WRITE)
def test_agents_as_people_write_them_are_read_and_keep_what_restricts_them(skillkit_cli, skillkit_home, name):
    folder = skillkit_home.path / ".claude" / "agents"
    write(folder, f"{name}.md", f"---\nname: {name}\n{AS_PEOPLE_WRITE[name]}\n---\nYou work.")
    done = skillkit_cli("agents", "list", "--json")
    (row,) = json.loads(done.stdout)
    assert (row["name"], row["tools"]) == (name, ["Read"]), done.stdout
    assert row["description"].strip()


@pytest.mark.parametrize(
    "head",
    [
        "description: Looks.\ntools:\nRead\nGrep",
        "description: Looks.\ntools Read, Grep",
        "description: Looks.\n\n<x>\n  tools: Read",
        "description: Looks.\ntools: {Read",
        "description: Looks.\ntools: Read\ntools: Bash",
        "description: {a}: b\n<x>\npermissionMode = plan",
    ],
)
def test_an_agent_whose_restriction_may_be_lost_is_refused(make_host, skillkit_home, head):
    write(skillkit_home.config_dir / "agents", "lost.md", f"---\n{head}\n---\nYou work.")
    (agent,) = agent_files(make_host())
    assert agent.broken, agent


@pytest.mark.parametrize("by_person", [False, True])
async def test_a_forked_skill_runs_as_the_agent_that_it_names(agent_with, script, skillkit_home, own, by_person):
    write(skillkit_home.path / ".claude" / "agents", "looker.md", LOOKER.replace("model: sonnet\n", ""))
    write(
        skillkit_home.config_dir / "skills" / "study",
        "SKILL.md",
        "---\nname: study\ndescription: Study.\ncontext: fork\nagent: looker\n---\nstudy: $ARGUMENTS\n",
    )
    calls = [Call("pay"), Call("look")]
    told = script(
        main=[Reply(tool_calls=[Call("activate_skill", {"name": "study", "arguments": "bees"})]), Reply(text="heard")],
        **{"<skill_content": [Reply(tool_calls=calls), Reply(text="seen")]},
    )
    async with agent_with(("skills", skillkit_skills.plugin)) as agent:
        answer = await agent.chat("/study bees" if by_person else "main: go")
    assert answer.content == ("seen" if by_person else "heard")
    (role,) = [role for role in told.requests if role != "main"]
    request = told.requests[role][0]
    assert "You look, and say what you see." in request.system
    assert set(request.tool_names) == {"look", "mcp__git__log"}
    assert [who for who in own.used if who[1] == "pay"] == []


def test_an_agent_that_no_file_defines_is_named(make_host, skillkit_home):
    folder = skillkit_home.config_dir / "skills" / "study"
    write(folder, "SKILL.md", "---\nname: study\ndescription: S.\ncontext: fork\nagent: Explore\n---\nStudy.\n")
    host = make_host(("skills", skillkit_skills.plugin), ("subagents", skillkit_subagents.plugin))
    (problem,) = skillkit_skills.overrides_of(host, host.skills.get("study")).problems
    assert problem.startswith("agent 'Explore' is defined nowhere")


GUARDED = """\
---
name: guarded
description: Is guarded.
hooks:
  PreToolUse:
    - hooks: [{type: command, command: "echo not here >&2; exit 2"}]
---
You look.
"""


@pytest.mark.parametrize("runs", [True, False])
async def test_hooks_of_a_file_guard_its_agent_alone_or_it_does_not_begin(agent_with, script, skillkit_home, own, runs):
    write(skillkit_home.config_dir / "agents", "guarded.md", GUARDED)
    script(
        go=[
            Reply(tool_calls=[Call("look", {})]),
            Reply(tool_calls=[Call("spawn_agent", {"agent": "guarded", "task": "sub"})]),
            Reply(text="done"),
        ],
        sub=[Reply(tool_calls=[Call("look", {})]), Reply(text="looked")],
    )
    plugins = [("shell-hooks", skillkit_shell_hooks.plugin)] if runs else []
    async with agent_with(*plugins) as agent:
        await agent.chat("go")
        told = [m.text for m in agent.messages if isinstance(m, ToolResultMessage)]
    assert told[0] == "look done" and len(own.used) == 1, "the agent that asks is not guarded by it"
    assert ("looked" if runs else "skillkit-shell-hooks") in told[1]
