"""New packages: at most eight files, typed, formatted, built with tests beside them, green at once, never over others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import skillkit_transport
from packaging.requirements import Requirement
from skillkit_plugin_tools.card.building import wheel_of
from skillkit_plugin_tools.new import FAMILIES, KINDS, make

from skillkit_core import UsageError, __version__
from skillkit_core.host.discovery import EntryPoint
from skillkit_core.host.manifest import read_manifest

NEEDS_BASE = {"provider"} if "HTTPAdapter" not in skillkit_transport.__all__ else set()
ALL = [*KINDS, *(f"family-{name}" for name in FAMILIES)]
CODE = [kind for kind in ALL if kind != "skills" and kind not in NEEDS_BASE]
PROMISED = {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", ".github/workflows/ci.yml"}


def files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Path]:
    """A package of each kind."""
    folder = tmp_path_factory.mktemp("made")
    names = {kind: f"my-{kind}" for kind in ALL}
    return {kind: make(folder / f"skillkit-{n}", kind, name=n, package=f"skillkit-{n}") for kind, n in names.items()}


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ALL)
def test_a_new_package_has_at_most_eight_files_and_its_own_name_everywhere(made, kind):
    folder = made[kind]
    assert len(files(folder)) <= (9 if kind == "family-engines" else 8)  # an engine is imported when a skill needs it
    assert files(folder) >= PROMISED
    for name in files(folder):
        text = (folder / name).read_text()
        assert not re.search("acme|YEAR", name + text, re.IGNORECASE), name
        assert text.endswith("\n") or not text, name
    module = f"skillkit_my_{kind.replace('-', '_')}"
    assert any(name.startswith(f"src/{module}/") for name in files(folder))


def test_requirements_of_the_templates_admit_this_core(made):
    text = "".join((folder / "pyproject.toml").read_text() for folder in made.values())
    needs = {Requirement(found) for found in re.findall(r'"(skillkit-[^"]*[<>=][^"]*)"', text)}
    assert {one.name for one in needs} >= {"skillkit-core", "skillkit-testkit", "skillkit-default"}
    assert [str(one) for one in needs if not one.specifier.contains(__version__, prereleases=True)] == []


@pytest.mark.slow
def test_new_packages_are_typed(made, tmp_path):
    sources = [str(made[kind] / "src") for kind in CODE]
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        os.devnull,
        "--cache-dir",
        str(tmp_path),
        *sources,
    ]
    done = subprocess.run(mypy, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_new_packages_are_checked_and_formatted(made, tmp_path):
    for action in (("check", "--select", "E,F,W,I,UP,B,SIM"), ("format", "--check")):
        ruff = [sys.executable, "-m", "ruff", *action, "--no-cache", *map(str, made.values())]
        done = subprocess.run(ruff, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", ALL)
def test_a_new_package_is_built_and_its_wheel_has_what_runs_and_no_tests(made, tmp_path, kind):
    names = zipfile.ZipFile(wheel_of(made[kind], tmp_path)).namelist()
    assert [name for name in names if "test" in name.lower() and not name.endswith("evals/tests.yaml")] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)
    wanted = "SKILL.md" if kind == "skills" else "py.typed"
    assert any(name.endswith(wanted) for name in names)


def card(folder: Path, home: Path) -> dict:
    argv = [sys.executable, "-m", "skillkit_core", "plugins", "check", "--json", str(folder)]
    env = {**os.environ, "SKILLKIT_HOME": str(home)}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=home)
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["ok"] else 1)
    return found


def failed(found: dict) -> list[str]:
    return [f"{one['name']}: {one['line']}" for one in found["checks"] if one["state"] == "failed"]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == "tool" else pytest.mark.slow) for kind in ALL if kind not in NEEDS_BASE],
)
def test_the_report_card_of_a_new_package_is_green_with_its_own_tests(made, tmp_path, kind):
    found = card(made[kind], tmp_path)
    assert failed(found) == []
    states = {one["name"]: one["state"] for one in found["checks"]}
    assert states["tests"] == "passed"
    if kind not in ("family", "family-engines"):
        assert states["contracts"] == "passed"


def test_the_command_says_what_to_do_next(skillkit_cli, skillkit_home):
    done = skillkit_cli("plugins", "new", "station", "--kind", "tool").ok()
    first, *rest = done.stdout.splitlines()
    assert first == "✓ skillkit-station: 8 files, what a model can call."
    assert [line.split("  ")[1] for line in rest] == [
        "cd skillkit-station", "uv run pytest", "uv run skillkit dev", "uv run skillkit plugins check .",
    ]  # fmt: skip
    assert (skillkit_home.cwd / "skillkit-station/src/skillkit_station/__init__.py").is_file()


def test_a_member_of_a_family_is_made_by_its_name(skillkit_cli, skillkit_home):
    done = skillkit_cli("plugins", "new", "poet", "--kind", "family", "--of", "engines").ok()
    assert "an engine, which does the work of skills" in done.stdout
    assert "class PoetEngine" in (skillkit_home.cwd / "skillkit-poet/src/skillkit_poet/engine.py").read_text()
    refused = skillkit_cli("plugins", "new", "other", "--kind", "tool", "--of", "engines")
    assert refused.exit_code == 2 and "--of engines is for --kind family" in refused.stderr


@pytest.mark.parametrize("kind", CODE)
def test_a_new_package_may_declare_what_it_needs_and_loads_with_it(made, tmp_path, kind):
    folder = make(tmp_path / "mine", kind, name="mine", package="mine", declare=True)
    text = (folder / "src/mine/plugin.yaml").read_text()
    entry = EntryPoint("skillkit.plugins", "mine", "mine", "mine", "1", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "src"))
        manifest = read_manifest(entry)
    assert manifest is not None
    source = (folder / "src/mine/__init__.py").read_text()
    assert set(manifest.needs["hooks"]) == set(
        re.findall(r"^(?:async )?def ((?:register|before|after|tool|session)_\w+)", source, re.M)
    )
    assert manifest.needs["secrets"] == (("MINE_API_KEY",) if kind == "provider" else ()), text
    assert "mine/plugin.yaml" in zipfile.ZipFile(wheel_of(folder, tmp_path)).namelist()


def test_a_package_may_have_a_name_of_its_own(skillkit_cli, skillkit_home):
    skillkit_cli("plugins", "new", "station", "--kind", "guard", "--package", "Acme.Station").ok()
    project = (skillkit_home.cwd / "Acme.Station/pyproject.toml").read_text()
    assert 'name = "Acme.Station"' in project
    assert 'station = "acme_station"' in project
    assert (skillkit_home.cwd / "Acme.Station/src/acme_station/__init__.py").is_file()


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Weather", "--kind", "tool"], "'Weather' is no name of a plugin"),
        (["two words", "--kind", "tool"], "is no name of a plugin"),
        (["../up", "--kind", "tool"], "is no name of a plugin"),
        (["weather", "--kind", "tool", "--package", "../up"], "is no name of a package"),
        (["bash", "--kind", "tool"], "there is a package called 'skillkit-bash'"),
        (["bash", "--kind", "tool", "--package", "mine"], "there is a plugin called 'bash': skillkit-bash"),
        (["core", "--kind", "tool"], "there is a package called 'skillkit-core'"),
        (["transport", "--kind", "skills"], "there is a package called 'skillkit-transport'"),
        (["x", "--kind", "tool", "--package", "PyYAML"], "there is a package called 'PyYAML'"),
        (["weather", "--kind", "agent"], "'agent' is not one of"),
        (["weather"], "Missing option '--kind'"),
    ],
    ids=["capital", "blank", "up", "package", "package-taken", "taken", "core", "library", "any", "kind", "none"],
)
def test_what_cannot_be_made_is_said_and_nothing_is_written(skillkit_cli, skillkit_home, words, said):
    done = skillkit_cli("plugins", "new", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert list(skillkit_home.cwd.iterdir()) == []


def test_a_folder_that_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("keep")
    with pytest.raises(UsageError, match="is there already"):
        make(tmp_path / "mine", "tool", name="mine", package="mine")
    assert files(tmp_path) == {"mine/notes"}
