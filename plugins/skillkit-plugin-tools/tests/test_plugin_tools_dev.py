"""``skillkit dev``: the plugin of a folder runs without an installation, and what is saved takes the old version's place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from skillkit_plugin_tools.new import make
from skillkit_plugin_tools.project import Project
from skillkit_plugin_tools.reloading import reload

from skillkit_core import UsageError, hookimpl


@pytest.fixture
def project(skillkit_home) -> Path:
    """The package of a command, as ``plugins new`` makes it; the current folder."""
    folder = make(skillkit_home.cwd / "skillkit-mine", "command", name="mine", package="skillkit-mine")
    return folder


def code(project: Path) -> Path:
    return project / "src/skillkit_mine/__init__.py"


@pytest.mark.smoke
def test_a_command_of_the_folder_runs_without_an_installation(skillkit_cli, project):
    assert "mine" not in skillkit_cli("plugins", "list").stdout
    rows = skillkit_cli("dev", "mine", "--json", cwd=project / "tests").ok().json  # a folder below is as good
    assert {"plugin": "mine", "hooks": 1} in rows
    info = skillkit_cli("dev", "plugins", "info", "mine", "--json", cwd=project).ok().json
    assert (info["distribution"], info["version"], info["reason"]) == ("skillkit-mine", "0.1.0", "enabled by -P mine")


def test_options_and_exit_codes_are_those_of_the_command(skillkit_cli, project):
    assert skillkit_cli("dev", "mine", "--least", "x", cwd=project).exit_code == 2
    assert "Count the hooks" in skillkit_cli("dev", "mine", "--help", cwd=project).ok().stdout
    assert skillkit_cli("dev", "dev", cwd=project).exit_code == 2
    assert skillkit_cli("dev", "no-such-command", cwd=project).exit_code == 2


def test_a_plugin_that_does_not_load_is_one_line_and_the_command_runs(skillkit_cli, project):
    code(project).write_text("boom(")
    done = skillkit_cli("dev", "plugins", "list", cwd=project).ok()
    assert "skillkit-bash" in done.stdout
    assert done.stderr == f"Error: mine: SyntaxError: '(' was never closed (__init__.py, line 1) ({code(project)}:1)\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no pyproject.toml"),
        ("[project", "pyproject.toml"),
        ('[project]\nname = "mine"\n', "names no plugin"),
        ('[project.entry-points."skillkit.plugins"]\nmine = "gone"\n', "there is no module 'gone'"),
    ],
    ids=["none", "broken", "plain", "gone"],
)
def test_a_folder_without_a_plugin_is_said(tmp_path, text, said):
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=said.replace(".", r"\.")):
        Project.around(tmp_path)


class Reloaded:
    """A host that has the plugin of a project, whose files a test changes."""

    def __init__(self, folder: Path, make_host) -> None:
        self.project = Project.around(folder)
        sys.path.insert(0, str(self.project.source))
        import skillkit_mine

        self.host = make_host(("mine", skillkit_mine))

    def save(self, text: str) -> str:
        code(self.project.folder).write_text(text)
        line, _ = reload(self.host, self.project)
        return line

    @property
    def helps(self) -> list[str]:
        return [entry.item.help for entry in self.host.commands.entries()]


@pytest.fixture
def reloaded(project, make_host, monkeypatch) -> Reloaded:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Reloaded(project, make_host)
    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == "skillkit_mine"]:
        del sys.modules[name]


def test_what_is_saved_takes_the_place_of_the_old_version(reloaded):
    text = code(reloaded.project.folder).read_text()
    assert reloaded.save(text.replace("Count the hooks", "Name the hooks")) == "mine reloaded"
    assert reloaded.helps == ["Name the hooks of each plugin."]
    reloaded.save(text.replace("hooks of", "Hooks of"))  # within the same second, of the same length
    assert reloaded.helps == ["Count the Hooks of each plugin."]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("register(Command(", "register((Command(", "src/skillkit_mine/__init__.py:16: '(' was never closed"),
        ("from typing import Any", "from typing import Any\nimport nowhere", "__init__.py:7: ModuleNotFoundError"),
        ("def register_commands", "def register_command", "unknown hook 'register_command'"),
        ("register(Command(", "register(str(", "register_commands: "),
        ("from typing import Any", "from typing import Any\nraise SystemExit(3)", "__init__.py:7: SystemExit: 3"),
    ],
    ids=["syntax", "import", "hook", "item", "exit"],
)  # fmt: skip
def test_an_error_is_one_line_and_the_last_good_version_stays(reloaded, old, new, said):
    module, text = sys.modules["skillkit_mine"], code(reloaded.project.folder).read_text()
    line = reloaded.save(text.replace(old, new, 1))
    assert line.startswith("mine stays as it was: ") and said in line
    assert "\n" not in line
    assert reloaded.helps == ["Count the hooks of each plugin."]
    assert sys.modules["skillkit_mine"] is module
    assert reloaded.save(text.replace("Count", "Mend")) == "mine reloaded"
    assert reloaded.helps == ["Mend the hooks of each plugin."]


def test_other_plugins_stay_when_one_is_reloaded(reloaded):
    class Other:
        name = "other"
        seen: tuple[str, ...] = ()

        @hookimpl
        def host_shutdown(self, host):
            type(self).seen = (*self.seen, "shut down")

    reloaded.host.add_plugin(Other())
    reloaded.save(code(reloaded.project.folder).read_text() + "\n")
    assert list(reloaded.host.plugins) == ["other", "mine"]
    assert Other.seen == ()


def test_a_conversation_goes_on_with_what_is_saved(skillkit_cli, project):
    text = code(project).read_text()
    with skillkit_cli.terminal("dev", "chat", cwd=project) as terminal:
        terminal.wait_for("is reloaded")
        terminal.wait_for("offline")
        terminal.send("what is 15% of 80\r")
        terminal.wait_for("= 12")
        code(project).write_text(f"{text}\nboom(\n")
        terminal.wait_for("mine stays as it was: src/skillkit_mine/__init__.py:")
        code(project).write_text(f"{text}\n")
        terminal.wait_for("mine reloaded")
        terminal.send("/quit\r")
        assert terminal.wait() == 0
