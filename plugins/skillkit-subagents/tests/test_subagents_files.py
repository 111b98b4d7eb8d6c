"""Agents in files: what is read, which tools and model they get, trust, and the commands that show them."""

import pytest
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
hooks: {}
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
    assert any("Bash(git:*)" in p for p in shown["problems"]) and "no effect here: hooks" in shown["problems"]
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
