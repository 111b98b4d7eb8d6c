"""``skillkit import``: what the settings of another host become, what they do not, and what is written."""

from __future__ import annotations

import json

import pytest
import skillkit_mcp.plugin
import skillkit_permissions.plugin
import yaml
from bundle_folders import bundle, hooks, skill

OTHERS = (("permissions", skillkit_permissions.plugin), ("mcp", skillkit_mcp.plugin))


def rows(found):
    return {row["setting"]: (row["outcome"], row["here"]) for row in found.json["rows"]}


@pytest.fixture
def home(skillkit_home, tmp_path):
    """A home of Claude Code with settings of every kind."""
    place = skillkit_home.path / ".claude"
    bundle(place / "plugins/cache/acme", files={"hooks/hooks.json": hooks(), "skills/a/SKILL.md": skill("a")})
    settings = {
        "permissions": {
            "allow": ["Bash(git status:*)", "((("],
            "deny": ["Read(.env)"],
            "defaultMode": "bypassPermissions",
            "additionalDirectories": ["../other"],
        },
        "hooks": hooks("Stop", "true")["hooks"],
        "enabledPlugins": {"acme@market": True, "off@market": False, "gone@market": True},
        "env": {"KEY": "value"},
        "statusLine": {"type": "command", "command": "date"},
    }
    bundle(
        skillkit_home.path,
        None,
        {
            ".claude/settings.json": settings,
            ".claude/agents/critic.md": "---\nname: critic\n---\nx\n",
            ".claude/plugins/installed_plugins.json": {
                "plugins": {"acme@market": [{"scope": "user", "installPath": str(place / "plugins/cache/acme")}]}
            },
            ".claude.json": {"mcpServers": {"db": {"command": "db", "alwaysAllow": ["*"]}, "odd": {}}},
        },
    )
    return skillkit_home


def test_every_setting_of_claude_code_is_in_the_table_taken_or_not(run, home):
    found = rows(run("import", "claude", "--dry-run", "--json", plugins=OTHERS))
    assert found["permissions.allow: Bash(git status:*)"] == ("taken", "permissions.allow")
    assert (
        found["permissions.allow: ((("][0] == "left"
        and found["permissions.defaultMode: bypassPermissions"][0] == "left"
    )
    assert found["permissions.additionalDirectories"] == ("taken", "permissions.roots")
    assert found["hooks.Stop (1)"][0] == "taken" and found["mcpServers: db"][1] == "mcp.json without alwaysAllow"
    assert found["mcpServers: odd"][0] == "left"
    assert found["enabledPlugins: acme@market"][0] == "taken" and found["enabledPlugins: gone@market"][0] == "left"
    assert found["agents (1 files)"][0] == "read" and found["env"][0] == "left" and found["statusLine"][0] == "left"
    assert not list(home.config_dir.glob("*.json")) and not (home.config_dir / "bundles").exists(), (
        "a dry run writes nothing"
    )


def test_what_is_taken_over_is_written_once_and_what_was_there_stays(run, home):
    bundle(home.config_dir, None, {"mcp.json": {"mcpServers": {"db": {"command": "mine"}}}})
    (home.config_dir / "config.yaml").write_text("limits: {turns: 9}\n")
    for _ in range(2):
        run("import", "claude", "--yes", plugins=OTHERS)
    config = yaml.safe_load((home.config_dir / "config.yaml").read_text())
    assert config["limits"] == {"turns": 9}
    assert config["permissions"] == {"allow": ["Bash(git status:*)"], "deny": ["Read(.env)"], "roots": ["../other"]}
    assert json.loads((home.config_dir / "hooks.json").read_text()) == hooks("Stop", "true")
    assert json.loads((home.config_dir / "mcp.json").read_text()) == {"mcpServers": {"db": {"command": "mine"}}}
    row = run("bundles", "list", "--json").json[0]
    assert (row["name"], row["state"], len(row["waiting"]), row["consented"]) == ("acme", "enabled", 1, [])


def test_the_settings_of_codex_and_copilot(run, skillkit_home):
    toml = (
        'model = "x"\napproval_policy = "never"\nsandbox_mode = "read-only"\n[mcp_servers.docs]\nurl = "https://x.example/mcp"\n'
        'bearer_token_env_var = "DOCS"\n[projects."/x"]\ntrust_level = "trusted"\n'
    )
    flat = {
        "version": 1,
        "hooks": {"preToolUse": [{"type": "command", "bash": "guard.sh", "timeoutSec": 5, "matcher": "bash"}]},
    }
    files = {
        ".codex/config.toml": toml,
        ".copilot/hooks/a.json": flat,
        ".copilot/mcp-config.json": {"mcpServers": {"s": {"command": "s"}}},
    }
    bundle(skillkit_home.path, None, files)
    codex = rows(run("import", "codex", "--yes", "--json", plugins=OTHERS))
    assert (
        codex["approval_policy: never"][0] == "left"
        and codex["sandbox_mode: read-only"][1] == "permissions.mode: read-only"
    )
    assert codex["projects"][0] == "left"
    copilot = rows(run("import", "copilot", "--yes", "--json", plugins=OTHERS))
    assert copilot["hooks.preToolUse"][0] == "taken"
    servers = json.loads((skillkit_home.config_dir / "mcp.json").read_text())["mcpServers"]
    assert servers == {
        "docs": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${DOCS}"}},
        "s": {"command": "s"},
    }
    (group,) = json.loads((skillkit_home.config_dir / "hooks.json").read_text())["hooks"]["PreToolUse"]
    assert group == {"matcher": "^(?:bash)$", "hooks": [{"type": "command", "timeout": 5, "command": "guard.sh"}]}


def test_settings_of_a_project_are_taken_over_only_from_a_trusted_folder(run, skillkit_home):
    assert "not trusted" in run("import", "claude", "--project", "--yes", code=2).text


def test_a_broken_file_is_named(run, skillkit_home):
    bundle(skillkit_home.path, None, {".claude/settings.json": "{"})
    assert "settings.json" in run("import", "claude", "--dry-run", code=2).text
