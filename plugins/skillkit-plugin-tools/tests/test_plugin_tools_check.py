"""The report card: each broken promise is one line, of a folder, a wheel and an installed plugin."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from skillkit_plugin_tools.card.building import BuildFailed, wheel_of
from skillkit_plugin_tools.card.importing import import_checks
from skillkit_plugin_tools.card.packaging import package_checks
from skillkit_plugin_tools.card.reading import source_checks
from skillkit_plugin_tools.card.skills import skill_check
from skillkit_plugin_tools.card.subject import found
from skillkit_plugin_tools.new import make

from skillkit_core import UnknownName, UsageError


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """The package of a tool, in which a test breaks something; the current folder is an empty one."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return make(tmp_path / "skillkit-mine", "tool", name="mine", package="skillkit-mine")


def code(project: Path) -> Path:
    return project / "src/skillkit_mine/__init__.py"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def failed(checks) -> dict[str, tuple[str, ...]]:
    return {one.name: one.details for one in checks if one.state == "failed"}


@pytest.mark.smoke
def test_what_is_wrong_with_a_package_is_said(project):
    pyproject = project / "pyproject.toml"
    change(pyproject, 'dependencies = ["skillkit-core>=0.2,<0.3"]', 'dependencies = ["skillkit-core"]')
    for line in (
        'description = "A tool for models, a plugin of SkillKit"\n',
        'readme = "README.md"\n',
        'license = "MIT"\n',
    ):
        change(pyproject, line, "")
    change(pyproject, 'license-files = ["LICENSE"]\n', "")
    change(pyproject, 'requires-python = ">=3.11"\n', "")
    change(pyproject, 'packages = ["src/skillkit_mine"]', 'packages = ["src/skillkit_mine", "tests"]')
    change(pyproject, "[build-system]", 'gone = "skillkit_mine.gone"\n\n[build-system]')
    (project / "src/skillkit_mine/py.typed").unlink()
    with found(str(project)) as subject:
        wrong = failed(package_checks(subject))
    assert wrong["contents"] == (
        "the module skillkit_mine.gone of plugin 'gone' is not in the wheel",
        "tests/test_mine.py is a test: it would be installed beside the package",
    )
    assert [line.partition(":")[0] for line in wrong["metadata"]] == [
        "there is no description", "there is no README", "there is no licence", "the Python versions are not said",
    ]  # fmt: skip
    assert len(wrong["api"]) == 2
    assert wrong["typed"] == ("skillkit_mine/py.typed is missing",)


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ("skillkit-core>=9,<10", "leaves out"),
        ("skillkit-core>=0.1", "has no end"),
        ("skillkit-core<99", "has no beginning"),
        ("skillkit-testkit>=0.1", "is not among its dependencies"),
    ],
)
def test_a_range_of_the_core_that_does_not_fit_is_said(project, needs, said):
    change(project / "pyproject.toml", "skillkit-core>=0.2,<0.3", needs)
    with found(str(project)) as subject:
        assert said in failed(package_checks(subject))["api"][0]


def test_what_stands_in_the_sources_is_said_with_its_line(project):
    code(project).write_text(
        '"""Mine."""\n'
        "import skillkit_core.agent.loop\n"
        "from skillkit_core import Tool, hookimpl, no_such_name\n"
        "from skillkit_core.host.manager import Host\n"
        "from skillkit_core.testing import ScriptedModel\n"
        "from skillkit_bash.runtime import BashRuntime\n"
        "def before_tool_call(event): ...\n"
        "def helper(): ...\n"
        "class Helper: ...\n"
        "def _private(): ...\n"
        "@hookimpl\n"
        "def register_tools(register): ...\n"
    )
    (project / "src/skillkit_mine/more.py").write_text("x = 1\n")
    with found(str(project)) as subject:
        wrong = failed(source_checks(subject))
    file = "skillkit_mine/__init__.py"
    assert wrong["hooks"] == (f"{file}:7: before_tool_call has no @hookimpl, so nobody calls it",)
    assert wrong["docs"] == (
        f"{file}:7: before_tool_call has no docstring",
        f"{file}:8: helper has no docstring",
        f"{file}:9: Helper has no docstring",
        "skillkit_mine/more.py:1: the module has no docstring",
    )
    assert [line.split(": ")[1].removesuffix(" may change with any version") for line in wrong["public"]] == [
        "import skillkit_core.agent.loop",
        "from skillkit_core import no_such_name",
        "from skillkit_core.host.manager import Host",
        "from skillkit_bash.runtime import BashRuntime",
    ]


EFFECTS = """
import atexit, locale, logging, os, signal, socket, subprocess, sys, threading, warnings
print("hello")
open("/tmp/written-by-mine", "w").close()
os.environ["MINE"] = "1"
logging.basicConfig(level=10)
threading.Thread(target=threading.Event().wait, name="mine", daemon=True).start()
socket.socket().bind(("127.0.0.1", 0))
subprocess.run([sys.executable, "-c", ""])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
warnings.simplefilter("ignore")
sys.path.append("/nowhere")
atexit.register(print)
"""


def test_each_thing_that_an_import_does_is_said_with_its_line(project, tmp_path):
    acting = EFFECTS.replace("/tmp/", f"{tmp_path}/")
    text = code(project).read_text().replace("from skillkit_core", f"{acting}from skillkit_core", 1)
    code(project).write_text(text)
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "written-by-mine" in one)
    with found(str(project)) as subject:
        (acts,) = [one.details for one in import_checks(subject, {}) if one.name == "import"]
    assert f"writes {tmp_path}/written-by-mine (skillkit_mine/__init__.py:{line})" in acts
    assert f"opens a socket (skillkit_mine/__init__.py:{line + 4})" in acts
    assert f"starts a process (skillkit_mine/__init__.py:{line + 5})" in acts
    for said in (
        "prints 'hello'",
        "leaves a thread running: mine",
        "changes an environment variable: MINE",
        "changes the root logger",
        "changes the handler of a signal: SIGTERM",
        "changes the filters of warnings",
        "changes sys.path",
        "changes what runs at the end",
    ):
        assert any(act.startswith(said) for act in acts), (said, acts)


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("from skillkit_core import", "from nowhere import", "alone", "__init__.py:9: ModuleNotFoundError"),
        ("def register_tools", "def register_tool", "alone", "unknown hook 'register_tool'"),
        ("register: Callable[[Tool], None]", "registry: Any", "alone", "registry"),
        ("register(Tool", "register((Tool", "alone", "SyntaxError"),
        ("    about = ", "    raise RuntimeError('boom')\n    about = ", "alone", "boom"),
        ("mine_tool, PARAMETERS", "'skillkit_mine:gone', PARAMETERS", "items", "names skillkit_mine:gone: module"),
        ('about = "How long a text takes to read."', 'about = ""', "items", "has no description"),
        ('"how many words a person reads in a minute"', '""', "items", "mine.words_per_minute has no description"),
        ('"mine", Settings', '"mine", dict', "items", "neither a pydantic model nor a dataclass"),
        ("from typing import Any", "from typing import Any\nimport unittest.mock", "cost", "modules, most of asyncio"),
        ("from typing import Any", "from typing import Any\nimport os\nos._exit(3)", "alone", "its import ended the process"),
    ],
    ids=["module", "hook", "argument", "syntax", "raises", "target", "description", "setting", "section", "cost", "exit"],
)  # fmt: skip
def test_a_plugin_that_does_not_register_is_one_line(project, old, new, check, said):
    change(code(project), old, new)
    with found(str(project)) as subject:
        wrong = failed(import_checks(subject, {}))
    assert said in wrong[check][0]
    assert "\n" not in wrong[check][0]


def test_a_hook_beyond_what_the_plugin_declares_is_said(project):
    (project / "src/skillkit_mine/plugin.yaml").write_text("needs: {hooks: [register_config, register_commands]}\n")
    with found(str(project)) as subject:
        (line,) = failed(import_checks(subject, {}))["alone"]
    assert "register_tools" in line


def test_skills_that_nobody_finds_and_packages_without_one_are_said(tmp_path):
    folder = make(tmp_path / "mine", "skills", name="mine", package="mine")
    (folder / "src/mine/mine/SKILL.md").write_text("---\nname: mine\n---\n")
    change(folder / "pyproject.toml", "[build-system]", 'empty = "mine.nothing"\n\n[build-system]')
    with found(str(folder)) as subject:
        wrong = failed([skill_check(subject)])["skills"]
    assert wrong[0] == "the package mine.nothing of 'empty' has no SKILL.md in the wheel"
    assert wrong[1].startswith("mine/mine/SKILL.md: there is no description")
    change(folder / "pyproject.toml", 'mine = "mine"\n', "")
    with found(str(folder)) as subject:
        wrong = failed([skill_check(subject)])["skills"]
    assert wrong[0] == "mine/mine/SKILL.md is in no package of [skillkit.skills]: nobody finds it"


def test_a_card_is_a_line_for_each_promise_and_ends_with_one_when_one_is_broken(skillkit_cli, project):
    change(project / "pyproject.toml", 'license = "MIT"\n', "")
    change(code(project), '{"mutates": "none"}', '{"mutates": "nothing"}')
    (project / "tests/test_mine.py").write_text("def test_of_mine():\n    assert 1 == 2, 'one is not two'\n")
    done = skillkit_cli("plugins", "check", str(project))
    assert done.exit_code == 1
    lines = {line.split()[1]: line for line in done.stdout.splitlines()[1:-1]}
    assert lines["metadata"].startswith(
        "✗ metadata   people read what it is, and under which licence: there is no licence"
    )
    assert lines["tests"] == "✗ tests      its own tests pass: test_of_mine: AssertionError: one is not two"
    assert "ToolConformance, test_guards_read_what_each_tool_touches" in lines["contracts"]
    assert lines["docs"].startswith("✓")
    assert done.stdout.splitlines()[-1] == "12 passed, 3 failed, 1 not looked at; -v shows all that broke"
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("name", ["mine", pytest.param("skillkit-mine", marks=pytest.mark.slow)])
def test_a_wheel_and_an_installed_plugin_are_checked_too(skillkit_cli, project, tmp_path, monkeypatch, name):
    wheel = wheel_of(project, tmp_path)
    card = skillkit_cli("plugins", "check", "--json", str(wheel)).ok().json
    states = {one["name"]: one["state"] for one in card["checks"]}
    assert (states["tests"], states["contracts"], states["public"]) == ("skipped", "passed", "passed")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    installed = skillkit_cli("plugins", "check", "--json", name).ok().json
    assert {one["name"]: one["state"] for one in installed["checks"]} == states
    assert (installed["package"], installed["version"], installed["plugins"]) == ("skillkit-mine", "0.1.0", ["mine"])


def test_a_requirement_that_is_not_here_is_said_before_anything_is_imported(skillkit_cli, project):
    change(project / "pyproject.toml", '"]\nclassifiers', '", "no-such-package>=3"]\nclassifiers')
    done = skillkit_cli("plugins", "check", str(project))
    assert done.exit_code == 1
    assert "✗ needs      what it requires is met here: no-such-package>=3 is not installed here" in done.stdout


def test_a_folder_that_is_not_built_is_one_line_and_the_output_comes_on_demand(skillkit_cli, project):
    change(project / "pyproject.toml", 'version = "0.1.0"', 'version = "one"')
    done = skillkit_cli("plugins", "check", str(project))
    assert done.exit_code == 1
    assert done.stdout.startswith("✗ build      it builds a wheel: ")
    assert len(done.stdout.splitlines()) == 2
    assert len(skillkit_cli("plugins", "check", "-v", str(project)).stdout.splitlines()) > 4


def test_what_is_no_plugin_is_wrong_usage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"has no pyproject\.toml"), found("."):
        pass
    with pytest.raises(UnknownName, match="no-such-plugin"), found("no-such-plugin"):
        pass
    with pytest.raises(UsageError, match="there is no folder"), found("./gone"):
        pass


def test_a_backend_that_fails_says_its_last_line(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "mine"\nbackend-path = ["."]\n'
    )
    (tmp_path / "mine.py").write_text("def build_wheel(*args, **more):\n    raise SystemExit('no wheel today')\n")
    with pytest.raises(BuildFailed, match="no wheel today"):
        wheel_of(tmp_path, tmp_path)
