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


SKILL = """---
name: tidy
description: Tidies up. Use when somebody wants to tidy up.
allowed-tools: Bash(wc:*) Bash(${CLAUDE_SKILL_DIR}/count.sh:*)
disallowed-tools: Bash(rm:*)
---

Count, and remove nothing.
"""


def test_an_active_skill_approves_its_tools_and_forbids_others(ask, workspace, tmp_path):
    skill = tmp_path / "my skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "count.sh").write_text("#!/bin/sh\necho counted\n")
    (skill / "count.sh").chmod(0o755)
    lines = ["wc -l README.md", f"'{skill}/count.sh' now", "rm README.md"]
    env = {"SKILLKIT_TOOLS__ALLOW": "bash"}
    without = ask(*lines, env=env)
    assert all(text.startswith("Denied") for text in without)
    options = ["--skills-dir", str(skill.parent), "--skill", "tidy"]
    told = ask(*lines, options=options, env=env)
    assert "README.md" in told[0] and told[1] == "counted" and told[2].startswith("Blocked")


def test_a_person_is_asked_at_the_terminal_and_always_holds_until_it_is_revoked(workspace, skillkit_cli, llm_server):
    from skillkit_testkit import Terminal

    calls = [Call("bash", {"command": line}) for line in ("git log --oneline", "git log -1", "git status")]
    env = {**os.environ, "OPENAI_API_KEY": "sk-x", "SKILLKIT_TOOLS__ALLOW": "bash"}
    llm_server.script(*(Reply(tool_calls=[call]) for call in calls), Reply(text="done"))
    argv = [*skillkit_cli.argv, "run", *WIRE(llm_server), "go on"]
    with Terminal(argv, cwd=workspace, env=env) as terminal:
        terminal.wait_for("no rule allows git. What would allow it: Bash(git log:*)")
        terminal.wait_for("[a]lways")
        terminal.send("a\r")
        terminal.wait_for(
            "Always allow Bash(git log:*), for 30 days, where? [s]ession, [p]roject, [e]verywhere, [B]ack: "
        )
        terminal.send("s\r")
        # the second git log is not asked about
        terminal.wait_for("What would allow it: Bash(git status:*)")
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
    assert answer["rule"] == "Bash(git log:*)" and answer["scope"] == "session"
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
        argv = [*skillkit_cli.argv, "rpc"]
        async with RpcClient(WIRE(llm_server), argv=argv, cwd=workspace, env=env, on_approve=approve) as client:
            await client.prompt("go on")

    calls = [Call("bash", {"command": line}) for line in ("git log --oneline", "git log -1")]
    llm_server.script(*(Reply(tool_calls=[call]) for call in calls), Reply(text="done"))
    asyncio.run(main())
    assert asked == [(True, "Bash(git log:*), for 30 days")]
    (answer,) = skillkit_cli("permissions", "list", "--json").ok().json["remembered"]
    assert (answer["rule"], answer["scope"]) == ("Bash(git log:*)", "project")


def test_slash_permissions_shows_and_chooses(workspace):
    import asyncio

    from skillkit_commands import SlashCommands

    from skillkit_core import AgentRunner, Host

    async def main():
        async with AgentRunner(host=Host(settings={"permissions.deny": ["rocket"]})) as agent:
            await agent.open()
            commands = SlashCommands(agent)

            async def typed(line):
                return await commands.run(commands.match(line))

            shown = await typed("/permissions")
            assert shown.splitlines()[:2] == ["Mode: ask", "deny rocket (flag for permissions.deny)"]
            assert await typed("/permissions mode read-only") == "Mode: read-only, for this session."
            assert (await typed("/permissions")).startswith("Mode: read-only")
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
