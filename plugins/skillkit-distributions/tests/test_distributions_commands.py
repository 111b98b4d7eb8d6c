"""The commands of distributions, from the first file to the lock, over the packages of this environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from skillkit_distributions.building import check_dependencies
from skillkit_distributions.project import read_project

from skillkit_core import ConfigError
from skillkit_core.host.discovery import scan

MINE = "schema_version: 1\nname: mine\nplugins: [distributions]\npolicy: {only_listed: true}\n"


@pytest.fixture
def mine(tmp_path: Path, skillkit_cli: Any) -> Any:
    """``mine(...)`` runs a command line with a distribution that is a file."""
    file = tmp_path / "mine" / "distribution.yaml"
    file.parent.mkdir()
    file.write_text(MINE)

    def run(*arguments: str) -> Any:
        return skillkit_cli("--distribution", str(file), *arguments)

    run.file, run.lock, run.cli = file, file.with_name("skillkit.lock"), skillkit_cli
    return run


@pytest.mark.smoke
def test_what_is_installed_is_locked_verified_and_exported(mine: Any) -> None:
    made = mine("plugins", "lock", str(mine.file), "--json").ok().json

    assert made["lock"] == str(mine.lock)
    assert list(made["plugins"]) == ["distributions"]
    assert made["plugins"]["distributions"]["hooks"] == ["register_commands"]
    assert made["plugins"]["distributions"]["needs"]["secrets"] == {"names": [], "enforced": True}
    assert {"skillkit-core", "skillkit-distributions", "click", "pydantic-core", "packaging"} <= made["packages"].keys()
    assert made["packages"]["skillkit-core"]["own"] and not made["packages"]["click"]["own"]
    assert "skillkit-testkit" not in made["packages"], "what the distribution does not need is not locked"
    for deep in ([], ["--deep"]):
        report = mine("plugins", "verify", *deep, "--json").ok().json
        assert (report["ok"], report["differences"], report["deep"]) == (True, [], bool(deep))
    click = made["packages"]["click"]["version"]
    assert f"click=={click}\n" in mine("plugins", "export").ok().stdout
    assert {"name": "click", "version": click, "url": None} in mine("plugins", "export", "--json").ok().json["packages"]
    out = mine.file.with_name("constraints.txt")
    assert mine("plugins", "export", "--format", "constraints", "-o", str(out)).ok().stdout == f"Wrote {out}\n"
    assert all("==" in line for line in out.read_text().splitlines()[1:])


def test_every_kind_of_difference_is_named(mine: Any) -> None:
    mine("plugins", "lock", str(mine.file)).ok()
    lock = json.loads(mine.lock.read_text())
    lock["packages"]["click"]["version"] = "0.1"
    lock["packages"]["absent"] = {"version": "3", "digest": "", "own": True}
    lock["packages"]["pluggy"]["digest"] = "sha256-0"
    mine.lock.write_text(json.dumps(lock))

    quick, deep = mine("plugins", "verify", "--json"), mine("plugins", "verify", "--deep", "--json")

    assert (quick.exit_code, deep.exit_code) == (1, 1)
    assert {d["package"] for d in quick.json["differences"]} == {"click", "absent"}
    assert {d["package"] for d in deep.json["differences"]} == {"click", "absent", "pluggy"}
    shown = mine("plugins", "verify").stdout
    assert "absent 3 is not installed" in shown and "✗ 2 differences from " in shown
    del lock["packages"]["absent"], lock["plugins"]["distributions"]
    mine.lock.write_text(json.dumps(lock))
    (found,) = [d for d in mine("plugins", "verify", "--json").json["differences"] if d["kind"] == "plugin"]
    assert (
        found["message"] == "plugin 'distributions' of skillkit-distributions was not there when the lock was written"
    )


def test_other_hooks_and_other_needs_are_differences(mine: Any) -> None:
    mine("plugins", "lock", str(mine.file)).ok()
    lock = json.loads(mine.lock.read_text())
    lock["plugins"]["distributions"] |= {"hooks": ["before_tool_call"], "needs": None}
    mine.lock.write_text(json.dumps(lock))

    assert mine("plugins", "verify").ok()
    found = mine("plugins", "verify", "--deep", "--json").json["differences"]

    assert [one["message"] for one in found] == [
        "plugin 'distributions' has other hooks than were locked",
        "plugin 'distributions' has other declared needs than were locked",
    ]


def test_a_distribution_that_requires_a_lock_gets_one_and_does_not_run_without(mine: Any) -> None:
    mine.file.write_text(MINE.replace("only_listed: true", "only_listed: true, require_lock: true"))

    refused = mine("plugins", "doctor")
    written = mine.cli("plugins", "lock", str(mine.file))
    runs = mine("plugins", "doctor")

    assert refused.exit_code == 2 and "there is no lock" in refused.stderr
    assert written.exit_code == runs.exit_code == 0
    mine.lock.write_text(mine.lock.read_text().replace('"distributions"', '"others"'))
    assert "was not there when the lock was written" in mine("plugins", "doctor").stderr


def test_a_plugin_that_does_not_load_keeps_a_lock_from_being_written(mine: Any) -> None:
    mine.file.write_text(MINE.replace("[distributions]", "[distributions, sessions-of-nobody]"))

    done = mine("plugins", "lock", str(mine.file))

    assert done.exit_code == 1
    assert "nothing is locked, because not every plugin loads: plugin 'sessions-of-nobody'" in done.stderr
    assert not mine.lock.exists()


def test_a_distribution_whose_file_is_not_there_is_an_error(skillkit_cli: Any) -> None:
    file = Path("distribution.yaml")
    done = skillkit_cli("plugins", "lock", str(file))
    assert (done.exit_code, done.stderr) == (2, "Error: distribution.yaml: there is no such file\n")


@pytest.mark.smoke
@pytest.mark.parametrize("template", ["minimal", "company"])
def test_a_new_distribution_is_complete(template: str, tmp_path: Path, skillkit_cli: Any) -> None:
    made = skillkit_cli(
        "dist", "new", "acme-corp", "--template", template, "--path", str(tmp_path / "x"), "--json"
    ).ok().json  # fmt: skip
    folder = Path(made["folder"])

    assert {"pyproject.toml", "README.md", "LICENSE", ".gitignore"} <= {*made["files"]}
    assert all((folder / file).is_file() for file in made["files"])
    assert not any("{{" in (folder / file).read_text() for file in made["files"])
    assert 'acme-corp = "skillkit_core.cli.bound:acme_corp"' in (folder / "pyproject.toml").read_text()
    file = folder / "src" / "skillkit_acme_corp" / "distribution.yaml"
    assert (
        skillkit_cli("--distribution", str(file), "plugins", "list", "--json").ok().json["distribution"] == "acme-corp"
    )
    image = skillkit_cli("dist", "image", str(folder), "--base", "registry.example/python:3.12", "--json").ok().json
    assert 'ENTRYPOINT ["acme-corp"]' in image["text"] and "FROM registry.example/python:3.12\n" in image["text"]
    again = skillkit_cli("dist", "image", str(folder))
    assert (again.exit_code, again.stderr) == (
        2, f"Error: {folder}/Containerfile: exists already; replace it with --force\n"
    )  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Acme", "'Acme' cannot be a command; write lower case letters, digits and single dashes"),
        ("a--b", "'a--b' cannot be a command; write lower case letters, digits and single dashes"),
        ("../x", "'../x' cannot be a command; write lower case letters, digits and single dashes"),
        ("default", "'default' is the name of the standard distribution or its command; take another one"),
        ("core", "there is a package called 'skillkit-core'; take another name"),
        ("testkit", "there is a package called 'skillkit-testkit'; take another name"),
    ],
)
def test_a_name_that_cannot_be_a_command_is_refused(name: str, message: str, skillkit_cli: Any) -> None:
    done = skillkit_cli("dist", "new", name)
    assert (done.exit_code, done.stderr) == (2, f"Error: {message}\n")


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path, skillkit_cli: Any) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine").touch()
    done = skillkit_cli("dist", "new", "acme", "--path", str(tmp_path / "x"))
    assert (done.exit_code, done.stderr) == (
        2,
        f"Error: {tmp_path}/x: exists already; name another folder with --path\n",
    )


def test_a_link_that_leads_nowhere_and_a_file_in_the_way_are_named(tmp_path: Path, skillkit_cli: Any) -> None:
    (tmp_path / "x").symlink_to("gone")
    (tmp_path / "file").touch()
    link = skillkit_cli("dist", "new", "acme", "--path", str(tmp_path / "x"))
    assert link.stderr == f"Error: {tmp_path}/x: is a link to gone, which is not there; remove it\n"
    below = skillkit_cli("dist", "new", "acme", "--path", str(tmp_path / "file" / "x"))
    assert below.exit_code == 2 and below.stderr.startswith(f"Error: {tmp_path}/file/x: cannot be made: ")


def test_a_dependency_that_is_missing_is_named_with_the_line_that_adds_it(tmp_path: Path, skillkit_cli: Any) -> None:
    folder = tmp_path / "acme"
    skillkit_cli("dist", "new", "acme", "--path", str(folder)).ok()
    file = folder / "src" / "skillkit_acme" / "distribution.yaml"
    file.write_text(file.read_text().replace("schema_version: 1\n", "schema_version: 1\nextends: default\n"))
    project = read_project(folder)
    own = [e for e in scan() if e.distribution in ("skillkit-bash", "skillkit-skills")]

    with pytest.raises(ConfigError) as raised:
        check_dependencies(project, own)

    said = str(raised.value)
    assert said.startswith(f"{folder}/pyproject.toml: distribution.yaml extends the distribution 'default', and ")
    assert 'add "skillkit-default", ' in said and '"skillkit-usage"' in said and "skillkit-bash" not in said
    check_dependencies(project, scan())
    lists = project._replace(plugins=("nobodys-plugin",), extends=())
    with pytest.raises(ConfigError, match="add the package that brings 'nobodys-plugin' to"):
        check_dependencies(lists, scan())


PRODUCT = "schema_version: 1\nname: acme\ncommand: {home: acme, prefix: ACME}\nplugins: [distributions]\n"


@pytest.fixture
def product(tmp_path: Path, skillkit_home: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed product with a command and a home of its own, that requires a lock and brings none."""
    site = tmp_path / "site"
    info = site / "skillkit_acme-1.dist-info"
    for folder in (info, site / "skillkit_acme"):
        folder.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: skillkit-acme\nVersion: 1\n")
    points = "[skillkit.distributions]\nacme = skillkit_acme\n[console_scripts]\nacme = skillkit_core.cli.bound:acme\n"
    (info / "entry_points.txt").write_text(points)
    (site / "skillkit_acme" / "distribution.yaml").write_text(
        f"{PRODUCT}policy: {{only_listed: true, require_lock: true}}\n"
    )

    def run(*argv: str) -> Any:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SKILLKIT_", "XDG_"))}
        env = {**kept, "PYTHONPATH": str(site), "HOME": str(skillkit_home.path)}
        return subprocess.run([sys.executable, *argv], cwd=tmp_path, env=env, capture_output=True, text=True)

    run.home = skillkit_home.path
    return run


def test_the_hint_about_a_missing_lock_makes_the_product_start(product: Any) -> None:
    acme = ("-c", "import sys; from skillkit_core.cli.bound import acme; acme()")
    refused = product(*acme, "plugins", "doctor")
    assert refused.returncode == 2
    hint = refused.stderr.split("'")[1].split()
    assert hint[1:] == ["-m", "skillkit_distributions", "lock", "acme"]

    made = product(*hint[1:])

    assert made.returncode == 0, made.stderr
    assert (product.home / ".config" / "acme" / "skillkit.lock").is_file()
    assert not (product.home / ".config" / "skillkit").exists()
    assert product(*acme, "plugins", "doctor").returncode == 0
    verified = product("-m", "skillkit_core", "--distribution", "default", "plugins", "verify", "acme")
    assert verified.returncode == 0, verified.stderr


PROJECT = '[project]\nname = "p"\nversion = "1"\n[project.entry-points."skillkit.distributions"]\np = "p"\n'


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("pyproject", "yaml", "message"),
    [
        (None, None, "{folder}: there is no pyproject.toml; 'skillkit dist new' makes a distribution"),
        ("[", None, "{folder}/pyproject.toml: cannot be read: "),
        ("[project]\nname = 'p'", None, "{folder}/pyproject.toml: must have project.version; "),
        (
            "[project]\nname = 'p'\nversion = '1'",
            None,
            "{folder}/pyproject.toml: must have one entry point in the group",
        ),
        (PROJECT, None, "{folder}: there is neither src/p/distribution.yaml nor p/distribution.yaml"),
        (PROJECT, "name: p", "{folder}/p/distribution.yaml: schema_version: must be 1"),
        (PROJECT, "schema_version: 1\nname: q", "{folder}/p/distribution.yaml: is the distribution 'q', and pyproject"),
    ],
)
def test_a_folder_that_is_no_distribution_is_told_why(
    pyproject: str | None, yaml: str | None, message: str, tmp_path: Path, skillkit_cli: Any
) -> None:
    (tmp_path / "p").mkdir()
    if pyproject is not None:
        (tmp_path / "pyproject.toml").write_text(pyproject)
    if yaml is not None:
        (tmp_path / "p" / "distribution.yaml").write_text(yaml)

    done = skillkit_cli("dist", "build", str(tmp_path))

    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {message.format(folder=tmp_path)}")
