"""What an environment's package manager is asked, for each kind of environment, and nothing that was there is left out."""

import json
import shlex
import sys

import pytest
from skillkit_plugin_packages.environment import Installed, environment, project_of
from skillkit_plugin_packages.source import read_source

from skillkit_core.errors import SkillKitError, UsageError

RECEIPT = """
[tool]
requirements = [
    { name = "skillkit-default" },
    { name = "acme-a", extras = ["x"], specifier = ">=1" },
    { name = "acme-b", directory = "/home/me/acme b" },
    { name = "acme-c", git = "https://example.invalid/c?subdirectory=sub&rev=v1" },
    { name = "acme-d", editable = "/home/me/d" },
    { name = "acme-e", marker = "python_full_version < '4'", specifier = ">=13" },
    { name = "acme-f", url = "https://example.invalid/f-1.zip" },
    { name = "acme-g" },
]
constraints = [{ name = "rich", specifier = "<16" }]
python = "3.11"
entrypoints = [
    { name = "skillkit", install-path = "/home/me/.local/bin/skillkit", from = "skillkit-default" },
    { name = "g", install-path = "/home/me/.local/bin/g", from = "acme-g" },
]

[tool.options]
index = [
    { name = "own", url = "https://example.invalid/simple", explicit = false, default = false },
    { url = "https://example.invalid/all", default = true },
]
find-links = ["file:///wheels", "file:///more"]
no-build-package = ["x"]
exclude-newer-package = { rich = "2026-01-01T00:00:00Z" }
no-sources = true
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Let this process seem to run in an environment with these files, and return what it is."""
    prefix = tmp_path / "tools" / "skillkit-default"
    prefix.mkdir(parents=True)
    uv = tmp_path / "uv"
    uv.touch()
    monkeypatch.setenv("UV", str(uv))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("UV_PROJECT_ENVIRONMENT", raising=False)
    monkeypatch.setattr(sys, "prefix", str(prefix))

    def make(**files):
        for name, text in files.items():
            (tmp_path / name.replace("__", "/").replace("_toml", ".toml").replace("_json", ".json")).write_text(text)
        return environment(tmp_path / "kept")

    make.prefix, make.root = prefix, tmp_path
    return make


def receipt(place, text=RECEIPT):
    (place.prefix / "uv-receipt.toml").write_text(text)
    return place()


def lines(steps):
    return [shlex.join(step.words[1:]) for step in steps]


def test_a_uv_tool_is_told_all_that_it_was_installed_with(place, tmp_path):
    tool = receipt(place)
    (step,) = tool.install([read_source("acme-new", tmp_path)], False, [])
    words = list(step.words)

    withs = [words[i + 1] for i, word in enumerate(words) if word == "--with"]
    assert words[1:4] == ["tool", "install", "skillkit-default"]
    assert withs == [
        "acme-a[x]>=1",
        "acme-b @ file:///home/me/acme%20b",
        "acme-c @ git+https://example.invalid/c@v1#subdirectory=sub",
        "acme-e>=13 ; python_full_version < '4'",
        "acme-f @ https://example.invalid/f-1.zip",
        "acme-new",
    ]
    said = shlex.join(words)
    assert "--with-editable /home/me/d" in said and "--with-executables-from acme-g" in said and "--python 3.11" in said
    for option in (
        "--index own=https://example.invalid/simple", "--default-index https://example.invalid/all", "--no-sources",
        "--find-links file:///wheels --find-links file:///more",
        "--no-build-package x", "--exclude-newer-package rich=2026-01-01T00:00:00Z",
    ):  # fmt: skip
        assert option in said
    (constraints,) = step.files
    assert step.files[constraints] == "rich<16\n" and f"--constraints {constraints}" in said


def test_a_package_that_is_there_is_said_once_in_its_new_form(place, tmp_path):
    (step,) = receipt(place).install([read_source("acme-a==2", tmp_path)], False, [])
    assert "acme-a==2" in step.words and not any("[x]" in word for word in step.words)


def test_what_a_uv_tool_loses_is_what_is_to_be_removed(place):
    tool = receipt(place)
    (all_,) = tool.uninstall([])
    (left,) = tool.uninstall(["acme-a"])
    assert [word for word in all_.words if word not in left.words] == ["acme-a[x]>=1"]
    (one,) = tool.upgrade([Installed("acme-a", "acme-a")])
    assert one.words == (*all_.words, "--upgrade-package", "acme-a")
    assert lines(tool.upgrade([], everything=True)) == ["tool upgrade skillkit-default"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{ name = "acme-g" }', '{ name = "acme-g", wormhole = true }'),
        ("no-sources = true", "wormhole = true"),
        ("explicit = false", "explicit = true"),
        ("rev=v1", "rev=v1&lfs=true"),
        ("[tool]", "[tools]"),
    ],
)
def test_what_cannot_be_said_again_is_an_error_and_not_left_out(place, old, new):
    with pytest.raises(SkillKitError, match=r"uv-receipt.toml: cannot carry over"):
        receipt(place, RECEIPT.replace(old, new)).uninstall([])


PROJECT = """
[project]
name = "mine"
version = "0"
dependencies = ["requests"]
[dependency-groups]
ai = ["skillkit-default>=0.1", {include-group = "x"}, "acme-a>=1"]
x = ["acme-b"]
"""


def test_a_uv_project_gets_its_dependencies_where_skillkit_stands(place, tmp_path):
    project = place(tools__pyproject_toml=PROJECT, **{"tools__uv.lock": ""})
    folder = tmp_path / "acme-new"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "acme-new"\n')
    assert project.title == f"the uv project {tmp_path / 'tools'}"

    assert lines(project.install([read_source("acme-new", tmp_path)], False, [])) == ["add --group ai acme-new"]
    assert lines(project.install([read_source("./acme-new", tmp_path)], True, [])) == [
        f"add --group ai --editable {folder}"
    ]
    assert lines(project.uninstall(["acme-a", "acme-b"])) == ["remove --group ai acme-a", "remove --group x acme-b"]
    assert lines(project.upgrade([Installed("acme-a", "acme-a")])) == ["sync --inexact --upgrade-package acme-a"]
    with pytest.raises(UsageError, match="acme-c does not stand in"):
        project.uninstall(["acme-c"])


def test_an_absolute_environment_belongs_to_the_project_that_is_in_it_and_not_to_the_folder_one_stands_in(
    tmp_path, monkeypatch
):
    prefix = tmp_path / "environments" / "mine"
    info = prefix / "lib" / "python3.11" / "site-packages" / "mine-1.dist-info"
    info.mkdir(parents=True)
    for name in ("mine", "foreign"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "uv.lock").touch()
        (tmp_path / name / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    (info / "direct_url.json").write_text(json.dumps({"url": (tmp_path / "mine").as_uri(), "dir_info": {}}))
    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", str(prefix))
    monkeypatch.chdir(tmp_path / "foreign")
    assert project_of(prefix) is None
    monkeypatch.chdir(tmp_path / "mine")
    assert project_of(prefix) == tmp_path / "mine"
    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", "../environments/mine")
    assert project_of(prefix) == tmp_path / "mine"


def test_pipx_injects_with_what_the_application_was_installed_with(place, tmp_path):
    (place.root / "pipx").touch(mode=0o755)
    about = {"main_package": {"package": "skillkit-default", "pip_args": ["--index-url", "https://example.invalid"]}}
    (place.prefix / "pipx_metadata.json").write_text(json.dumps(about))
    application = place()

    assert application.own == "skillkit-default"
    assert lines(application.install([read_source("acme-a", tmp_path)], False, [])) == [
        "inject '--pip-args=--index-url https://example.invalid' skillkit-default acme-a"
    ]
    assert lines(application.uninstall(["acme-a"])) == ["uninject --leave-deps skillkit-default acme-a"]
    assert lines(application.upgrade([])) == ["upgrade --include-injected skillkit-default"]


def test_a_virtual_environment_upgrades_a_private_package_from_where_it_came(place):
    environment_ = place()
    (step,) = environment_.upgrade(
        [Installed("acme-a", "git+https://example.invalid/a@main"), Installed("acme-b", "acme-b")]
    )
    assert step.words[-3:] == ("--upgrade", "git+https://example.invalid/a@main", "acme-b")


def test_a_cache_and_the_system_are_refused_with_a_way_out(place, monkeypatch):
    (place.root / "tools" / "CACHEDIR.TAG").touch()
    with pytest.raises(UsageError, match=r"an environment of a cache .*uv tool install skillkit-default"):
        place()
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    with pytest.raises(UsageError, match=r"the Python of the system .*uv tool install skillkit-default"):
        place()


@pytest.mark.parametrize(
    ("said", "kind", "text", "package"),
    [
        ("acme", "name", "acme", "acme"),
        ("Acme.Tools[x]>=1,<2", "name", "Acme.Tools[x]>=1,<2", "acme-tools"),
        ("acme==1.0", "name", "acme==1.0", "acme"),
        ("git+https://example.invalid/a@v1", "git", "git+https://example.invalid/a@v1", ""),
        ("https://example.invalid/a.git", "git", "git+https://example.invalid/a.git", ""),
        ("https://example.invalid/me/a", "git", "git+https://example.invalid/me/a", ""),
        ("git@example.invalid:me/a.git", "git", "git+ssh://git@example.invalid/me/a.git", ""),
        ("https://example.invalid/acme_a-1.0-py3-none-any.whl", "url", None, "acme-a"),
        ("./acme_a-1.0-py3-none-any.whl", "file", None, "acme-a"),
        ("acme_a-1.0-py3-none-any.whl", "file", None, "acme-a"),
        ("./acme_a-1.0.tar.gz", "file", None, "acme-a"),
        ("./project", "folder", None, "acme-p"),
        ("./old", "folder", None, ""),
    ],
)
def test_a_source_is_a_name_a_path_or_an_address(tmp_path, said, kind, text, package):
    for name in ("acme_a-1.0-py3-none-any.whl", "acme_a-1.0.tar.gz"):
        (tmp_path / name).touch()
    for name, file, content in (("project", "pyproject.toml", '[project]\nname = "Acme_P"\n'), ("old", "setup.py", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(content)
    found = read_source(said, tmp_path)
    assert (found.kind, found.package) == (kind, package)
    assert found.text == (text or (said if "://" in said else str(tmp_path / said)))


@pytest.mark.parametrize(
    "said", ["--index-url=https://evil.invalid", "-r", "", "a b", "./nowhere", "./empty", "ftp://x/a", "./note.txt"]
)
def test_what_is_no_source_is_refused(tmp_path, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.txt").touch()
    with pytest.raises(UsageError):
        read_source(said, tmp_path)
