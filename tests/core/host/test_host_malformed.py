"""Entry points that cannot be read: every listing names them, and every other plugin goes on working."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

MALFORMED = {
    # distribution: its entry_points.txt, the plugin that is named, the line, a part of the message
    "acme-line": (
        b"[skillkit.plugins]\nfine = good_module\njust words\n",
        "acme-line",
        3,
        "'just words' is no 'name =",
    ),
    "acme-bytes": (b"[skillkit.plugins]\n# caf\xe9\nfine = good_module\n", "acme-bytes", 2, "no UTF-8"),
    "acme-wide": ("[skillkit.plugins]\nwide = m\n".encode("utf-16"), "acme-wide", 1, "no UTF-8"),
    "acme-mark": ("\ufeff[skillkit.plugins]\nmark = m\n".encode(), "acme-mark", 1, "is no '[section]'"),
    "acme-open": (b"[skillkit.plugins\nopen = m\n", "acme-open", 1, "'[skillkit.plugins' is no '[section]'"),
    "acme-one": (b"[skillkit.plugin]\none = m\n", "acme-one", 1, "did you mean [skillkit.plugins]?"),
    "acme-empty": (b"[skillkit.plugins]\nempty =\n", "empty", 2, "'empty' needs a 'module:attribute', not ''"),
    "acme-path": (b"[skillkit.plugins]\npath = my/module.py\n", "path", 2, "not 'my/module.py'"),
    "acme-twice": (b"[skillkit.plugins]\nfine = good_module\nfine = m\n", "fine", 3, "'fine' is there a second time"),
    "acme-half": (b"[skillkit.plugins]\nfine = good_module\n[console_scripts]\nhalf\n", "acme-half", 4, "'half' is no"),
}
GOOD = """
import click
from pydantic import BaseModel

class Greeting(BaseModel):
    text: str = "hello there"

hello = click.Command("hello", callback=lambda: click.echo(Greeting().text))

@hookimpl
def register_commands(register):
    register(Command("hello", f"{__name__}:hello", "Say hello."))
"""


def install(site: Any, distribution: str, data: bytes) -> Path:
    file: Path = site.metadata(distribution, "1.2", "") / "entry_points.txt"
    file.write_bytes(data)
    (site.path / "good_module.py").write_text("class plugin: ...\n")
    return file


@pytest.mark.sample(3)
@pytest.mark.parametrize("distribution", MALFORMED)
def test_list_and_doctors_name_the_distribution_the_file_and_what_to_do(site: Any, distribution: str) -> None:
    data, plugin, line, message = MALFORMED[distribution]
    file = install(site, distribution, data)
    site.plugin("hello", GOOD)
    told = (f"{file}:{line}: ", message, f"pip install --force-reinstall {distribution}")

    listed = site.run("plugins", "list")
    assert listed.code == 0 and "acme-hello" in listed.out
    warnings = [text for text in listed.err.splitlines() if text.startswith(f"Warning: plugin '{plugin}'")]
    assert len(warnings) == len(listed.err.splitlines()) == 1
    assert all(part in warnings[0] for part in (f"({distribution} 1.2)", *told))

    (problem,) = site.run("plugins", "list", "--json").json["problems"]
    assert (problem["plugin"], problem["distribution"], problem["version"]) == (plugin, distribution, "1.2")
    assert (problem["stage"], problem["severity"]) == ("discovery", "error")
    assert all(part in f"{problem['message']}; {problem['remedy']}" for part in told)

    checked = site.run("plugins", "doctor", "--json")
    assert (checked.code, checked.json["ok"], checked.json["problems"]) == (1, False, [problem])
    assert "hello" in checked.json["loaded"]
    done = site.run("doctor")
    assert done.code == 1
    (row,) = [text for text in done.out.splitlines() if text.startswith("✗ plugins")]
    assert all(part in row for part in (f"({distribution} 1.2)", *told))
    assert site.run("hello").out == "hello there\n", "models of other plugins are made"


@pytest.mark.parametrize("distribution", ["acme-latin", "acme-folder"])
def test_the_program_around_a_host_keeps_its_environment_and_can_make_models(site: Any, distribution: str) -> None:
    """The search of pydantic for plugins of its own, which the file breaks, ends in no model of anybody."""
    file = install(site, distribution, b"[skillkit.plugins]\nx = \xff\n")
    if distribution == "acme-folder":
        file.unlink()
        file.mkdir()
    program = """
        import os
        before = dict(os.environ)
        from skillkit_core import Host
        host = Host()
        print(len(host.entries))
        assert dict(os.environ) == before, set(os.environ) ^ set(before)
        from pydantic import BaseModel
        class Mine(BaseModel):
            text: str
        print(Mine(text="made").text)
    """
    argv = [sys.executable, "-S", "-c", textwrap.dedent(program)]
    done = subprocess.run(argv, cwd=site.cwd, env=site.env(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["made"]), done.stderr


def test_a_section_that_is_there_twice_counts_as_one_and_is_named(site: Any) -> None:
    site.plugin("hello", GOOD)
    module = "[skillkit.plugins]\n{0} = {0}_module\n"
    file = install(site, "acme-again", (module.format("one") + module.format("two")).encode())
    for name in ("one", "two"):
        (site.path / f"{name}_module.py").write_text("")
    done = site.run("plugins", "doctor", "--json")
    assert (done.code, done.json["loaded"]) == (0, ["one", "two", "hello"])
    (problem,) = done.json["problems"]
    assert problem["severity"] == "warning"
    assert problem["message"] == f"{file}:3: section [skillkit.plugins] is there a second time"
    assert f"{file}:3" in site.run("plugins", "list").err
    row = next(text for text in site.run("doctor").out.splitlines() if "plugins" in text)
    assert row.startswith("✓") and "3 loaded; plugin 'acme-again' (acme-again 1.2)" in row


def test_what_a_malformed_file_says_well_counts(site: Any) -> None:
    install(site, "acme-line", MALFORMED["acme-line"][0])
    install(site, "acme-empty", MALFORMED["acme-empty"][0])
    states = {row["name"]: row["enabled"] for row in site.run("plugins", "list", "--json").json["plugins"]}
    assert states == {"fine": True, "empty": True}
    assert site.run("plugins", "doctor", "--json").json["loaded"] == ["fine"]
    info = site.run("plugins", "info", "empty", "--json").json
    assert info["loaded"] is False and len(info["problems"]) == 1


def test_a_malformed_plugin_that_is_disabled_is_left_alone(site: Any) -> None:
    install(site, "acme-empty", MALFORMED["acme-empty"][0])
    done = site.run("-P", "no:empty", "plugins", "doctor", "--json")
    assert (done.code, done.json["problems"], done.json["disabled"]) == (0, [], ["empty"])


def test_a_file_that_cannot_be_read_is_named(site: Any) -> None:
    site.plugin("hello", GOOD)
    file = install(site, "acme-folder", b"")
    file.unlink()
    file.mkdir()
    done = site.run("plugins", "list")
    assert done.code == 0 and done.err.count("\n") == 1
    assert f"(acme-folder 1.2), discovery: {file}: it cannot be read: Is a directory" in done.err


@pytest.mark.sample(3)
@pytest.mark.parametrize("distribution", MALFORMED)
def test_a_malformed_wheel_on_the_path_is_named(site: Any, distribution: str, tmp_path: Path) -> None:
    data, plugin, line, message = MALFORMED[distribution]
    site.plugin("hello", GOOD)
    stem = f"{distribution.replace('-', '_')}-1.2"
    wheel = tmp_path / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        file.writestr(f"{stem}.dist-info/entry_points.txt", data)
        file.writestr("good_module.py", "class plugin: ...\n")
    path = f"{site.env()['PYTHONPATH']}:{wheel}"
    (problem,) = site.run("plugins", "list", "--json", PYTHONPATH=path).json["problems"]
    assert (problem["plugin"], problem["distribution"], problem["version"]) == (plugin, distribution, "1.2")
    assert problem["message"].startswith(f"{wheel}/{stem}.dist-info/entry_points.txt:{line}: ")
    assert message in problem["message"]
    assert site.run("hello", PYTHONPATH=path).out == "hello there\n"


def test_foreign_entry_points_that_anyone_can_read_are_nobodys_problem(site: Any) -> None:
    site.plugin("hello", GOOD)
    install(site, "other-name", "[pytest11]\nschön = m\n[other.plugins]\nx = y z\nn =\n".encode())
    done = site.run("plugins", "list")
    assert (done.code, done.err) == (0, "")


def test_explaining_is_imported_only_when_there_is_something_to_explain(site: Any) -> None:
    site.plugin("hello", GOOD)
    show = "import sys; from skillkit_core.cli.main import run; run(['plugins', 'list']); print(*sys.modules)"

    def imported() -> set[str]:
        argv = [sys.executable, "-S", "-c", show]
        done = subprocess.run(argv, cwd=site.cwd, env=site.env(), capture_output=True, text=True, check=True)
        return set(done.stdout.splitlines()[-1].split())

    assert "importlib.metadata" not in imported()
    install(site, "acme-empty", MALFORMED["acme-empty"][0])
    assert "importlib.metadata" in imported()
