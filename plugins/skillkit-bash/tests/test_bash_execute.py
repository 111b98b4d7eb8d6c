"""Commands start as they were asked to: shell or argv, directory, environment, stdin, and errors that say what is wrong."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from skillkit_bash import BashRuntime
from skillkit_bash.runtime import clean_environment

from skillkit_core.errors import ToolError

pytestmark = pytest.mark.usefixtures("no_leaks")

SHOW_ENV = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]


def test_a_string_is_read_by_the_shell(runtime, go):
    result = go(runtime.execute("echo out; echo err >&2; exit 3"))
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    assert not result.ok and not result.truncated
    assert (result.stdout_bytes, result.stderr_bytes) == (4, 4)


def test_the_shell_is_bash_where_there_is_one(runtime, go):
    assert go(runtime.execute('echo "${BASH_VERSION:+bash}"')).stdout == "bash\n"


def test_another_shell_can_be_configured(tmp_path, go):
    runtime = BashRuntime(shell="/bin/sh", spill_dir=tmp_path)
    assert go(runtime.execute('echo "$0"')).stdout == "/bin/sh\n"


def test_without_bash_the_command_goes_to_sh(tmp_path, go, monkeypatch):
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert go(BashRuntime(spill_dir=tmp_path).execute('echo "$0"')).stdout == f"{tmp_path}/sh\n"


@pytest.mark.parametrize("text", ["$(echo no)", "a; echo b", "`id`", "*", "-c", "it's", ""])
def test_no_shell_ever_sees_an_argv(runtime, go, text):
    result = go(runtime.execute([sys.executable, "-c", "import sys; print(repr(sys.argv[1]))", text]))
    assert result.stdout == f"{text!r}\n"


def test_a_command_that_starts_with_a_dash_is_no_option(runtime, go):
    result = go(runtime.execute("-l"))
    assert result.exit_code == 127 and "-l" in result.stderr


def test_the_exit_code_of_a_signalled_command_is_negative(runtime, go):
    assert go(runtime.execute("kill -9 $$")).exit_code == -9


def test_the_directory_is_the_given_one(runtime, go, tmp_path):
    assert go(runtime.execute("pwd -P", tmp_path)).stdout == f"{tmp_path.resolve()}\n"


def test_a_relative_program_is_looked_up_in_the_directory(runtime, go, tmp_path):
    script = tmp_path / "hello.sh"
    script.write_text("#!/bin/sh\necho hello\n")
    script.chmod(0o755)
    assert go(runtime.execute(["./hello.sh"], tmp_path)).stdout == "hello\n"


def test_nothing_of_the_hosts_environment_reaches_a_command(runtime, go, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH"):
        monkeypatch.setenv(name, "/secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    seen = json.loads(go(runtime.execute(SHOW_ENV)).stdout)
    assert "/secret" not in json.dumps(seen)
    assert seen["LC_ALL"] == "C.UTF-8" and seen["TERM"] == "dumb" and seen["PATH"] == os.environ["PATH"]


def test_a_given_environment_is_complete(runtime, go):
    env = {"ONLY": "this", "PATH": os.environ["PATH"], "LC_CTYPE": "C.UTF-8"}
    assert json.loads(go(runtime.execute(SHOW_ENV, None, env)).stdout) == env


def test_an_empty_environment_is_empty(runtime, go):
    assert go(runtime.execute(["/usr/bin/env"], env={})).stdout == ""


def test_further_variables_and_the_path_can_be_configured(tmp_path, go, monkeypatch):
    monkeypatch.setenv("BUILD_ID", "7")
    runtime = BashRuntime(env_allow=["BUILD_ID"], path="/usr/bin:/bin", spill_dir=tmp_path)
    seen = json.loads(go(runtime.execute(SHOW_ENV)).stdout)
    assert seen["BUILD_ID"] == "7" and seen["PATH"] == "/usr/bin:/bin"


def test_a_host_without_path_still_gives_one():
    assert clean_environment(host={"X": "1"}) == {"PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb"}


def test_stdin_is_empty_by_default(runtime, go):
    assert go(runtime.execute("cat; echo end")).stdout == "end\n"


@pytest.mark.parametrize("size", [0, 5, 300_000])
def test_stdin_is_what_was_given(runtime, go, size):
    result = go(runtime.execute(["wc", "-c"], stdin=b"x" * size))
    assert int(result.stdout) == size


def test_stdin_that_nobody_reads_does_no_harm(runtime, go):
    assert go(runtime.execute("true", stdin=b"x" * 1_000_000)).ok


def _unexecutable(tmp_path: Path) -> list[str]:
    path = tmp_path / "data.txt"
    path.write_text("no program")
    return [str(path)]


def _bad_interpreter(tmp_path: Path) -> list[str]:
    path = tmp_path / "script"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    return [str(path)]


def _no_header(tmp_path: Path) -> list[str]:
    path = tmp_path / "headless"
    path.write_bytes(b"\0\1\2")
    path.chmod(0o755)
    return [str(path)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: ["no-such-program-here"], "command not found: no-such-program-here"),
        (lambda p: [str(p / "nothing")], "command not found"),
        (_unexecutable, "is not executable"),
        (_bad_interpreter, "interpreter"),
        (_no_header, "is not a program"),
        (lambda p: [], "no command"),
        (lambda p: ["echo", "a\0b"], "cannot be passed on"),
        (lambda p: "echo \ud800", "cannot be passed on"),
        (lambda p: ["echo", "x" * 3_000_000], "too long"),
    ],
)
def test_a_command_that_cannot_start_is_a_tool_error(runtime, go, tmp_path, make, words):
    with pytest.raises(ToolError, match=words):
        go(runtime.execute(make(tmp_path)))


@pytest.mark.parametrize(("name", "words"), [("missing", "does not exist"), ("file", "is not a directory")])
def test_a_wrong_directory_is_named(runtime, go, tmp_path, name, words):
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match=f"{name}' {words}"):
        go(runtime.execute("true", tmp_path / name))


def test_the_terminal_of_the_host_is_out_of_reach(runtime, go):
    result = go(runtime.execute("ps -o sid= -p $$; echo $$; (exec < /dev/tty) 2>/dev/null || echo no tty"))
    session, pid, tty = result.stdout.split("\n")[:3]
    assert int(session) == int(pid) and tty == "no tty"
