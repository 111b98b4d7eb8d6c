"""Permissions with the plugins that people have: the bash tool, skills, the command line, a person at a terminal."""

import os

import pytest
from skillkit_testkit.turns import Call, Reply


@pytest.fixture
def ask(workspace, skillkit_cli, llm_server):
    """``ask("ls", "--permit", ...)`` lets a model run shell lines and gives what it was told of each."""

    def run(*lines, options=(), env=None):
        lines = [line if isinstance(line, Call) else Call("bash", {"command": line}) for line in lines]
        llm_server.script(*(Reply(tool_calls=[line]) for line in lines), Reply(text="done"))
        command = ["run", *WIRE(llm_server), *options, "go on"]
        skillkit_cli(*command, env={"OPENAI_API_KEY": "sk-x", **(env or {})}).ok()
        return [result.text for result in llm_server.requests[-1].tool_results]

    return run


def WIRE(server):
    return ["--provider", "openai", "--api", "openai-chat", "--base-url", f"{server.url}/v1", "--model", "loop"]


def test_a_rule_of_the_command_line_allows_what_it_covers_and_nothing_else(ask, workspace):
    told = ask(
        "git status --short && git log --oneline",
        "git log > out.txt",
        "git log; rm README.md",
        "git -c core.pager='rm README.md' log",
        options=["--permit", "Bash(git:*)"],
    )
    assert "Start the project" in told[0]
    assert told[1].startswith("Denied: nobody can be asked") and "Edit(/out.txt)" in told[1]
    assert "Bash(rm README.md)" in told[2] and "git: -c in front of the subcommand" in told[3]
    assert (workspace / "README.md").exists() and not (workspace / "out.txt").exists()


def test_read_only_refuses_what_changes_whatever_is_allowed(ask, workspace):
    told = ask("cat README.md", "rm README.md", options=["--permit", "Bash", "--permission-mode", "read-only"])
    assert "# Title" in told[0] and told[1].startswith("Blocked: permissions: the mode is read-only")


def test_the_users_deny_holds_in_bypass(ask, workspace, skillkit_home):
    skillkit_home.write_config("permissions: {deny: ['Bash(rm:*)']}\n")
    told = ask("touch made", "sh -c '/bin/rm made'", options=["--permit", "Bash", "--permission-mode", "bypass"])
    assert (workspace / "made").exists() and told[1].startswith("Blocked: permissions: a rule forbids it: Bash(rm:*)")


def test_an_unknown_mode_is_said(skillkit_cli, workspace):
    result = skillkit_cli("run", "--permission-mode", "yolo", "what is 15% of 80")
    assert result.exit_code == 2 and "permissions.mode" in result.stderr and "'bypass'" in result.stderr


def test_a_file_that_may_not_be_read_is_kept_from_actions_and_git(ask, workspace, skillkit_cli, skillkit_home):
    (workspace / ".env").write_text("SECRET=1\n")
    skillkit_home.write_config("permissions: {deny: ['Read(.env)']}\nskills: {expose_actions: always}\n")
    told = ask(
        Call("text-stats__occurrences", {"file": ".env", "word": "SECRET"}),
        Call("csv-stats__rows", {"file": "./.env"}),
        Call("text-stats__stats", {"file": "README.md"}),
        Call("disk-usage__usage", {}),
        "git grep --no-index SECRET",
        options=["--permit", "Bash(git:*)"],
    )
    assert all(text.startswith("Blocked: permissions: a rule forbids") for text in told[:2])
    assert '"words"' in told[2] and not any("SECRET=1" in text for text in told)
    assert all("a rule forbids something below .: Read(.env)" in text for text in told[3:])
    # the stand-in for a model has the same guard
    alone = skillkit_cli("run", 'how often does "SECRET" occur in .env')
    assert "a rule forbids .env: Read(.env)" in alone.stdout + alone.stderr and "SECRET=1" not in alone.stdout
    # a check says what these calls got
    for call, decision in (
        (("text-stats__stats", '{"file": ".env"}'), "deny"), (("text-stats__stats", "README.md"), "allow"),
        (("disk-usage__usage", "{}"), "ask"), (("Bash", "git grep --no-index SECRET"), "ask"),
    ):  # fmt: skip
        assert skillkit_cli("permissions", "check", *call, "--json").ok().json["decision"] == decision
    few = {"SKILLKIT_SKILLS__EXPOSE_ACTIONS": "activated"}
    found = skillkit_cli("permissions", "check", "text-stats__stats", ".env", env=few).ok().stdout
    assert found.startswith("deny: a rule forbids .env: Read(.env)")
    unknown = skillkit_cli("permissions", "check", "bsh", "ls")
    assert unknown.exit_code == 2 and unknown.stderr == "Error: unknown tool 'bsh'; did you mean 'bash'?\n"


SKILL = """---
name: tidy
description: Tidies up. Use when somebody wants to tidy up.
allowed-tools: Bash(wc:*) Bash(${CLAUDE_SKILL_DIR}/count.sh:*)
disallowed-tools: Bash(rm:*)
---

Count, and remove nothing.
"""


ACTIONS = """metadata:
  skillkit:
    actions:
      - {name: show, description: Shows, run: [cat, "{file}"], confirm: always, args: {file: {type: file, default: .env}}}
"""


def test_check_says_that_an_action_asks_itself_and_reads_its_default(skillkit_cli, skillkit_home, workspace, tmp_path):
    skill = tmp_path / "my skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL.replace("allowed-tools", f"{ACTIONS}allowed-tools", 1))
    skillkit_home.write_config(f"skills: {{dirs: ['{skill.parent}']}}\npermissions: {{deny: ['Read(.env)']}}\n")
    said = skillkit_cli("permissions", "check", "tidy__show", "README.md").ok().stdout
    assert said == "ask: skills: Run action show of skill tidy?\n"
    assert skillkit_cli("permissions", "check", "tidy__show", "{}", "--json").ok().json["rule"] == "Read(.env)"


def test_an_active_skill_approves_its_tools_and_forbids_others(ask, workspace, tmp_path):
    skill = tmp_path / "my skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "count.sh").write_text("#!/bin/sh\necho counted\n")
    (skill / "count.sh").chmod(0o755)
    lines = ["wc -l *.md", f"'{skill}/count.sh' now", "rm README.md"]
    env = {"SKILLKIT_TOOLS__ALLOW": "bash"}
    without = ask(*lines, env=env)
    assert all(text.startswith("Denied") for text in without)
    options = ["--skills-dir", str(skill.parent), "--skill", "tidy"]
    told = ask(*lines, options=options, env=env)
    assert "README.md" in told[0] and told[1] == "counted" and told[2].startswith("Blocked")


def test_the_files_of_an_active_skill_can_be_read_and_nothing_beside_them(ask, workspace, tmp_path):
    skill = tmp_path / "my [own] skills" / "tidy"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "references" / "style.md").write_text("Be short.\n")
    (skill.parent / "secret.txt").write_text("SECRET\n")
    (skill / "out").symlink_to(skill.parent / "secret.txt")
    linked = tmp_path / "linked"
    linked.symlink_to(skill.parent)
    calls = [
        Call("read", {"path": f"{skill}/references/style.md"}),
        Call("bash", {"command": f"cat '{skill}/references/style.md'"}),
        Call("read", {"path": f"{skill}/../secret.txt"}),
        Call("read", {"path": f"{skill}/out"}),
        Call("edit", {"path": f"{skill}/references/style.md", "old": "short", "new": "long"}),
    ]
    permit = ["--permit", "Bash(cat:*)"]
    without = ask(*calls, options=permit)
    assert not any(word in text for text in without for word in ("Be short", "SECRET\n"))
    active = ["--skills-dir", str(skill.parent), "--skill", "tidy", *permit]
    told = ask(*calls, options=active)
    assert all("Be short" in text for text in told[:2]) and not any("SECRET\n" in text for text in told[2:])
    assert (skill / "references" / "style.md").read_text() == "Be short.\n"
    # opened by the model itself, which is told the folder that a link leads to
    opened = Call("activate_skill", {"name": "tidy"}), Call("read", {"path": f"{skill}/references/style.md"})
    assert "Be short" in ask(*opened, options=["--skills-dir", str(linked)])[1]


def test_a_person_is_asked_at_the_terminal_and_always_holds_until_it_is_revoked(workspace, skillkit_cli, llm_server):
    calls = [Call("bash", {"command": line}) for line in ("git branch -v", "git branch -vv", "git stash list")]
    env = {"OPENAI_API_KEY": "sk-x", "SKILLKIT_TOOLS__ALLOW": "bash"}
    llm_server.script(*(Reply(tool_calls=[call]) for call in calls), Reply(text="done"))
    with skillkit_cli.terminal("run", *WIRE(llm_server), "go on", cwd=workspace, env=env) as terminal:
        terminal.wait_for("no rule allows git. What would allow it: Bash(git branch:*)")
        terminal.wait_for("[a]lways")
        terminal.send("a\r")
        terminal.wait_for(
            "Always allow Bash(git branch:*), for 30 days, where? [s]ession, [p]roject, [e]verywhere, [B]ack: "
        )
        terminal.send("s\r")
        # the second git branch is not asked about
        terminal.wait_for("What would allow it: Bash(git stash:*)")
        terminal.wait_for("[a]lways")
        terminal.send("a\r")
        terminal.wait_for("[B]ack")
        terminal.send("\r")
        terminal.wait_for("[a]lways")
        terminal.send("n\r")
        assert terminal.wait() == 0
    told = [result.text for result in llm_server.requests[-1].tool_results]
    assert "Start the project" in told[1] and told[2].startswith("Denied: a person said no")
    (answer,) = skillkit_cli("permissions", "list", "--json").ok().json["remembered"]
    assert answer["rule"] == "Bash(git branch:*)" and answer["scope"] == "session"
    session = answer["where"]
    again = ["run", *WIRE(llm_server), "--session", session, "go on"]
    for expected in ("Start the project", "Denied"):
        llm_server.script(Reply(tool_calls=[calls[0]]), Reply(text="done"))
        skillkit_cli(*again, env={"OPENAI_API_KEY": "sk-x", "SKILLKIT_TOOLS__ALLOW": "bash"}).ok()
        assert expected in llm_server.requests[-1].tool_results[-1].text
        skillkit_cli("permissions", "revoke", "--all").ok()


def test_a_client_says_how_long_an_answer_holds(workspace, skillkit_cli, llm_server):
    import asyncio

    from skillkit_chat.client import RpcClient
    from skillkit_chat.rpc.protocol import ApproveResult

    asked = []

    async def approve(call):
        asked.append((call.rememberable, call.questions[0].rule))
        return ApproveResult(decision="allow", remember="project")

    async def main():
        env = {**os.environ, "OPENAI_API_KEY": "sk-x", "SKILLKIT_TOOLS__ALLOW": "bash"}
        argv = [*skillkit_cli.program, "rpc"]
        async with RpcClient(WIRE(llm_server), argv=argv, cwd=workspace, env=env, on_approve=approve) as client:
            await client.prompt("go on")

    calls = [Call("bash", {"command": line}) for line in ("git branch -v", "git branch -vv")]
    llm_server.script(*(Reply(tool_calls=[call]) for call in calls), Reply(text="done"))
    asyncio.run(main())
    assert asked == [(True, "Bash(git branch:*), for 30 days")]
    (answer,) = skillkit_cli("permissions", "list", "--json").ok().json["remembered"]
    assert (answer["rule"], answer["scope"]) == ("Bash(git branch:*)", "project")


def test_slash_permissions_shows_and_chooses(workspace):
    import asyncio

    from skillkit_commands import Indicators, SlashCommands

    from skillkit_core import AgentRunner, Host

    async def main():
        async with AgentRunner(host=Host(settings={"permissions.deny": ["rocket"]})) as agent:
            indicators = Indicators(agent)
            assert indicators.read()["mode"] == "", "nothing is said yet"
            await agent.open()
            commands = SlashCommands(agent)

            async def typed(line):
                return await commands.run(commands.match(line))

            shown = await typed("/permissions")
            assert shown.splitlines()[:2] == ["Mode: ask", "deny rocket (flag for permissions.deny)"]
            assert await typed("/permissions mode read-only") == "Mode: read-only, for this session."
            assert (await typed("/permissions")).startswith("Mode: read-only")
            assert [await typed("/mode") for _ in range(2)] == [
                "Mode: ask, for this session.",
                "Mode: accept-edits, for this session.",
            ]
            assert indicators.read()["mode"] == "accept-edits"
            assert "/permissions mode bypass" in [c.text for c in commands.complete("/permissions mode")]
        await agent.host.aclose()

    asyncio.run(main())


def test_a_call_that_waits_is_decided_at_the_configured_endpoint(skillkit_cli, workspace, skillkit_home, llm_server):
    skillkit_home.write_config(f"base_url: {llm_server.url}/v1\nmodel: loop\npermissions: {{ask: ['Bash(touch:*)']}}\n")
    llm_server.script(Reply(tool_calls=[Call("bash", {"command": "touch made"})]), Reply(text="It is made."))
    waiting = skillkit_cli("run", "--approvals", "defer", "--json", "make it").json
    assert waiting["outcome"] == "suspended" and not (workspace / "made").exists()
    done = skillkit_cli("sessions", "resume", waiting["session"], "--allow", "all").ok()
    assert done.stdout.strip() == "It is made." and (workspace / "made").exists()
