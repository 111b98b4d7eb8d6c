"""``skillkit permissions``, through a real process."""

import json

import pytest


@pytest.fixture
def here(skillkit_home):
    return skillkit_home.cwd


@pytest.mark.smoke
def test_check_says_what_a_call_would_get_and_which_rule_decides(skillkit_cli, skillkit_home, here):
    skillkit_home.write_config("permissions:\n  allow: ['Bash(git status:*)']\n  deny: ['Bash(rm:*)']\n")
    assert (
        skillkit_cli("permissions", "check", "bash", "git status -s").ok().stdout.startswith("allow: a rule allows it")
    )
    denied = skillkit_cli("permissions", "check", "bash", "git status && /bin/rm x", "--json").ok().json
    assert denied["decision"] == "deny" and denied["rule"] == "Bash(rm:*)" and denied["origin"].endswith(":3")
    asked = skillkit_cli("permissions", "check", "Bash", "git push").ok().stdout
    assert asked == "ask: no rule allows git. What would allow it: Bash(git push:*)\n"
    allowed = skillkit_cli("permissions", "check", "edit", '{"path": "a.txt"}', "--mode", "accept-edits", "--json").ok()
    assert allowed.json["decision"] == "allow"


def test_what_the_parser_cannot_read_asks(skillkit_cli, here):
    found = skillkit_cli("permissions", "check", "bash", "echo 'open", "--json").ok().json
    assert found["decision"] == "ask" and "not a complete shell line" in found["reason"]
    said = skillkit_cli("permissions", "check", "bash", "cat $F").ok().stdout
    assert said == "ask: a file that is not known before it runs\n"  # who asks adds the question


def test_check_knows_the_tools_of_a_run_and_no_others(skillkit_cli, skillkit_home, here):
    skillkit_home.write_config("permissions: {deny: ['Raed(.env)']}\n")
    result = skillkit_cli("permissions", "check", "bsh", "ls")
    assert result.stderr.endswith("the rule Raed(.env) cannot be read: Raed takes nothing in parentheses\n")
    skillkit_home.write_config("")
    result = skillkit_cli("permissions", "check", "rd", "{}")
    assert result.exit_code == 2 and result.stderr.startswith("Error: unknown tool 'rd'")
    assert (
        skillkit_cli("permissions", "check", "mcp__files__list", "{}").ok().stdout.startswith("ask: no rule names it")
    )


def test_list_shows_rules_of_every_layer_with_their_place(skillkit_cli, skillkit_home, here):
    skillkit_home.write_config("permissions: {mode: accept-edits, allow: [Read]}\n")
    (here / ".skillkit").mkdir()
    (here / ".skillkit" / "config.yaml").write_text("permissions: {mode: bypass, allow: [rocket], deny: [think]}\n")
    untrusted = skillkit_cli("permissions", "list", "--json").ok().json
    assert [row["rule"] for row in untrusted["rules"]] == ["Read"] and untrusted["mode"] == "accept-edits"
    skillkit_cli("config", "trust").ok()
    trusted = skillkit_cli("permissions", "list", "--json").ok().json
    assert [(row["kind"], row["rule"]) for row in trusted["rules"]] == [
        ("deny", "think"),
        ("allow", "Read"),
        ("allow", "rocket"),
    ]
    assert trusted["mode"] == "accept-edits" and "cannot loosen" in trusted["ignored"][0]
    (here / ".skillkit" / "config.yaml").write_text("permissions: {mode: read-only}\n")
    assert skillkit_cli("permissions", "list").ok().stdout.startswith("mode  accept-edits ("), "the content changed"
    skillkit_cli("config", "trust").ok()
    assert skillkit_cli("permissions", "list").ok().stdout.startswith("mode  read-only (")


def test_a_rule_that_cannot_be_read_is_an_error_of_the_configuration(skillkit_cli, skillkit_home, here):
    skillkit_home.write_config("permissions:\n  allow: ['Bash(git:* push)']\n")
    result = skillkit_cli("permissions", "check", "bash", "ls")
    assert result.exit_code == 2 and "cannot be read" in result.stderr and "config.yaml:2" in result.stderr


@pytest.mark.smoke
def test_rules_of_claude_code_are_imported_shown_and_revoked(skillkit_cli, here):
    settings = {
        "permissions": {
            "allow": ["Bash(npm run test:*)", "WebFetch(domain:example.com)", "Bash(a:* b)"],
            "deny": ["Read(./.env)"],
            "defaultMode": "bypassPermissions",
        }
    }
    (here / "settings.json").write_text(json.dumps(settings))
    dry = skillkit_cli("permissions", "import", "settings.json", "--dry-run").ok().stdout
    assert "Would import 3 rules" in dry and "left out: allow Bash(a:* b)" in dry and "defaultMode" in dry
    assert skillkit_cli("permissions", "list", "--json").ok().json["remembered"] == []
    skillkit_cli("permissions", "import", "settings.json").ok()
    assert skillkit_cli("permissions", "check", "bash", "npm run test", "--json").ok().json["decision"] == "allow"
    assert skillkit_cli("permissions", "check", "read", ".env", "--json").ok().json["decision"] == "deny"
    rows = skillkit_cli("permissions", "list", "--json").ok().json
    assert rows["mode"] == "ask" and [row["scope"] for row in rows["remembered"]] == ["ever"] * 3
    first = rows["remembered"][0]
    assert first["rule"] == "Read(./.env)" and first["expires"] is None
    assert "Forgotten: deny Read(./.env)" in skillkit_cli("permissions", "revoke", first["id"]).ok().stdout
    assert skillkit_cli("permissions", "check", "read", ".env", "--json").ok().json["decision"] == "allow"
    assert len(skillkit_cli("permissions", "revoke", "--all", "--json").ok().json) == 2
    assert skillkit_cli("permissions", "revoke", "7").exit_code == 2


def test_a_file_without_permissions_is_refused(skillkit_cli, here):
    (here / "settings.json").write_text("[]")
    result = skillkit_cli("permissions", "import", "settings.json")
    assert result.exit_code == 2 and "holds no permissions" in result.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("uv run pytest -q", "Bash(uv run pytest:*)"),
        ("npm run build", "Bash(npm run build:*)"),
        ("uv run python -c pass", "Bash(uv run python -c pass)"),
        ("poetry run bash x.sh", "Bash(poetry run bash x.sh)"),
        ("docker run -v /:/x alpine", "Bash(docker run -v /:/x alpine)"),
    ],
)
def test_the_rule_of_an_answer_never_holds_for_any_program_behind_run(skillkit_cli, here, line, rule):
    said = skillkit_cli("permissions", "check", "bash", line).ok().stdout
    assert said.partition("What would allow it: ")[2] == f"{rule}\n"
