"""``plugins enable`` and ``disable`` change a list and nothing else of the file that a person wrote."""

import pytest
from skillkit_plugin_packages.yaml_list import changed
from yaml import YAMLError

CONFIG = """\
# mine, and I like it so
model:   gpt-5-mini   # cheap
plugins:
    # what I do not want
    disabled:
        - other      # noisy
    timeout: 10
bash: {timeout: 5}    # seconds

limits:
    turns: 3
"""


@pytest.fixture
def cli(skillkit_cli, tmp_path, monkeypatch):
    """A command line with two small plugins, ``mine`` and ``other``."""
    for name in ("mine", "other"):
        info = tmp_path / "site" / f"acme_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[skillkit.plugins]\n{name} = acme_{name}\n")
        (tmp_path / "site" / f"acme_{name}.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    return skillkit_cli


@pytest.fixture
def config(skillkit_home):
    return skillkit_home.config_dir / "config.yaml"


def running(cli):
    return {row["name"] for row in cli("plugins", "list", "--json").ok().json["plugins"] if row["enabled"]}


@pytest.mark.smoke
def test_disable_and_enable_undo_each_other_and_leave_the_file_as_it_was(cli, config):
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG)
    assert cli("plugins", "disable", "mine").ok().stdout.startswith("✓ mine does not run: disabled by ")
    assert config.read_text() == CONFIG.replace("- other      # noisy\n", "- other      # noisy\n        - mine\n")
    assert not {"mine", "other"} & running(cli)

    cli("plugins", "enable", "mine").ok()

    assert config.read_text() == CONFIG and running(cli) >= {"mine"}


def test_where_there_is_no_file_one_comes(cli, config):
    cli("plugins", "disable", "mine", "other").ok()
    assert config.read_text() == "plugins:\n  disabled: [mine, other]\n"
    cli("plugins", "enable", "mine", "other").ok()
    assert config.read_text() == "plugins:\n  disabled: []\n"
    again = cli("plugins", "enable", "mine", "--json").ok().json
    assert again == [{"name": "mine", "enabled": True, "reason": "installed", "changed": False}]


def test_what_would_not_run_all_the_same_joins_the_enabled_and_comes_off_again(cli, config, skillkit_home):
    file = skillkit_home.cwd / "d.yaml"
    file.write_text("schema_version: 1\nname: d\nplugins: [plugin-packages]\npolicy: {only_listed: true}\n")
    cli("--distribution", file, "plugins", "enable", "mine").ok()
    assert config.read_text() == "plugins:\n  enabled: [mine]\n"
    cli("--distribution", file, "plugins", "disable", "mine").ok()
    assert config.read_text() == "plugins:\n  enabled: []\n"


def test_what_a_policy_denies_leaves_the_file_as_it_was(cli, config, skillkit_home):
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG)
    file = skillkit_home.cwd / "d.yaml"
    file.write_text("schema_version: 1\nname: d\nplugins: [plugin-packages]\npolicy: {deny: [mine]}\n")

    refused = cli("--distribution", file, "plugins", "enable", "mine")

    assert refused.exit_code == 2 and "denies the plugin 'mine'" in refused.stderr
    assert config.read_text() == CONFIG


def test_what_a_variable_decides_is_said_and_nothing_is_changed(cli, config):
    refused = cli("plugins", "enable", "mine", env={"SKILLKIT_PLUGINS": "plugin-packages"})
    assert refused.exit_code == 0 or "SKILLKIT_PLUGINS" in refused.stderr
    unknown = cli("plugins", "disable", "mien")
    assert unknown.exit_code == 2 and "did you mean 'mine'" in unknown.stderr


@pytest.mark.parametrize("text", ["plugins: [a]\n", "plugins: {disabled: x}\n", "- a\n"])
def test_a_file_of_another_shape_is_not_touched(cli, config, text):
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text)
    refused = cli("plugins", "disable", "mine")
    assert refused.exit_code == 2 and config.read_text() == text


@pytest.mark.parametrize(
    ("before", "add", "remove", "after"),
    [
        ("", "a", "", "plugins:\n  disabled: [a]\n"),
        ("# only words", "a", "", "# only words\nplugins:\n  disabled: [a]\n"),
        ("x: 1", "a b", "", "x: 1\nplugins:\n  disabled: [a, b]\n"),
        ("plugins:\nx: 1\n", "a", "", "plugins:\n  disabled: [a]\nx: 1\n"),
        ("plugins: ~  # none\n", "a", "", "plugins:  # none\n  disabled: [a]\n"),
        ("plugins:  # p\n   enabled: [z]\n", "a", "", "plugins:  # p\n   disabled: [a]\n   enabled: [z]\n"),
        ("plugins: {enabled: [z]}\n", "a", "", "plugins: {disabled: [a], enabled: [z]}\n"),
        ("plugins: {}\n", "a", "", "plugins: {disabled: [a]}\n"),
        ("plugins:\n  disabled:  # why\n", "a", "", "plugins:\n  disabled: [a]  # why\n"),
        ("plugins:\n  disabled: []  # why\n", "a", "", "plugins:\n  disabled: [a]  # why\n"),
        ("plugins:\n  disabled: [b] # x\n", "a b", "", "plugins:\n  disabled: [b, a] # x\n"),
        ("plugins:\n  disabled: ['b', c] # x\n", "", "c", "plugins:\n  disabled: ['b'] # x\n"),
        ("plugins:\n  disabled:\n  - b # x\n  # end\n", "a", "", "plugins:\n  disabled:\n  - b # x\n  - a\n  # end\n"),
        ("plugins:\n  disabled:\n  -   b", "a", "", "plugins:\n  disabled:\n  -   b\n  -   a\n"),
        ("plugins:\n  disabled: # x\n  - b # y\n", "", "b", "plugins:\n  disabled: [] # x\n"),
        ("plugins:\n  disabled:\n  - b\n  # of c\n  - c\n", "", "b", "plugins:\n  disabled:\n  # of c\n  - c\n"),
        ("plugins:\n  disabled: [b]\n", "", "a", "plugins:\n  disabled: [b]\n"),
        ("plugins: {disabled: [b]}\n", "no", "b", "plugins: {disabled: ['no']}\n"),
    ],
)
def test_a_list_is_changed_and_no_other_character(before, add, remove, after):
    assert changed(before, "plugins", "disabled", add.split(), remove.split()) == after


@pytest.mark.parametrize(
    "text", ["{x: 1}\n", "plugins: &a {disabled: [b]}\nother: *a\n", "plugins: !!map {? disabled : [b]}\n---\n"]
)
def test_what_cannot_be_changed_alone_is_an_error(text):
    with pytest.raises((ValueError, YAMLError)):
        changed(text, "plugins", "disabled", ["a"])
