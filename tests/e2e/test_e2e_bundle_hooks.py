"""Hooks of bundles, from the command that adds one to the call that is blocked."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("skillkit_bundles", reason="bundles are not part of the standard distribution")
pytest.importorskip("skillkit_shell_hooks", reason="hooks in any language are not part of the standard distribution")


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


def test_the_page_of_a_turn_names_each_hook_with_its_time_and_what_it_said(skillkit_cli, skillkit_home):
    lines = {"UserPromptSubmit": "exit 0", "PostToolUse": "exit 4", "PostToolBatch": "true"}
    hooks = {event: [{"hooks": [{"type": "command", "command": line}]}] for event, line in lines.items()}
    (skillkit_home.config_dir / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    skillkit_cli("run", "what is 15% of 80").ok()
    pages = " ".join(" ".join(skillkit_cli("why", "latest", turn).stdout.split()) for turn in ("1", "2"))
    assert re.search(r"UserPromptSubmit hook of user \d+ ms nothing exit 0", pages), pages
    assert re.search(r"PostToolUse hook of user \d+ ms failed exit 4", pages), pages
    assert re.search(r"PostToolBatch hook of user \d+ ms nothing true", pages), pages
