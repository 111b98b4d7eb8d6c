"""Where hooks come from: settings, files, projects, other plugins; and what the command line says of them."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from skillkit_shell_hooks import EVENTS, UNSAID, Hook, Surroundings, hooks_of, run_hooks

from skillkit_core import AgentRunner, hookimpl
from skillkit_core.descriptors import Factory
from skillkit_core.testing import Call, Reply

CALL = Reply(calls=[Call("bash", {"command": "npm test"})])


def results(agent: AgentRunner) -> list[Any]:
    return [message for message in agent.messages if message.role == "tool_result"]


def chat(agent: AgentRunner, text: str = "go") -> Any:
    async def work() -> Any:
        async with agent:
            return await agent.chat(text)

    return asyncio.run(work())


def brings(*entries: Any) -> Any:
    """A plugin that brings hooks, as bundles do."""

    @hookimpl(optionalhook=True)
    def register_shell_hooks(register: Any) -> None:
        register(Factory("acme", lambda host: lambda agent: entries))

    return "acme", SimpleNamespace(register_shell_hooks=register_shell_hooks)


def test_hooks_of_the_users_file_count(stage, write, skillkit_home):
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    file = skillkit_home.config_dir / "hooks.json"
    file.write_text(json.dumps({"hooks": {"PreToolUse": write.group("echo mine >&2; exit 2")}}))
    agent, _ = stage(CALL, "done")
    chat(agent)
    assert results(agent)[0].text == "Blocked: mine"


def test_a_file_that_cannot_be_read_lets_no_call_run(stage, skillkit_home):
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    (skillkit_home.config_dir / "hooks.json").write_text("{broken")
    agent, _ = stage(CALL, "done")
    assert "hooks.json cannot be read" in chat(agent).content


def test_hooks_of_a_project_count_once_it_is_trusted(skillkit_cli, skillkit_home, write):
    file = skillkit_home.cwd / ".skillkit" / "hooks.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"hooks": {"PreToolUse": write.group("exit 2", "Bash")}}))
    assert skillkit_cli("hooks", "list", "--json").ok().json == []
    told = skillkit_cli("config", "trust", "--yes").ok()
    assert "PreToolUse hook: exit 2" in told.stdout + told.stderr
    (row,) = skillkit_cli("hooks", "list", "--json").ok().json
    assert (row["event"], row["matcher"], row["runs"], row["from"], row["guards"]) == (
        "PreToolUse",
        "Bash",
        "exit 2",
        "project",
        True,
    )
    file.write_text(json.dumps({"hooks": {"PreToolUse": write.group("exit 0", "Bash")}}))
    assert skillkit_cli("hooks", "list", "--json").ok().json == [], "a changed file waits again"


def test_a_project_opens_no_guard_and_names_no_variable(skillkit_cli, skillkit_home, write):
    config = skillkit_home.cwd / ".skillkit" / "config.yaml"
    config.parent.mkdir()
    config.write_text("hooks: {on_failure: open, env: [SECRET]}\n")
    skillkit_cli("config", "trust", "--yes").ok()
    (skillkit_home.config_dir / "hooks.json").write_text(
        json.dumps({"PreToolUse": write.group("echo [$SECRET] >&2; exit 1")})
    )
    done = skillkit_cli("hooks", "test", "PreToolUse", "--tool", "bash", "--json", env={"SECRET": "x"})
    assert done.exit_code == 1 and done.json["decision"] == "deny" and "[]" in done.json["reason"]


def test_an_unknown_event_in_the_section_is_an_error_with_the_name_that_was_meant(skillkit_cli, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").write_text("hooks: {PreTolUse: []}\n")
    done = skillkit_cli("hooks", "list")
    assert done.exit_code != 0 and "PreToolUse" in done.stderr


def test_what_does_not_happen_here_is_named(skillkit_cli, skillkit_home, write):
    hooks = {"WorktreeCreate": write.group("true"), "PreToolUse": write.group(""), "Made-up": write.group("true")}
    (skillkit_home.config_dir / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    said = skillkit_cli("hooks", "list").ok()
    for text in ("no agent makes a worktree here", "command is empty", "there is no such event"):
        assert text in said.stderr
    assert "no agent makes a worktree here" in skillkit_cli("plugins", "doctor").stdout


def test_what_is_written_wrongly_is_named_with_file_and_line(skillkit_cli, skillkit_home):
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    lines = ['{"hooks": {', '\t"PreToolUse": [', '\t\t{"matcher": 7, "hooks": []},', '\t\t"nonsense"', "\t]", "}}"]
    (skillkit_home.config_dir / "hooks.json").write_text("\n".join(lines))
    settings = ["hooks:", "  Stop:", "    - hooks:", "        - command: 'true'", "        - type: prompt", ""]
    (skillkit_home.config_dir / "config.yaml").write_text("\n".join(settings))
    rows = skillkit_cli("hooks", "list", "--json").ok().json
    found = {row["where"].rpartition("/")[2]: row["problem"] for row in rows if row["problem"]}
    assert found == {
        "hooks.json:3: hooks.PreToolUse.0.matcher": "matcher is no text",
        "hooks.json:4: hooks.PreToolUse.1": "a group of PreToolUse is no mapping",
        "config.yaml:5: hooks.Stop.0.hooks.1": "prompt is empty",
    }
    assert "hooks.json:4: hooks.PreToolUse.1" in skillkit_cli("hooks", "list").ok().stderr.replace("\n", "")
    assert "config.yaml:5" in skillkit_cli("plugins", "doctor").stdout


def test_a_hook_is_tried_from_the_command_line(skillkit_cli, skillkit_home, write):
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not that"}
    hooks = {"PreToolUse": [*write.group(write.says(hookSpecificOutput=said), "Edit"), *write.group("exit 2", "Bash")]}
    (skillkit_home.config_dir / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    call = ("hooks", "test", "PreToolUse", "--tool", "edit", "--input", '{"path": "a.py"}')
    tried = skillkit_cli(*call, "--json").ok().json
    assert (tried["decision"], tried["reason"], len(tried["hooks"])) == ("deny", "not that", 1)
    assert "not that" in skillkit_cli(*call).ok().stdout
    assert skillkit_cli("hooks", "test", "PreTooluse").exit_code != 0


def test_a_bundles_hook_has_its_folders_options_and_dialect(stage, skillkit_home, tmp_path):
    root, data = tmp_path / "my root", tmp_path / "data"
    root.mkdir()
    script = root / "guard.sh"
    script.write_text(
        '#!/bin/sh\ntest -d "$CLAUDE_PLUGIN_DATA" && grep toolName >&2; echo "$CLAUDE_PLUGIN_OPTION_LEVEL" >&2; exit 3\n'
    )
    script.chmod(0o755)
    handler = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/guard.sh"'}
    entry = {
        "origin": "bundle:acme", "file": "hooks.json", "digest": "sha256-1", "dialect": "copilot", "wire": "camel",
        "hooks": {"PreToolUse": [{"matcher": "^(?:Bash)$", "hooks": [handler]}]},
        "plugin": {"name": "acme", "root": str(root), "data": str(data), "options": {"level": "high"}, "bin": []},
    }  # fmt: skip
    agent, _ = stage(CALL, "done", plugins=[brings(entry)])
    chat(agent)
    text = results(agent)[0].text
    assert "bundle:acme" in text and '"toolName": "Bash"' in text and "high" in text


@pytest.mark.parametrize(
    ("handler", "decision"),
    [
        ({"command": "x ${user_config.token}"}, "deny"),
        ({"command": "sh", "args": ["-c", "test ${user_config.token} = t || exit 2"]}, "none"),
        ({"command": "exit 1", "onFailure": "block"}, "deny"),
        ({"type": "telepathy"}, "deny"),
        ({"command": "exit 0", "timeout": "soon"}, "deny"),
    ],
)
def test_what_is_written_wrongly_is_no_guard_that_is_lost(tmp_path, handler, decision):
    plugin = {"name": "acme", "root": str(tmp_path), "data": str(tmp_path / "d"), "options": {"token": "t"}}
    hooks = hooks_of({"PreToolUse": [{"hooks": [handler]}]}, plugin=plugin)
    around = Surroundings(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin"})
    payload = {"tool_name": "Bash", "tool_input": {}}
    assert asyncio.run(run_hooks(hooks, "PreToolUse", payload, around)).decision == decision


@pytest.mark.parametrize(
    ("said", "decision", "wanted"),
    [
        ({"permissionDecision": "deny", "permissionDecisionReason": "r"}, "deny", UNSAID),
        ({"permissionDecision": "allow", "modifiedArgs": {"command": "ls"}}, "allow", {"command": "ls"}),
        ({"permissionDecision": "perhaps"}, "deny", UNSAID),
    ],
)
def test_the_flat_form_of_copilot_is_read(tmp_path, write, said, decision, wanted):
    hooks = hooks_of({"PreToolUse": write.group(write.says(**said))}, dialect="copilot")
    around = Surroundings(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin"})
    outcome = asyncio.run(run_hooks(hooks, "PreToolUse", {"tool_name": "Bash"}, around))
    assert (outcome.decision, outcome.input) == (decision, wanted)


def test_a_folder_with_odd_signs_in_its_name_runs_nothing(tmp_path):
    root = tmp_path / "$(touch pwned)`touch pwned2`"
    root.mkdir()
    (root / "g.sh").write_text("exit 2\n")
    hooks = hooks_of(
        {"PreToolUse": [{"hooks": [{"command": 'sh "${CLAUDE_PLUGIN_ROOT}/g.sh"'}]}]},
        plugin={"name": "a", "root": str(root)},
    )
    said = asyncio.run(
        run_hooks(
            hooks, "PreToolUse", {"tool_name": "Bash"}, Surroundings(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin"})
        )
    )
    assert said.decision == "deny" and not list(tmp_path.glob("pwned*"))


def test_a_handler_that_stands_twice_runs_once_and_a_bundles_copy_is_another(tmp_path):
    group = [{"hooks": [{"command": "echo x >> count"}]}]
    hooks = hooks_of({"Stop": group * 2}) + hooks_of({"Stop": group}, plugin={"name": "acme"})
    said = asyncio.run(run_hooks(hooks, "Stop", {}, Surroundings(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin"})))
    assert said.ran == 2 and (tmp_path / "count").read_text() == "x\nx\n"


def test_what_hooks_say_is_bounded_and_clean(tmp_path):
    command = "printf '\\033]52;c;ZXZpbA==\\007\\033[31mred\\033[0m %20000d' 1"
    hooks = [Hook("SessionStart", "", {"command": command})]
    said = asyncio.run(
        run_hooks(
            hooks, "SessionStart", {"source": "startup"}, Surroundings(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin"})
        )
    )
    ((_, text),) = said.context
    assert text.startswith("red") and "\x1b" not in text and len(text) <= 10_000


def test_every_event_is_carried_or_says_why_not():
    assert {"SessionStart", "PreToolUse", "PostToolUse", "Stop"} <= {name for name, why in EVENTS.items() if not why}
    assert all(len(why) < 120 for why in EVENTS.values())
