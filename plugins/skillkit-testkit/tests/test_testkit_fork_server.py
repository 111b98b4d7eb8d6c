"""A command in a forked process is the command in a Python of its own, but for what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit.command_line import CommandLine
from skillkit_testkit.fork_server import ForkServer, shared_server
from skillkit_testkit.home import Home

pytestmark = pytest.mark.skipif(not ForkServer.supported(), reason="this system does not fork safely")
PLUGIN = """
import atexit, json, os, sys, threading
import click
from skillkit_core import hookimpl
from skillkit_core.descriptors import Command

IMPORTED = "colorsys" in sys.modules

@click.command()
@click.argument("words", nargs=-1)
def look(words):
    "Show this process."
    seen = {"argv": sys.argv, "cwd": os.getcwd(), "env": dict(os.environ), "path": sys.path, "input": sys.stdin.read()}
    seen["terminal"] = [s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)]
    click.echo(json.dumps({**seen, "words": words, "imported": IMPORTED, "skillkit": "skillkit_look" in sys.modules}))
    click.echo("to stderr", err=True)

@click.command()
def wait():
    "Wait for ever."
    threading.Event().wait()

@click.command()
def die():
    "End without a word."
    os.abort()

class Circle:
    "What only the collector of garbage ends."
    def __init__(self):
        self.itself = self

    def __del__(self):
        print("collected")

def late(ready):
    ready.wait()
    print("from a thread")

@click.command()
def linger():
    "Leave work for the end."
    atexit.register(print, "at exit")
    ready = threading.Event()
    threading.Thread(target=late, args=(ready,)).start()
    Circle()
    print("not flushed")
    print("neither", file=sys.stderr, end="")
    ready.set()
    sys.exit(7)

@hookimpl
def register_commands(register):
    register(Command("look", f"{__name__}:look", "Show this process."))
    register(Command("wait", f"{__name__}:wait", "Wait for ever."))
    register(Command("linger", f"{__name__}:linger", "Leave work for the end."))
    register(Command("die", f"{__name__}:die", "End without a word."))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer(["colorsys", "a_module_that_nobody_has"])
    yield server
    server.close()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the plugin, for PYTHONPATH."""
    info = tmp_path / "site" / "look-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "skillkit_look.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: look\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.plugins]\nlook = skillkit_look\n")
    return info.parent


@pytest.fixture
def forked(skillkit_home: Home, server: ForkServer) -> CommandLine:
    return CommandLine(skillkit_home, server)


def test_it_is_the_same_command_with_the_modules_imported(forked: CommandLine, site: Path, tmp_path: Path) -> None:
    fresh = CommandLine(forked.home)
    options: dict[str, Any] = {
        "input": "words\nwith \u00e9",
        "env": {"PYTHONPATH": str(site), "SEEN": "1"},
        "cwd": tmp_path,
    }
    here, there = (cli("-P", "look", "look", "--", "-x", "\u00fc", **options).ok() for cli in (forked, fresh))
    assert here.stderr == there.stderr == "to stderr\n"
    seen, known = here.json, there.json
    assert (seen.pop("imported"), known.pop("imported")) == (True, False)
    assert seen == known
    assert seen["input"] == "words\nwith \u00e9" and seen["cwd"] == str(tmp_path) and seen["terminal"] == [False] * 3


def test_a_command_leaves_nothing_for_the_next(forked: CommandLine, site: Path) -> None:
    assert forked("-P", "look", "look", env={"PYTHONPATH": str(site)}).ok()
    done = forked("look")
    assert done.exit_code == 2 and "look" in done.stderr


def test_it_ends_as_it_would_alone(forked: CommandLine, site: Path) -> None:
    assert forked("no-such-command").exit_code == 2
    assert forked("-P", "look", "die", env={"PYTHONPATH": str(site)}).exit_code == -6
    with pytest.raises(subprocess.TimeoutExpired):
        forked("-P", "look", "wait", env={"PYTHONPATH": str(site)}, timeout=0.5)
    assert "Usage" in forked("--help").ok().stdout, "the server goes on"


def test_what_a_command_leaves_for_the_end_happens_as_it_would_alone(forked: CommandLine, site: Path) -> None:
    fresh = CommandLine(forked.home)
    here, there = (cli("-P", "look", "linger", env={"PYTHONPATH": str(site)}) for cli in (forked, fresh))
    assert (here.exit_code, here.stderr) == (there.exit_code, there.stderr) == (7, "neither")
    assert sorted(here.stdout.splitlines()) == sorted(there.stdout.splitlines())
    assert {"from a thread", "at exit", "not flushed"} <= {*here.stdout.splitlines()}


@pytest.mark.parametrize("variable", ["PYTHONUTF8", "LC_ALL", "TZ"])
def test_what_python_reads_as_it_starts_needs_a_python_of_its_own(
    forked: CommandLine, site: Path, variable: str
) -> None:
    env = {"PYTHONPATH": str(site), variable: {"PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}[variable]}
    assert not forked("-P", "look", "look", env=env).ok().json["imported"]


def test_commands_run_beside_each_other(forked: CommandLine, site: Path, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "words")
    env, server = {"PYTHONPATH": str(site)}, forked.server
    assert server is not None
    holder = os.open(pipe, os.O_RDWR)  # the first command reads until this is closed
    with pipe.open("rb") as words, (tmp_path / "out").open("wb") as out:
        files = [words.fileno(), out.fileno(), out.fileno()]
        first = server.start([*forked.argv, "-P", "look", "look"], files, {**os.environ, **env}, tmp_path)
    assert first is not None
    assert forked("-P", "look", "look", env=env).ok().json["imported"] and first.poll() is None
    os.close(holder)
    assert first.wait(60) == 0


def test_a_command_at_a_terminal_is_forked_and_leads_its_session(forked: CommandLine, site: Path) -> None:
    with forked.terminal("-P", "look", "look", env={"PYTHONPATH": str(site)}, columns=500) as terminal:
        terminal.send("words\n\x04")
        assert terminal.wait() == 0
        seen = json.loads(terminal.text.splitlines()[-2])
        assert seen["terminal"] == [True] * 3 and seen["imported"] and os.getpgid(0) != terminal.process.pid
    with forked.terminal("-P", "look", "wait", env={"PYTHONPATH": str(site)}) as terminal:
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait() == -signal.SIGTERM
    with forked.terminal("-P", "look", "wait", env={"PYTHONPATH": str(site)}) as terminal:
        pass
    assert terminal.process.returncode == -signal.SIGKILL, "who leaves the block ends it"


def test_a_program_becomes_the_command(forked: CommandLine, site: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(site)}
    (program,) = forked.program
    done = subprocess.run(
        [program, "-P", "look", "look", "x"], env=env, cwd=tmp_path, input="words", capture_output=True, text=True
    )
    seen = json.loads(done.stdout)
    assert (done.returncode, done.stderr, seen["input"], seen["cwd"]) == (0, "to stderr\n", "words", str(tmp_path))
    assert (
        seen["argv"][0] == forked("-P", "look", "look", env=env).json["argv"][0]
        and seen["words"] == ["x"]
        and seen["imported"]
    )
    own = subprocess.run(
        [program, "-P", "look", "look"], env={**env, "TZ": "Asia/Tokyo"}, capture_output=True, text=True
    )
    assert not json.loads(own.stdout)["imported"], "a Python of its own, where only that will do"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_a_program_ends_the_command_and_the_program_ends_as_it(
    forked: CommandLine, site: Path, tmp_path: Path, number: signal.Signals
) -> None:
    os.mkfifo(pipe := tmp_path / "held")
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); print('up', flush=True); time.sleep(600)"
    (site / "skillkit_look.py").write_text(
        PLUGIN.replace("threading.Event().wait()", f"held = open({str(pipe)!r}, 'w'); exec({code!r})")
    )
    argv, env = [*forked.program, "-P", "look", "wait"], {**os.environ, "PYTHONPATH": str(site)}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as started:
        with pipe.open() as held:
            assert started.stdout is not None and started.stdout.readline() == "up\n"
            started.send_signal(number)
            assert started.wait(60) == -number
            assert held.read() == "", "the command has ended"


def test_processes_that_test_beside_each_other_share_what_one_imported(
    forked: CommandLine, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shared_server(["colorsys"], tmp_path)
    second = shared_server(["colorsys"], tmp_path)
    other = shared_server(["chunk_that_nobody_has"], tmp_path)
    assert [first.forked, second.forked, other.forked] == [False, True, False]
    other.close()
    first.close()  # what it has forked goes on
    options: dict[str, Any] = {"input": "words", "env": {"PYTHONPATH": str(site)}}
    assert CommandLine(forked.home, second)("-P", "look", "look", **options).ok().json["imported"]
    done = subprocess.run(
        [second.program, "-P", "look", "look"],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["imported"]
    second.close()
    late = shared_server(["colorsys"], tmp_path)
    assert not late.forked, "the one that imported them is gone"
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    own = shared_server(["colorsys"], tmp_path)
    assert not own.forked, "only a Python of its own will do"
    own.close()
    late.close()
