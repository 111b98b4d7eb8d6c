"""Python scripts that say what they need (PEP 723): run here, by uv where the user lets it fetch, or said to be missing."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import zipfile

import pytest
import skillkit_bash.plugin
import skillkit_skills.plugin
from skillkit_skills import run_action

from skillkit_core.errors import ToolError

NEEDS_UV = pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
SCRIPT = """\
# /// script
# requires-python = ">=3.11"
# dependencies = ["acme-tiny>=1; python_version > '3'", "acme-windows; sys_platform == 'win32'"]
# ///
import sys

import acme_tiny
from beside import NEIGHBOUR

print(acme_tiny.WORD, NEIGHBOUR, sys.argv[1:])
"""
MISSING = "main.py needs acme-tiny>=1; python_version > '3', which is not installed beside SkillKit"


def put(root, script=SCRIPT):
    folder = root / "s"
    folder.mkdir(parents=True)
    action = {"name": "go", "script": "main.py", "args": {"word": {"position": 1}}, "confirm": "never"}
    block = f"metadata: {{skillkit: {json.dumps({'actions': [action]})}}}"
    (folder / "SKILL.md").write_text(f"---\nname: s\ndescription: Use it.\n{block}\n---\nGo.\n")
    (folder / "main.py").write_text(script)
    (folder / "beside.py").write_text("NEIGHBOUR = 'and a neighbour'\n")
    return folder


def wheel(folder, version, word):
    """A folder with one package."""
    folder.mkdir()
    with zipfile.ZipFile(folder / f"acme_tiny-{version}-py3-none-any.whl", "w") as made:
        made.writestr("acme_tiny.py", f"WORD = {word!r}\n")
        info = f"acme_tiny-{version}.dist-info"
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: acme-tiny\nVersion: {version}\n")
        made.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{info}/RECORD", f"acme_tiny.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return folder


@pytest.fixture
def wheels(tmp_path, skillkit_home):
    """A package in the only place that the user's own uv settings name."""
    settings = skillkit_home.path / ".config" / "uv"
    settings.mkdir(parents=True)
    folder = wheel(tmp_path / "wheels", "1.0", "fetched")
    (settings / "uv.toml").write_text(f"no-index = true\nfind-links = [{json.dumps(str(folder))}]\n")


@pytest.fixture
def go(make_host):
    """Run the action of the skill in the user's folder, on a host of its own."""

    def run(**options):
        host = make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin), **options)
        skill = host.skills.get("s")
        return asyncio.run(run_action(host, skill, skill.actions[0], {"word": "now"}))

    return run


def test_what_is_missing_is_named_and_how_to_allow_it(go, skillkit_home):
    put(skillkit_home.config_dir / "skills")
    with pytest.raises(ToolError) as refused:
        go()
    allow = f"'skills.entries.s.fetch: true' in {skillkit_home.config_dir / 'config.yaml'}"
    assert str(refused.value) == f"{MISSING}; install it there, or let uv fetch it for this skill: {allow}"


@NEEDS_UV
@pytest.mark.usefixtures("wheels")
def test_uv_brings_it_where_the_user_allowed_that(go, skillkit_home):
    put(skillkit_home.config_dir / "skills")
    skillkit_home.write_config("skills:\n  entries:\n    s: {fetch: true}\n")
    assert go().text == "fetched and a neighbour ['now']\n"


@NEEDS_UV
@pytest.mark.parametrize("file", ["uv.toml", "pyproject.toml"])
@pytest.mark.usefixtures("wheels")
def test_the_workspace_does_not_say_where_packages_come_from(go, skillkit_cli, skillkit_home, tmp_path, file):
    put(skillkit_home.cwd / ".skillkit" / "skills")
    skillkit_cli("config", "trust", ".", "--yes").ok()
    settings = f"find-links = [{json.dumps(str(wheel(tmp_path / 'stolen', '9.0', 'stolen')))}]\n"
    (skillkit_home.cwd / file).write_text(settings if file == "uv.toml" else f"[tool.uv]\n{settings}")
    result = go(settings={"skills.entries.s.fetch": True})
    assert result.ok and result.text == "fetched and a neighbour ['now']\n"


@NEEDS_UV
@pytest.mark.usefixtures("wheels")
def test_what_uv_cannot_find_is_said(go, skillkit_home):
    put(skillkit_home.config_dir / "skills", SCRIPT.replace("acme-tiny>=1", "acme-tiny>=2"))
    result = go(settings={"skills.entries.s.fetch": True})
    assert not result.ok and "acme-tiny" in result.stderr


def test_a_trusted_project_allows_nothing_and_may_forbid(go, skillkit_cli, skillkit_home):
    folder = skillkit_home.cwd / ".skillkit"
    put(skillkit_home.config_dir / "skills")
    folder.mkdir()
    for project, user in (("true", None), ("true", "false"), ("false", "true")):
        (folder / "config.yaml").write_text(
            f"skills: {{max_catalogue_chars: 77, entries: {{s: {{fetch: {project}}}}}}}\n"
        )
        skillkit_home.write_config(f"skills: {{entries: {{s: {{fetch: {user}}}}}}}\n" if user else "")
        skillkit_cli("config", "trust", ".", "--yes").ok()
        with pytest.raises(ToolError, match="needs acme-tiny"):
            go()


def test_without_uv_the_call_says_so(go, skillkit_home, monkeypatch):
    put(skillkit_home.config_dir / "skills")
    monkeypatch.setenv("PATH", "/usr/bin/none")
    with pytest.raises(ToolError, match="and uv, which would fetch it, is not on PATH; install uv: pip install uv"):
        go(settings={"skills.entries.s.fetch": True})


@pytest.mark.parametrize("needs", ["[]", '["packaging>=20"]', "[\"acme-tiny; sys_platform == 'win32'\"]"])
def test_a_script_whose_needs_are_met_runs_with_this_interpreter(go, skillkit_home, needs):
    header = f"# /// script\n# dependencies = {needs}\n# ///\n"
    put(skillkit_home.config_dir / "skills", header + "import sys\nprint(sys.executable)\n")
    assert go().text == f"{sys.executable}\n"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ('# requires-python = ">=4"', "main.py needs Python >=4, which is not installed"),
        ("# dependencies = [", "the header of main.py (PEP 723) cannot be read"),
        ('# dependencies = ["a b"]', "the header of main.py (PEP 723) cannot be read"),
        ('# dependencies = ["packaging @ https://127.0.0.1:9/x.whl"]', "main.py needs packaging @ https"),
    ],
    ids=["python", "toml", "requirement", "address"],
)
def test_a_header_that_cannot_be_met_is_said(go, skillkit_home, header, says):
    put(skillkit_home.config_dir / "skills", f"# /// script\n{header}\n# ///\nprint(1)\n")
    with pytest.raises(ToolError) as refused:
        go()
    assert str(refused.value).startswith(says)
