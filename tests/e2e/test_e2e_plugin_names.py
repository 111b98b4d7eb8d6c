"""Names in the configuration that mean nothing here are named, with what to write instead."""

import json

import pytest


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("plugins: {disabled: [watch]}", "'watch' is a section of the plugin 'skill-tools': write skill-tools"),
        ("plugins: {disabled: [bahs]}", "unknown plugin 'bahs'; did you mean 'bash'?"),
        ("acme_guard: {mode: strict}", "the section does not count, because the plugin is not installed"),
        ("permision: {mode: read-only}", "unknown setting 'permision'; did you mean 'permissions'?"),
    ],
)
def test_doctor_names_what_the_configuration_names_in_vain(skillkit_cli, skillkit_home, config, said):
    (skillkit_home.config_dir / "config.yaml").write_text(config + "\n")
    done = skillkit_cli("doctor")
    assert said in " ".join((done.stdout + done.stderr).split())
    if "plugins:" in config:
        assert said in skillkit_cli("plugins", "doctor").ok().stdout


def test_a_distribution_that_names_a_section_is_told_its_plugin(skillkit_cli, skillkit_home):
    file = skillkit_home.cwd / "mine.yaml"
    file.write_text("schema_version: 1\nname: mine\nplugins: [bash, watch]\n")
    done = skillkit_cli("--distribution", str(file), "plugins", "doctor")
    assert done.exit_code == 1 and "write skill-tools" in done.stdout


@pytest.mark.parametrize("text", ['["Bash(git log:*)", "Read(a,b)"]', ' ["Bash(git log:*)","Read(a,b)"] '])
def test_a_list_in_a_variable_may_be_json(skillkit_cli, text):
    done = skillkit_cli("config", "show", "--json", env={"SKILLKIT_PERMISSIONS__ALLOW": text}).ok()
    assert json.loads(done.stdout)["permissions.allow"]["value"] == ["Bash(git log:*)", "Read(a,b)"]


def test_a_list_with_commas_may_begin_with_a_bracket(skillkit_cli):
    done = skillkit_cli("config", "show", "--json", env={"SKILLKIT_TOOLS__ALLOW": "[ab]*, read"}).ok()
    assert json.loads(done.stdout)["tools.allow"]["value"] == ["[ab]*", "read"]


def test_both_doctors_are_clean_on_a_fresh_installation(skillkit_cli):
    for command in (("doctor",), ("plugins", "doctor")):
        done = skillkit_cli(*command).ok()
        assert "✗" not in done.stdout and "!" not in done.stdout and not done.stderr


@pytest.mark.parametrize("text", ["Bash(git push), Read(.env)", '["Bash(git push)", "Read(.env)"]'])
def test_rules_in_a_variable_hold_with_commas_and_as_json(skillkit_cli, text):
    env = {"SKILLKIT_PERMISSIONS__DENY": text, "SKILLKIT_PERMISSIONS__ALLOW": "Bash(git:*)"}
    assert "deny: a rule forbids it" in skillkit_cli("permissions", "check", "bash", "git push", env=env).stdout
    assert "deny: a rule forbids .env" in skillkit_cli("permissions", "check", "read", ".env", env=env).stdout
