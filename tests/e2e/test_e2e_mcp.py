"""MCP with the whole distribution: servers in ``skillkit run``, and skills for an MCP client."""

import json
import os
import sys

from skillkit_testkit.turns import Call, Reply

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
ASK = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


def configure(home, name, **server):
    home.config_dir.mkdir(parents=True, exist_ok=True)
    (home.config_dir / "mcp.json").write_text(json.dumps({"mcpServers": {name: server}}))


def test_a_model_calls_a_server_in_a_run_of_the_command_line(skillkit_cli, skillkit_home, llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    configure(skillkit_home, "time", **TIME, alwaysAllow=["convert_time"])
    run = ("run", "--provider", "openai", "--base-url", llm_server.openai_url, "--model", "m", "--json", "--events")
    llm_server.script(Reply(tool_calls=[Call("mcp__time__convert_time", ASK)]), Reply(text="21:00 in Tokyo."))
    events = skillkit_cli(*run, "Noon UTC in Tokyo?").ok().json_lines
    ended = next(event for event in events if event.get("type") == "tool_execution_end")
    assert "21:00" in json.dumps(ended) and ended["outcome"] == "ok"
    assert any(tool.name == "mcp__time__get_current_time" for tool in llm_server.requests[0].tools)
    llm_server.check()


def test_a_server_that_cannot_start_is_named_on_stderr(skillkit_cli, skillkit_home, llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    skillkit_home.write_config(
        "mcp: {servers: {bad: {command: nope-xyz}, worse: {command: x, args: ['${MISSING}']}}}\n"
    )
    llm_server.script(Reply(text="Hello."))
    result = skillkit_cli(
        "run", "--provider", "openai", "--base-url", llm_server.openai_url, "--model", "m", "hello"
    ).ok()
    assert "Hello." in result.stdout
    bad, worse = (line for line in result.stderr.splitlines() if "the MCP server" in line)
    assert "'worse' cannot be used: it needs the variable MISSING" in worse + bad
    assert "'bad' cannot be used: command not found: nope-xyz" in worse + bad
    assert "see 'skillkit mcp show bad'" in worse + bad
    states = {row["name"]: row["state"] for row in skillkit_cli("mcp", "list", "--json").ok().json}
    assert states["bad"] == "not found"


def test_a_call_waits_for_a_yes_that_a_rule_can_give_and_a_denial_outweighs_always_allow(
    skillkit_cli, skillkit_home, llm_server, mcp_server, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    run = ("run", "--provider", "openai", "--base-url", llm_server.openai_url, "--model", "m", "--json", "--events")

    def ended(*options):
        llm_server.script(Reply(tool_calls=[Call("mcp__desk__ok", {})]), Reply(text="As you say."))
        events = skillkit_cli(*run, *options, "Is it fine?").json_lines
        (one,) = (event for event in events if event.get("type") == "tool_execution_end")
        return one["outcome"], "fine" in json.dumps(one)

    configure(skillkit_home, "desk", **mcp_server.stdio())
    assert ended() == ("denied", False), "nobody is there to approve it"
    assert ended("--permit", "mcp__desk") == ("ok", True)
    configure(skillkit_home, "desk", **mcp_server.stdio(), alwaysAllow=["*"])
    (skillkit_home.config_dir / "config.yaml").write_text("permissions:\n  deny: [mcp__desk__ok]\n")
    outcome, ran = ended()
    assert outcome in ("denied", "blocked") and not ran


def test_an_mcp_client_runs_actions_of_skills_and_gets_skills_as_prompts(skillkit_cli, skillkit_home):
    import asyncio

    from mcp import Client, StdioServerParameters

    argv = [*skillkit_cli.program, "mcp", "serve"]
    server = StdioServerParameters(command=argv[0], args=argv[1:], env=dict(os.environ), cwd=skillkit_home.cwd)

    async def main():
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("calculate__evaluate", {"expression": "17% of 2400"})
            prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
            prompt = await client.get_prompt("csv-stats", {"arguments": "of sales.csv"})
            return tools, result, prompts, prompt

    tools, result, prompts, prompt = asyncio.run(main())
    assert "calculate__evaluate" in tools and "bash" not in tools
    assert not result.is_error and "408" in result.content[0].text
    assert "calculate" in prompts
    assert "csv-stats" in prompt.messages[0].content.text and "sales.csv" in prompt.messages[0].content.text


def test_trusting_a_folder_shows_its_servers_and_a_changed_file_is_asked_about_again(skillkit_cli, skillkit_home):
    file = skillkit_home.cwd / ".mcp.json"
    file.write_text('{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}')
    assert "MCP server time: uvx mcp-server-time" in skillkit_cli("config", "trust").ok().stdout
    assert [s["name"] for s in skillkit_cli("mcp", "list", "--json").ok().json] == ["time"]
    file.write_text('{"mcpServers": {"time": {"command": "evil"}}}')
    changed = skillkit_cli("mcp", "list", "--json").ok()
    assert changed.json == [] and "config trust" in changed.stderr
