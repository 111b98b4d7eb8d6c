"""Hooks of bundles, from the command that adds one to the call that is blocked."""

from __future__ import annotations

import json


def test_a_hook_of_a_bundle_runs_once_a_person_consented_and_waits_again_when_it_changed(skillkit_cli, skillkit_home):
    bundle = skillkit_home.cwd / "acme"
    (bundle / ".claude-plugin").mkdir(parents=True)
    (bundle / "hooks").mkdir()
    (bundle / ".claude-plugin" / "plugin.json").write_text('{"name": "acme"}')
    handler = {"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}/hooks/guard.sh"'}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}
    (bundle / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    (bundle / "hooks" / "guard.sh").write_text("echo guarded by acme >&2; exit 2\n")
    test = ("hooks", "test", "PreToolUse", "--tool", "bash", "--input", '{"command": "ls"}', "--json")

    skillkit_cli("bundles", "add", "./acme", "--yes").ok()
    assert skillkit_cli("hooks", "list", "--json").ok().json == []
    skillkit_cli("bundles", "consent", "acme", "--allow-hook", "all").ok()
    (row,) = skillkit_cli("hooks", "list", "--json").ok().json
    assert (row["from"], row["matcher"]) == ("bundle:acme", "Bash")
    tried = skillkit_cli(*test).ok().json
    assert (tried["decision"], tried["reason"]) == ("deny", "guarded by acme")

    (bundle / "hooks" / "guard.sh").write_text("exit 0\n")
    skillkit_cli("bundles", "update", "acme", "--yes")
    assert skillkit_cli(*test).ok().json["decision"] == "none", "the changed hook waits for consent"
    assert skillkit_cli("hooks", "list", "--json").ok().json == []


def test_a_trace_shows_the_handler_of_hooks_and_what_it_answered(skillkit_cli, skillkit_home):
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo not now >&2; exit 2"}]}]}
    (skillkit_home.config_dir / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    traced = skillkit_cli("inspect", "trace", "hello").stdout
    assert "shell-hooks" in traced and "not now" in traced


def test_a_bundle_stands_in_the_list_of_plugins_and_on_the_page_of_a_turn(skillkit_cli, skillkit_home):
    bundle = skillkit_home.cwd / "acme"
    (bundle / ".claude-plugin").mkdir(parents=True)
    (bundle / "hooks").mkdir()
    (bundle / ".claude-plugin" / "plugin.json").write_text('{"name": "acme", "version": "1.2.3"}')
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    (bundle / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    assert not skillkit_cli("plugins", "list", "--json").ok().json["bundles"]

    skillkit_cli("bundles", "add", "./acme", "--yes").ok()
    (row,) = skillkit_cli("plugins", "list", "--json").ok().json["bundles"]
    assert (row["bundle"], row["version"], row["state"], row["consent"]) == ("acme", "1.2.3", "enabled", "1 hook wait")
    assert "1.2.3" in skillkit_cli("plugins", "list").ok().stdout
    skillkit_cli("run", "what is 15% of 80").ok()
    page = skillkit_cli("why").ok().stdout
    assert "acme 1.2.3" in page and "1 hook; 1 hook did not run before somebody consents" in page
    skillkit_cli("bundles", "disable", "acme").ok()
    skillkit_cli("run", "what is 15% of 80").ok()
    assert "acme" not in skillkit_cli("why").ok().stdout, "it had no part in that turn"

    (skillkit_home.config_dir / "skillkit-bundles.lock").write_text("{broken")
    assert skillkit_cli("plugins", "list").ok()
    off = skillkit_cli("-P", "no:bundles", "plugins", "list", "--json").ok().json
    assert "bundles" not in off, "a plugin that is switched off lists nothing"
