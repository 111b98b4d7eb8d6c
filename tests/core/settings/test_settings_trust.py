"""Trust on the command line: what a folder brings is shown, kept as a digest, and asked for again when it changes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

CONFIG = Path(".skillkit", "config.yaml")
HOOKS = """
from pathlib import Path

@hookimpl
def project_content(register, folder):
    register(".acme/hooks", lambda: [f"hook {p.name}" for p in sorted(Path(folder, ".acme/hooks").glob("*.py"))])

@hookimpl
def register_commands(register):
    from skillkit_core.descriptors import Command
    register(Command("counts", "trust_command:counts", "Which files count."))
"""
COMMAND = """
import click

@click.command()
@click.argument("paths", nargs=-1)
@click.pass_obj
def counts(state, paths):
    for path in paths:
        click.echo(f"{path} {state.host.trusts(path)}")
"""


@pytest.fixture
def project(site: Any) -> Any:
    """A project with a configuration, and hooks of a plugin."""
    site.plugin("hooked", HOOKS)
    (site.path / "trust_command.py").write_text(COMMAND)
    (site.cwd / ".skillkit").mkdir()
    (site.cwd / CONFIG).write_text("base_url: http://models.example/v1\ntools: {allow: [bash, web]}\n")
    (site.cwd / ".acme" / "hooks").mkdir(parents=True)
    (site.cwd / ".acme" / "hooks" / "commit.py").write_text("print('commit')\n")
    return site


def counts(site: Any, cwd: Path | None = None) -> bool:
    """Whether the configuration of the project counts."""
    shown = site.run("config", "show", "base_url", "--json", cwd=cwd).json
    return bool(shown["base_url"]["value"] == "http://models.example/v1")


def test_trust_shows_what_it_lets_in(project: Any) -> None:
    done = project.run("config", "trust")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        ".skillkit/config.yaml", "  base_url: http://models.example/v1", "  tools.allow: bash, web",
        ".acme/hooks", "  hook commit.py",
        f"✓ {project.cwd} is trusted",
    ]  # fmt: skip
    assert project.run("config", "trust", "--json").json == {
        "folder": str(project.cwd),
        "trusted": True,
        "content": {
            ".skillkit/config.yaml": ["base_url: http://models.example/v1", "tools.allow: bash, web"],
            ".acme/hooks": ["hook commit.py"],
        },
    }


def test_what_a_folder_brings_cannot_steer_the_terminal(project: Any) -> None:
    (project.cwd / CONFIG).write_text('system_prompt: "\\e[2J hidden"\n')
    assert "\x1b" not in project.run("config", "trust").out


def which(site: Any, *paths: str, cwd: Path | None = None) -> dict[str, bool]:
    """Which files of the project a plugin may take, and whether the configuration counts."""
    lines = site.run("counts", *paths, cwd=cwd).out.split()
    return {path: said == "True" for path, said in zip(lines[::2], lines[1::2], strict=True)}


HOOK, OTHER = ".acme/hooks/commit.py", ".acme/hooks/push.py"


@pytest.mark.parametrize("part", [".skillkit/config.yaml", HOOK, ".acme/hooks/new.py"])
def test_what_changed_does_not_count_until_it_was_shown_and_the_rest_does(project: Any, part: str) -> None:
    (project.cwd / OTHER).write_text("print('push')\n")
    assert project.run("config", "trust").code == 0
    assert counts(project) and which(project, HOOK, ".acme/hooks") == {HOOK: True, ".acme/hooks": True}
    with (project.cwd / part).open("a") as file:
        file.write("# more\n")
    done = project.run("config", "show", "base_url", "--json")
    assert (done.json["base_url"]["value"] is None) == (part == ".skillkit/config.yaml")
    assert done.err == (
        f"Warning: {project.cwd}: {part} changed or came since the folder was trusted, and does not count until "
        "'skillkit config trust' has shown it\n"
    )
    assert project.run("config", "path", "--json").json["project_trusted"] is False
    found = which(project, part, OTHER, str(project.cwd / OTHER), ".acme/hooks", ".acme")
    assert found[part] is False and found[OTHER] and found[str(project.cwd / OTHER)]
    assert found[".acme/hooks"] is found[".acme"] is (part == ".skillkit/config.yaml")
    assert project.run("config", "trust").code == 0
    assert counts(project) and which(project, part) == {part: True}


def test_what_changed_is_shown_as_a_difference(project: Any) -> None:
    (project.cwd / OTHER).write_text("print('push')\n")
    project.run("config", "trust")
    (project.cwd / HOOK).write_text("import os\nprint('commit')\n")
    (project.cwd / OTHER).unlink()
    (project.cwd / ".acme/hooks/new.py").write_text("print('\x1b[2Jnew')\n")
    done = project.run("config", "trust")
    assert done.out.splitlines() == [
        f"{HOOK}: changed", "  @@ -1 +1,2 @@", "  +import os", "   print('commit')",
        ".acme/hooks/new.py: new", "  @@ -0,0 +1 @@", "  +print('\\x1b[2Jnew')",
        f"{OTHER}: gone", "  @@ -1 +0,0 @@", "  -print('push')",
        f"✓ {project.cwd} is trusted",
    ]  # fmt: skip
    (project.cwd / HOOK).write_bytes(b"\xff\x00")
    assert project.run("config", "trust", "--json").json["changes"] == [
        {"file": HOOK, "change": "changed", "difference": ["it is no text"]}
    ]


def answering(site: Any, answers: bytes, *arguments: str) -> str:
    """What a command shows at a terminal where somebody types ``answers``."""
    leader, follower = pty.openpty()
    os.write(leader, answers)
    done = subprocess.run(
        site.argv(*arguments),
        cwd=site.cwd,
        env=site.env(NO_COLOR="1"),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        timeout=60,
    )
    assert done.returncode == 0
    shown = "".join(os.read(leader, 65_536).decode().split("\r"))
    os.close(leader)
    os.close(follower)
    return shown


def test_a_person_decides_file_by_file(project: Any) -> None:
    project.run("config", "trust")
    for name in (HOOK, str(CONFIG)):
        with (project.cwd / name).open("a") as file:
            file.write("# more\n")
    shown = answering(project, b"n\ny\n", "config", "trust")
    assert f"Let {HOOK} count as it is now? [y/N]:" in shown and f"Let {CONFIG} count as it is now? [y/N]:" in shown
    assert f"is trusted, but for {HOOK}" in shown
    assert counts(project) and which(project, HOOK) == {HOOK: False}
    (project.cwd / HOOK).write_text("print('commit')\n")  # as it was seen
    assert which(project, HOOK) == {HOOK: True}


def test_a_link_into_what_changed_does_not_count_by_its_other_name(project: Any) -> None:
    (project.cwd / "alias").symlink_to(project.cwd / ".acme")
    project.run("config", "trust")
    (project.cwd / HOOK).write_text("another")
    assert which(project, "alias/hooks/commit.py", HOOK, "alias") == {
        "alias/hooks/commit.py": False, HOOK: False, "alias": False,
    }  # fmt: skip


def test_what_did_not_change_stays_trusted(project: Any) -> None:
    project.run("config", "trust")
    (project.cwd / "README.md").write_text("not taken by anybody")
    os.utime(project.cwd / CONFIG, (1, 1))
    cached = project.cwd / ".acme" / "hooks" / "__pycache__"
    cached.mkdir()
    (cached / "commit.cpython-311.pyc").write_bytes(b"\xa7\r\r\n" + bytes(12) + b"code")
    assert counts(project)
    (cached / "commit.cpython-311.pyc").write_bytes(b"\xa7\r\r\n\x01" + bytes(11) + b"never compared with its source")
    assert which(project, ".acme/hooks") == {".acme/hooks": False}


def test_a_file_behind_a_link_is_part_of_what_was_shown(project: Any) -> None:
    (project.cwd / "elsewhere.py").write_text("one")
    (project.cwd / ".acme" / "hooks" / "link.py").symlink_to(project.cwd / "elsewhere.py")
    (project.cwd / ".acme" / "hooks" / "circle").symlink_to(project.cwd / ".acme")
    os.mkfifo(project.cwd / ".acme" / "hooks" / "pipe")
    project.run("config", "trust")
    assert counts(project)
    (project.cwd / "elsewhere.py").write_text("two")
    assert which(project, ".acme/hooks/link.py", HOOK) == {".acme/hooks/link.py": False, HOOK: True}


def test_a_plugin_that_came_later_and_takes_more_is_asked_for(project: Any) -> None:
    project.run("config", "trust")
    project.plugin("late", "@hookimpl\ndef project_content(register): register('.late.json')")
    assert project.run("config", "path", "--json").json["project_trusted"] is True, "there is no such file"
    (project.cwd / ".late.json").write_text("{}")
    done = project.run("config", "path", "--json")
    assert done.json["project_trusted"] is False
    assert ".late.json changed or came since" in done.err


def test_a_folder_below_a_trusted_one_brings_nothing_of_its_own(project: Any) -> None:
    project.run("config", "trust")
    below = project.cwd / "below"
    below.mkdir()
    assert project.run("config", "path", "--json", cwd=below).json["project_trusted"] is True
    (below / ".skillkit").mkdir()
    (below / CONFIG).write_text("base_url: http://models.example/v1\n")
    assert not counts(project, below)
    project.run("config", "trust", cwd=below)
    assert counts(project, below)


def test_a_folder_that_was_trusted_without_a_digest_is_asked_for_again(project: Any) -> None:
    (project.home / "data").mkdir()
    (project.home / "data" / "trusted.json").write_text(json.dumps([str(project.cwd)]))
    assert not counts(project)
    project.run("config", "trust")
    assert counts(project)
    assert project.run("config", "trust", "--revoke").code == 0
    assert not counts(project)


def test_a_distribution_in_the_project_is_part_of_what_was_shown(project: Any) -> None:
    (project.cwd / CONFIG).write_text("distribution: house.yaml\n")
    house = project.cwd / ".skillkit" / "house.yaml"
    house.write_text("schema_version: 1\nname: house\ndefaults: {model: of-the-house}\n")
    project.run("config", "trust")
    assert project.run("config", "show", "model", "--json").json["model"]["value"] == "of-the-house"
    house.write_text("schema_version: 1\nname: house\ndefaults: {model: another}\n")
    assert project.run("config", "show", "model", "--json").json["model"]["value"] is None


def test_a_change_by_config_init_is_the_users_own(project: Any) -> None:
    project.run("config", "trust")
    assert project.run("config", "init", "--project", "--force").code == 0
    assert project.run("config", "path", "--json").json["project_trusted"] is True
