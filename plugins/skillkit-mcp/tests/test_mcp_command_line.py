"""``skillkit mcp``: list, show, import, login, serve."""

import json
import os
import stat
import sys

import pytest
from mcp import Client, StdioServerParameters

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
VSCODE = """{
  // servers of this workspace
  "inputs": [{"id": "api-key", "type": "promptString", "password": true}],
  "servers": {
    "time": {"type": "stdio", "command": "uvx", "args": ["mcp-server-time", "--dir=${workspaceFolder}"],},
    "web": {"type": "http", "url": "https://example.org/mcp#a//b", "headers": {"Authorization": "Bearer ${input:api-key}"}},
    "old": {"type": "sse", "url": "https://example.org/sse"},
    "odd": {"command": "x", "url": "https://example.org"}, /* both */
  }
}"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.smoke
def test_servers_of_other_programs_are_imported_and_listed(skillkit_cli, skillkit_home):
    desktop = {
        "mcpServers": {"time": TIME, "Fancy Name": {"command": "x", "env": {"KEY": "v"}, "disabled": True, "zzz": 1}}
    }
    file = write(skillkit_home.cwd / "claude_desktop_config.json", json.dumps(desktop))
    told = skillkit_cli("mcp", "import", str(file), "--json").ok().json
    assert [(row["name"], row["outcome"]) for row in told["servers"]] == [
        ("time", "imported"),
        ("Fancy Name", "imported"),
    ]
    assert told["servers"][1]["problems"] == ["no effect here: zzz"]
    assert stat.S_IMODE(os.stat(told["file"]).st_mode) == 0o600
    listed = skillkit_cli("mcp", "list", "--json").ok().json
    assert [(row["name"], row["state"], row["origin"], row["tools_named"]) for row in listed] == [
        ("Fancy Name", "disabled", "user", "mcp__Fancy_Name__"),
        ("time", "on", "user", "mcp__time__"),
    ]
    assert listed[0]["env"] == ["KEY"] and '"v"' not in json.dumps(listed)
    assert skillkit_cli("mcp", "import", str(file), "--json").json["servers"][0]["outcome"] == "exists"
    assert json.loads((skillkit_home.config_dir / "mcp.json").read_text())["mcpServers"]["Fancy Name"]["env"] == {
        "KEY": "v"
    }
    text = skillkit_cli("mcp").ok().stdout
    assert "time" in text and "mcp_server_time" in text


def test_files_of_vs_code_have_comments_inputs_and_folders(skillkit_cli, skillkit_home):
    file = write(skillkit_home.cwd / ".vscode" / "mcp.json", VSCODE)
    dry = skillkit_cli("mcp", "import", str(file), "--dry-run").ok()
    assert "would be imported" in dry.stdout and not (skillkit_home.config_dir / "mcp.json").exists()
    outcome = {row["name"]: row for row in skillkit_cli("mcp", "import", str(file), "--json").ok().json["servers"]}
    assert {name: row["outcome"] for name, row in outcome.items()} == {
        "time": "imported", "web": "imported", "old": "broken", "odd": "broken",
    }  # fmt: skip
    assert outcome["web"]["problems"] == ["set API_KEY and name it in mcp.variables"]
    assert "SSE" in outcome["old"]["problems"][0]
    kept = json.loads((skillkit_home.config_dir / "mcp.json").read_text())["mcpServers"]
    assert kept["time"] == {"type": "stdio", "command": "uvx", "args": ["mcp-server-time", "--dir=."]}
    assert kept["web"] == {
        "type": "http",
        "url": "https://example.org/mcp#a//b",
        "headers": {"Authorization": "Bearer ${API_KEY}"},
    }
    nothing = write(skillkit_home.cwd / "other.json", '{"a": 1}')
    result = skillkit_cli("mcp", "import", str(nothing))
    assert result.exit_code == 2 and "holds no MCP servers" in result.stderr


def test_show_starts_a_server_and_says_what_it_offers(skillkit_cli, skillkit_home):
    write(
        skillkit_home.config_dir / "mcp.json",
        json.dumps({"mcpServers": {"time": {**TIME, "disabledTools": ["conv*"]}}}),
    )
    found = skillkit_cli("mcp", "show", "time", "--json").ok().json
    assert {tool["name"]: tool["offered_as"] for tool in found["tools"]} == {
        "convert_time": None, "get_current_time": "mcp__time__get_current_time",
    }  # fmt: skip
    assert "mcp__time__get_current_time" in skillkit_cli("mcp", "show", "time").ok().stdout
    wrong = skillkit_cli("mcp", "show", "tine")
    assert wrong.exit_code != 0 and "time" in wrong.stderr
    write(skillkit_home.config_dir / "mcp.json", '{"mcpServers": {"gone": {"command": "/nowhere/at-all"}}}')
    gone = skillkit_cli("mcp", "show", "gone")
    assert gone.exit_code == 1 and "command not found" in gone.stderr and "Traceback" not in gone.stderr


def test_a_wrong_section_names_its_file_and_key(skillkit_cli, skillkit_home):
    write(skillkit_home.config_dir / "config.yaml", "mcp:\n  servers:\n    a: {command: x, url: 'http://localhost'}\n")
    result = skillkit_cli("mcp", "list")
    assert result.exit_code == 2 and "config.yaml:3" in result.stderr and "either a command or a url" in result.stderr
    write(skillkit_home.config_dir / "mcp.json", "{")
    write(skillkit_home.config_dir / "config.yaml", "")
    broken = skillkit_cli("mcp", "list")
    assert broken.exit_code == 2 and "mcp.json" in broken.stderr and "Traceback" not in broken.stderr


def test_values_of_variables_and_headers_are_not_shown(skillkit_cli, skillkit_home):
    server = "{command: x, env: {API_KEY: sesame-open-1}}"
    web = "{url: 'https://example.org', headers: {X-Key: sesame-open-2}}"
    write(skillkit_home.config_dir / "config.yaml", f"mcp:\n  servers:\n    a: {server}\n    b: {web}\n")
    shown = (
        skillkit_cli("config", "show", "mcp").ok().stdout + skillkit_cli("config", "show", "mcp", "--json").ok().stdout
    )
    assert "API_KEY" in shown and "sesame" not in shown
    assert "sesame" not in skillkit_cli("mcp", "list", "--json").ok().stdout


def test_a_login_needs_a_server_over_http(skillkit_cli, skillkit_home):
    write(skillkit_home.config_dir / "mcp.json", json.dumps({"mcpServers": {"time": TIME}}))
    result = skillkit_cli("mcp", "login", "time", "--no-browser")
    assert result.exit_code == 2 and "is not reached over HTTP" in result.stderr
    assert "no tokens" in skillkit_cli("mcp", "logout", "time").ok().stdout


async def test_the_command_serves_without_starting_its_own_servers(skillkit_cli, skillkit_home):
    own = {"command": skillkit_cli.argv[0], "args": [*skillkit_cli.argv[1:], "mcp", "serve"]}
    write(skillkit_home.config_dir / "mcp.json", json.dumps({"mcpServers": {"me": own}}))
    server = StdioServerParameters(
        command=own["command"], args=own["args"], env=dict(os.environ), cwd=skillkit_home.cwd
    )
    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert not any(name.startswith("mcp_") for name in tools)
        assert client.server_info.name == "skillkit"
