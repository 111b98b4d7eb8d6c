"""The index of commands: help lists the commands of plugins without importing them, and never lists a wrong one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LONG_AGO = (1e9, 1e9)
ACME = """
@hookimpl
def register_commands(register):
    register(Command("acme", "json:dumps", "Do acme things."))
"""


def offer(help_text: str, name: str = "acme") -> str:
    return ACME.replace("acme", name).replace(f"Do {name} things.", help_text)


def settle(site: Any) -> None:
    """Make the files of the site old: a file of this moment could change again without a new time stamp."""
    for source in site.path.rglob("*.py"):
        os.utime(source, LONG_AGO)


@pytest.fixture
def acme(site: Any) -> Any:
    site.plugin("acme", ACME)
    site.plugin("other", offer("Do others.", "other"))
    settle(site)
    return site


def listed(site: Any, *options: str, said: str = "", **env: str) -> dict[str, str]:
    """The plugins' commands that the help lists, with their texts."""
    done = site.run(*options, "--help", **env)
    assert (done.code, done.err) == (0, said)
    rows = re.findall(r"^  (\S+) +(.*)$", done.out.partition("Commands:\n")[2], re.MULTILINE)
    return {name: text for name, text in rows if name not in ("config", "doctor", "plugins")}


def indexes(home: Path) -> list[Path]:
    return sorted((home / "cache" / "commands").glob("*"))


@pytest.fixture
def marked(acme: Any) -> Any:
    """A site with an index whose texts tell that they come from it."""
    plain = listed(acme)
    assert plain == {"acme": "Do acme things.", "other": "Do others."}
    (file,) = indexes(acme.home)
    file.write_text(file.read_text().replace("Do acme things.", "From the index."))
    assert listed(acme) == plain | {"acme": "From the index."}
    return acme


def test_help_comes_from_the_index_and_a_command_from_its_plugin(marked: Any) -> None:
    file = marked.path / "acme_acme_acme.py"
    before = file.stat()
    (marked.path / "acme_cli.py").write_text("import click\n@click.command()\ndef acme(): print('it runs')\n")
    file.write_text(file.read_text().replace("json:dumps", "acme_cli:acme"))
    assert file.stat().st_mtime != before.st_mtime
    assert marked.run("acme").out == "it runs\n"
    assert listed(marked)["acme"] == "Do acme things."


def test_an_edited_plugin_is_asked_again_also_with_its_old_time(marked: Any) -> None:
    """As an editable installation sees it: nothing but the source changes."""
    file = marked.path / "acme_acme_acme.py"
    file.write_text(file.read_text().replace("Do acme things.", "Do acme things, edited."))
    os.utime(file, LONG_AGO)
    assert listed(marked)["acme"] == listed(marked)["acme"] == "Do acme things, edited."


def test_a_file_that_is_linked_into_another_environment_is_unchanged(marked: Any, tmp_path: Path) -> None:
    """As an installer does that shares the files of its cache among environments."""
    os.link(marked.path / "acme_acme_acme.py", tmp_path / "linked.py")
    assert listed(marked)["acme"] == "From the index."


def test_a_module_that_a_plugin_imports_counts_as_the_plugin(acme: Any) -> None:
    (acme.path / "texts.py").write_text("HELP = 'The first text.'\n")
    file = acme.path / "acme_acme_acme.py"
    file.write_text("import texts\n" + file.read_text().replace('"Do acme things."', "texts.HELP"))
    settle(acme)
    assert listed(acme)["acme"] == listed(acme)["acme"] == "The first text."
    (acme.path / "texts.py").write_text("HELP = 'The second text.'\n")
    assert listed(acme)["acme"] == "The second text."


def test_a_file_of_this_moment_is_not_indexed(acme: Any) -> None:
    os.utime(acme.path / "acme_acme_acme.py")
    listed(acme)
    assert indexes(acme.home) == []


def test_a_plugin_that_was_installed_upgraded_or_removed_changes_the_help(marked: Any) -> None:
    marked.plugin("third", offer("Do a third.", "third"))
    assert listed(marked) == {"acme": "Do acme things.", "other": "Do others.", "third": "Do a third."}
    shutil.rmtree(marked.path / "acme_third-1.0.dist-info")
    assert listed(marked)["acme"] == "From the index."
    shutil.rmtree(marked.path / "acme_acme-1.0.dist-info")
    marked.plugin("acme", offer("Do more."), version="2.0")
    settle(marked)
    assert listed(marked)["acme"] == "Do more."
    shutil.rmtree(marked.path / "acme_acme-2.0.dist-info")
    assert listed(marked) == {"other": "Do others."}


def test_a_new_version_alone_is_enough(marked: Any) -> None:
    """A build that is reproducible leaves the source and its time stamps as they were."""
    shutil.rmtree(marked.path / "acme_acme-1.0.dist-info")
    marked.metadata("acme-acme", "1.1", "[skillkit.plugins]\nacme = acme_acme_acme\n")
    assert listed(marked)["acme"] == "Do acme things."


def damages() -> dict[str, Callable[[Any], Any]]:
    """Ways in which an index that was written well can go wrong, as changes of its document."""

    def rows(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda document: document | {"data": [document["data"][0], change(document["data"][1])]}

    return {
        "no rows": lambda document: document | {"data": []},
        "no list": lambda document: document | {"data": {"acme": 1}},
        "files are a list": lambda document: document | {"data": [["x"], document["data"][1]]},
        "a file is gone": lambda document: document | {"data": [{"/nowhere/x.py": [1, 1, 1]}, document["data"][1]]},
        "a path that is none": lambda document: document | {"data": [{"\0": [1, 1, 1]}, document["data"][1]]},
        "an empty row": rows(lambda found: [[], *found]),
        "a short row": rows(lambda found: [["acme", "acme"], *found]),
        "a long row": rows(lambda found: [[*found[0], 1, 2, 3], *found]),
        "a number for help": rows(lambda found: [["acme", "acme", "json:dumps", 7, False, False]]),
        "a list for a name": rows(lambda found: [["acme", [], "json:dumps", "x", False, False]]),
        "rows are a number": rows(lambda found: 7),
        "another Python": lambda document: document | {"stamp": [document["stamp"][0], "2.7", *document["stamp"][2:]]},
        "another core": lambda document: document | {"stamp": ["0.0", *document["stamp"][1:]]},
        "another path": lambda document: document | {"stamp": [*document["stamp"][:2], [], document["stamp"][3]]},
        "of other plugins": lambda document: document | {"stamp": [*document["stamp"][:3], []]},
    }


@pytest.mark.sample(5)
@pytest.mark.parametrize("damage", damages())
def test_an_index_that_does_not_fit_is_replaced(marked: Any, damage: str) -> None:
    (file,) = indexes(marked.home)
    document = json.loads(file.read_text())
    assert damages()[damage](document) != document
    file.write_text(json.dumps(damages()[damage](document)))
    plain = {"acme": "Do acme things.", "other": "Do others."}
    assert listed(marked) == plain
    assert json.loads(file.read_text())["data"][1][0][3] == "Do acme things."
    assert listed(marked) == plain


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"\xff\xfe", b"[" * 100_000, b'{"stamp": 1}'])
def test_an_index_that_is_no_document_is_replaced(marked: Any, content: bytes) -> None:
    (file,) = indexes(marked.home)
    file.write_bytes(content)
    assert listed(marked)["acme"] == "Do acme things."
    assert json.loads(file.read_text())["data"][1]


def test_half_an_index_is_replaced(marked: Any) -> None:
    (file,) = indexes(marked.home)
    file.write_bytes(file.read_bytes()[:-20])
    assert listed(marked)["acme"] == "Do acme things."


def test_help_needs_no_cache(acme: Any) -> None:
    """A cache folder that cannot be written, also for root, who may write anywhere."""
    (acme.home / "cache").write_text("in the way")
    assert listed(acme) == listed(acme) == {"acme": "Do acme things.", "other": "Do others."}


def test_a_folder_or_a_pipe_in_place_of_the_index_holds_nobody_up(marked: Any) -> None:
    (file,) = indexes(marked.home)
    for make in (os.mkdir, os.mkfifo):
        file.unlink() if file.is_file() else None
        make(file)
        assert listed(marked)["acme"] == "Do acme things."
        file.rmdir() if file.is_dir() else file.unlink(missing_ok=True)


def test_each_home_has_an_index_of_its_own(marked: Any, tmp_path: Path) -> None:
    assert listed(marked, SKILLKIT_HOME=str(tmp_path / "second"))["acme"] == "Do acme things."
    assert listed(marked)["acme"] == "From the index."


def test_another_python_reads_the_plugins_itself(marked: Any, tmp_path: Path) -> None:
    """A virtual environment with the same packages on its path."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(venv)], check=True)
    argv = [str(venv / "bin" / "python"), "-m", "skillkit_core", "--help"]
    done = subprocess.run(argv, cwd=marked.cwd, env=marked.env(), capture_output=True, text=True, check=True)
    assert "Do acme things." in done.stdout
    assert listed(marked)["acme"] == "From the index."


@pytest.mark.parametrize(
    ("options", "env"),
    [
        (("-P", "no:acme"), {}),
        (("--help", "-P", "no:acme"), {}),
        (("--plugins", "other"), {}),
        ((), {"SKILLKIT_PLUGINS": "other"}),
    ],
)
def test_a_plugin_that_does_not_run_is_not_listed(marked: Any, options: tuple[str, ...], env: dict[str, str]) -> None:
    for _ in range(2):
        assert listed(marked, *options, **env) == {"other": "Do others."}
        assert listed(marked)["acme"] == "From the index."


def test_a_plugin_that_a_configuration_disables_is_not_listed(marked: Any) -> None:
    marked.config("plugins: {disabled: [acme]}\n")
    assert listed(marked) == listed(marked) == {"other": "Do others."}


def test_a_project_counts_once_it_is_trusted_and_its_cache_never(marked: Any) -> None:
    (file,) = indexes(marked.home)
    inside = marked.cwd / ".skillkit"
    for folder in (inside, inside / "cache", marked.cwd, marked.cwd / "cache"):
        (folder / "commands").mkdir(parents=True)
        (folder / "commands" / file.name).write_text(file.read_text().replace("Do others.", "Injected."))
    (inside / "config.yaml").write_text("plugins: {disabled: [acme]}\n")
    said = "Warning: .skillkit/config.yaml does not count: this folder is not trusted; see 'skillkit config trust'\n"
    assert listed(marked, said=said) == {"acme": "From the index.", "other": "Do others."}
    assert marked.run("config", "trust", "--yes").code == 0
    assert listed(marked) == listed(marked) == {"other": "Do others."}


@pytest.mark.parametrize(
    "source",
    [
        'def register_commands(register, host):\n    text = host.environ["ACME"]',
        'def host_configure(host):\n    global text\n    text = host.environ["ACME"]\n\n'
        "@hookimpl\ndef register_commands(register):\n    pass",
    ],
    ids=["register_commands", "host_configure"],
)
def test_a_plugin_that_looks_at_the_host_is_always_asked(site: Any, source: str) -> None:
    site.plugin("acme", f'@hookimpl\n{source}\n    register(Command("acme", "json:dumps", text))\n')
    settle(site)
    assert listed(site, ACME="One text.") == {"acme": "One text."}
    assert listed(site, ACME="Another text.") == {"acme": "Another text."}


def test_a_plugin_that_is_broken_is_tried_again(marked: Any) -> None:
    marked.plugin("late", "import tomorrow\n" + offer("Do it late.", "late"))
    settle(marked)
    assert "late" not in listed(marked)
    (marked.libraries / "tomorrow.py").write_text("")
    try:
        assert listed(marked)["late"] == "Do it late."
    finally:
        (marked.libraries / "tomorrow.py").unlink()


def test_hidden_and_ambiguous_commands_are_listed_as_without_an_index(acme: Any) -> None:
    both = 'register(Command("twice", "json:dumps", "From {0}."))\n    '
    for name in ("one", "two"):
        hidden = f'register(Command("secret-{name}", "json:dumps", "Hidden.", hidden=True))'
        head = "@hookimpl\ndef register_commands(register):\n    "
        acme.plugin(name, head + both.format(name) + hidden + "\n")
    acme.plugin("sneaky", offer("Not the core's.", "doctor"))
    settle(acme)
    first, second = listed(acme), listed(acme)
    assert indexes(acme.home)
    assert first == second
    assert {"twice@one", "twice@two", "doctor@sneaky"} <= first.keys() and not {"secret-one", "twice"} & first.keys()


def test_a_plugin_is_configured_with_what_the_options_of_a_command_set(site: Any) -> None:
    """The command is found with the plugins loaded, and only then its options are parsed."""
    (site.path / "acme_cli.py").write_text(
        "import click\n@click.command()\n@click.option('--mode')\n@click.pass_context\n"
        "def acme(ctx, mode):\n    import acme_acme_acme\n    ctx.obj.host.configure({'acme.mode': mode})\n"
        "    ctx.obj.host.load()\n    print(acme_acme_acme.seen)\n"
    )
    site.plugin(
        "acme",
        """
        from pydantic import BaseModel
        class Section(BaseModel):
            mode: str = "lax"
        seen = None
        @hookimpl
        def register_config(register): register(ConfigSection("acme", Section))
        @hookimpl
        def host_configure(config):
            global seen
            seen = config.mode
        @hookimpl
        def register_commands(register): register(Command("acme", "acme_cli:acme", "Do it."))
        """,
    )
    assert site.run("acme").out == "lax\n"
    assert site.run("acme", "--mode", "strict").out == "strict\n"


def test_a_command_loads_its_plugins_once(site: Any) -> None:
    log = site.home / "log"
    (site.path / "acme_cli.py").write_text(
        "import click\n@click.command()\n@click.pass_context\ndef acme(ctx): ctx.obj.host.load()\n"
    )
    site.plugin(
        "acme",
        f"""
        def note(text):
            with open({str(log)!r}, "a") as file: file.write(text)
        @hookimpl
        def host_started(): note("started ")
        @hookimpl
        def host_shutdown(): note("shut ")
        @hookimpl
        def register_commands(register): register(Command("acme", "acme_cli:acme", "Do it."))
        """,
    )
    assert site.run("acme").code == 0
    assert log.read_text() == "started shut "
