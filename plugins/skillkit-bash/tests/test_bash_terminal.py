"""What needs a terminal ends at once and says so, in words that a model and a person can use."""

from __future__ import annotations

import shutil
import sys

import pytest
from skillkit_bash.terminal import NEEDS_TERMINAL, misses_terminal
from skillkit_bash.tool import describe

pytestmark = pytest.mark.usefixtures("no_leaks")

PYTHON = sys.executable


def program(name):
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")


@pytest.mark.parametrize(
    "command",
    [
        "read answer </dev/tty",
        "cat /dev/tty",
        "echo asking >/dev/tty",
        "stty -echo",
        "tty",
        f"{PYTHON} -c 'input(\"name: \")'",
        f"{PYTHON} -c 'import os; os.get_terminal_size()'",
        pytest.param("top", marks=program("top")),
        pytest.param("tmux", marks=program("tmux")),
    ],
)
def test_a_command_without_the_terminal_that_it_needs_fails_at_once_and_says_why(runtime, go, command):
    result = go(runtime.execute(command))
    assert result.exit_code not in (0, None) and result.needs_terminal
    assert describe(result).endswith(NEEDS_TERMINAL)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says who waits")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("vim notes.txt", marks=program("vim")),
        pytest.param("EDITOR=vim; $EDITOR notes.txt && echo edited", marks=program("vim")),
        # what vim does: stdin has ended, so stderr must be the terminal
        f"{PYTHON} -c 'import os, select; os.dup2(2, 0); select.select([0], [], [])'",
    ],
    ids=["vim", "an editor below a shell", "stderr as stdin"],
)
def test_an_editor_that_waits_is_ended_instead_of_waited_for(runtime, go, tmp_path, monkeypatch, command):
    monkeypatch.setattr("skillkit_process.child.LOOK", 0.5)
    result = go(runtime.execute(command, tmp_path, timeout=50))
    assert result.needs_terminal and result.exit_code is None and not result.timed_out
    assert "edited" not in result.stdout
    assert describe(result).endswith(NEEDS_TERMINAL)


@pytest.mark.parametrize(
    "command",
    [
        "ls /no/such/file",
        "false",
        "bash -i -c 'exit 3'",
        "less /etc/passwd; exit 1",
        "echo 'there is no terminal here'; exit 1",
        pytest.param("vim -es -c 'cq'", marks=program("vim")),
    ],
)
def test_other_failures_are_not_blamed_on_a_terminal(runtime, go, command):
    result = go(runtime.execute(command))
    assert result.exit_code not in (0, None) and not result.needs_terminal
    assert NEEDS_TERMINAL not in describe(result)


def test_what_works_without_a_terminal_works(runtime, go, tmp_path, monkeypatch):
    monkeypatch.setattr("skillkit_process.child.LOOK", 0.05)
    result = go(runtime.execute("cat 0<&1 </dev/null; sleep 0.4; less /etc/passwd", tmp_path))
    assert result.ok and "root" in result.stdout and not result.needs_terminal


@pytest.mark.parametrize(
    "said",
    [
        "sudo: a terminal is required to read the password; either use the -S option to read from standard input",
        "sudo: no tty present and no askpass program specified",
        "fatal: could not read Username for 'https://example.com': No such device or address",
        "error: Terminal is dumb, but EDITOR unset",
        "the input device is not a TTY",
        "Error opening terminal: dumb.",
        "open terminal failed: not a terminal",
        "gpg: problem with the agent: Inappropriate ioctl for device",
        "su: must be run from a terminal",
        "ERROR: Raw mode is not supported on the current process.stdin",
    ],
)
def test_the_words_of_programs_are_known(said):
    assert misses_terminal(f"a first line\n{said}\n")


@pytest.mark.parametrize(
    "said",
    [
        "Pseudo-terminal will not be allocated because stdin is not a terminal.\r\nssh: connect to host h port 22: refused",
        "bash: cannot set terminal process group (-1): Inappropriate ioctl for device\nbash: no job control in this shell",
        "src/terminal.py:3: error: terminal has no attribute 'x'",
        "3 tests failed: test_tty, test_pretty",
    ],
)
def test_harmless_words_are_no_need(said):
    assert not misses_terminal(said)
