"""The runtime suite: everything that ``SkillRuntime.execute`` promises, with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.runtime import ExecutionResult, SkillRuntime
from skillkit_core.errors import ToolError

from .processes import GRANDCHILD, Family
from .running import run

__all__ = ["RuntimeConformance"]

_SHELL_OWN = {"LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_", "__CF_USER_TEXT_ENCODING"}
_BOTH = "import sys; print('out'); print('err', file=sys.stderr)"


class RuntimeConformance:
    """Subclass it and give the fixture ``runtime``.

    Attributes:
        python: the Python that commands run; where the runtime's programs live elsewhere, give its path there.
        shell: a command that is a string is run by a POSIX shell, which is what its callers write: the tool ``bash``, lines that
            a person types, actions. A runtime without one (of programs alone, of another language) sets it to false, and refuses
            strings; the check of the shell is skipped.
    """

    python: ClassVar[str] = sys.executable
    shell: ClassVar[bool] = True

    @pytest.fixture
    def runtime(self) -> SkillRuntime:
        """Override: the runtime."""
        raise NotImplementedError("give the fixture runtime: -> SkillRuntime")

    @pytest.fixture
    def family(self, tmp_path: Path) -> Any:
        """A command whose grandchild ignores SIGTERM; what is left of it is ended after the test."""
        family = Family(tmp_path)
        yield family
        family.end()

    def script(self, code: str, *args: str) -> list[str]:
        """An argv that runs Python code."""
        return [self.python, "-c", code, *args]

    def execute(self, runtime: SkillRuntime, command: str | Sequence[str], **more: Any) -> ExecutionResult:
        """Run one command."""
        return run(runtime.execute(command, **more))

    # -- what is run

    def test_an_argv_never_meets_a_shell(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Every argument arrives as it is."""
        given = ["$HOME", "`id`", "a b", "*", "; exit 3", "\n", "--", "ü"]
        code = "import json,sys; print(json.dumps(sys.argv[1:]))"
        result = self.execute(runtime, self.script(code, *given), cwd=tmp_path)
        assert json.loads(result.stdout) == given
        assert result.ok

    def test_a_string_is_given_to_the_shell(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Pipes and lists work. Without a shell a string is refused: run in another language it is not what was meant."""
        if not self.shell:
            with pytest.raises(ToolError):
                self.execute(runtime, "echo one > written", cwd=tmp_path)
            assert not (tmp_path / "written").exists()
            pytest.skip("the runtime has no shell, and refuses strings")
        result = self.execute(runtime, "echo one | tr a-z A-Z && echo two", cwd=tmp_path)
        assert result.stdout == "ONE\ntwo\n"

    def test_the_exit_code_is_handed_on(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """A failure is a result, not an exception."""
        result = self.execute(
            runtime, self.script("import sys; print('bad', file=sys.stderr); sys.exit(3)"), cwd=tmp_path
        )
        assert (result.exit_code, result.stdout, result.stderr, result.ok) == (3, "", "bad\n", False)
        assert not result.timed_out
        assert not result.aborted

    def test_death_by_a_signal_is_a_negative_exit_code(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """As ``subprocess`` has it."""
        code = "import os,signal; os.kill(os.getpid(), signal.SIGTERM)"
        assert self.execute(runtime, self.script(code), cwd=tmp_path).exit_code == -15

    def test_a_command_that_does_not_exist_is_a_tool_error(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """The message names it."""
        with pytest.raises(ToolError, match="no-such-program-here"):
            self.execute(runtime, ["no-such-program-here"], cwd=tmp_path)

    def test_a_directory_that_does_not_exist_is_a_tool_error(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """The message names the directory, not the program."""
        with pytest.raises(ToolError, match="not-there"):
            self.execute(runtime, self.script("pass"), cwd=tmp_path / "not-there")

    # -- where it runs

    def test_it_runs_where_it_is_told(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """``cwd`` is the workspace."""
        (tmp_path / "here.txt").write_text("found")
        assert self.execute(runtime, self.script("print(open('here.txt').read())"), cwd=tmp_path).stdout == "found\n"

    def test_the_environment_is_exactly_what_is_given(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Nothing is added but what the interpreter itself sets."""
        given = {"ONLY": "this ü", "PATH": os.defpath}
        code = "import json,os; print(json.dumps(dict(os.environ)))"
        seen = json.loads(self.execute(runtime, self.script(code), cwd=tmp_path, env=given).stdout)
        assert {k: v for k, v in seen.items() if k not in _SHELL_OWN} == given

    def test_without_an_environment_the_hosts_secrets_stay_home(
        self, runtime: SkillRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Spec, section 13: a key in the process environment is not seen by commands."""
        monkeypatch.setenv("CONFORMANCE_API_KEY", "sk-secret")
        code = "import json,os; print(json.dumps(dict(os.environ)))"
        seen = self.execute(runtime, self.script(code), cwd=tmp_path).stdout
        assert "PATH" in json.loads(seen)
        assert "sk-secret" not in seen

    def test_standard_input_is_what_is_given_or_empty(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """A command that reads never waits for a person."""
        read = self.script("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())")
        assert self.execute(runtime, read, cwd=tmp_path, stdin=b"gr\xc3\xbc\xc3\x9fe").stdout == "grüße"
        assert self.execute(runtime, read, cwd=tmp_path).stdout == ""

    def test_a_command_that_does_not_read_its_input_is_no_error(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """A broken pipe is the command's choice."""
        assert self.execute(runtime, self.script("pass"), cwd=tmp_path, stdin=b"x" * 1_000_000).exit_code == 0

    # -- what it says

    def test_output_is_heard_while_the_command_runs(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """The command waits for an answer to what it said: heard late, it would wait for ever."""
        pipe = tmp_path / "answer"
        os.mkfifo(pipe)
        heard: list[str] = []

        def on_output(text: str) -> None:
            heard.append(text)
            if "".join(heard) == "question\n":
                with os.fdopen(os.open(pipe, os.O_RDWR | os.O_NONBLOCK), "w") as answer:
                    answer.write("answer\n")
                    answer.flush()
                    opened.append(os.dup(answer.fileno()))  # kept open until the command has read

        opened: list[int] = []
        code = "print('question', flush=True); print(open('answer').readline(), end='')"
        result = self.execute(runtime, self.script(code), cwd=tmp_path, on_output=on_output)
        for fd in opened:
            os.close(fd)
        assert result.stdout == "".join(heard) == "question\nanswer\n"

    def test_the_two_outputs_are_kept_apart(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """In the result and in the callbacks."""
        out: list[str] = []
        err: list[str] = []
        result = self.execute(
            runtime, self.script(_BOTH), cwd=tmp_path, on_output=out.append, on_error_output=err.append
        )
        assert (result.stdout, "".join(out)) == ("out\n", "out\n")
        assert (result.stderr, "".join(err)) == ("err\n", "err\n")

    def test_one_callback_hears_both(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """``on_error_output`` is ``on_output`` unless given."""
        heard: list[str] = []
        self.execute(runtime, self.script(_BOTH), cwd=tmp_path, on_output=heard.append)
        assert sorted("".join(heard).split()) == ["err", "out"]

    def test_a_line_of_a_megabyte_is_not_lost(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Spec, section 13: an output line over 64 KiB."""
        heard: list[str] = []
        code = "import sys; sys.stdout.write('x' * 1_000_000 + 'end')"
        result = self.execute(runtime, self.script(code), cwd=tmp_path, max_output=2_000_000, on_output=heard.append)
        assert len(result.stdout) == 1_000_003
        assert result.stdout.endswith("xend")
        assert "".join(heard) == result.stdout
        assert not result.truncated

    def test_bytes_that_are_no_utf8_are_replaced(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Nothing raises, nothing else is lost."""
        code = r"import sys; sys.stdout.buffer.write(b'a\xff\xfeb\xc3')"
        result = self.execute(runtime, self.script(code), cwd=tmp_path)
        assert result.stdout.startswith("a�")
        assert "b" in result.stdout
        assert result.stdout.encode("utf-8")
        assert result.ok

    def test_a_character_that_is_written_in_two_pieces_is_one(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Decoding waits for the rest."""
        pipe = tmp_path / "go"
        os.mkfifo(pipe)
        heard: list[str] = []
        opened: list[int] = []

        def on_output(text: str) -> None:
            heard.append(text)
            if not opened:
                opened.append(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
                os.write(opened[0], b"\n")

        code = (
            r"import sys; w = sys.stdout.buffer; w.write(b'one \xf0\x9f'); w.flush(); open('go').readline(); "
            r"w.write(b'\x8c\xa8 two'); w.flush()"
        )
        result = self.execute(runtime, self.script(code), cwd=tmp_path, on_output=on_output)
        for fd in opened:
            os.close(fd)
        assert result.stdout == "one 🌨 two"
        assert "".join(heard) == result.stdout

    def test_output_over_the_cap_loses_its_middle(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Beginning and end are what a reader needs; the result says that it is not everything."""
        code = "import sys; sys.stdout.write('BEGIN' + 'x' * 500_000 + 'END')"
        result = self.execute(runtime, self.script(code), cwd=tmp_path, max_output=2_000)
        assert result.truncated
        assert result.stdout.startswith("BEGIN")
        assert result.stdout.rstrip().endswith("END")
        assert len(result.stdout) < 3_000
        assert result.stdout_bytes == 500_008
        if result.stdout_path is not None:
            assert len(Path(result.stdout_path).read_bytes()) == 500_008
        assert result.ok

    def test_commands_run_side_by_side(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """Outputs do not mix."""

        async def work() -> list[str]:
            results = await asyncio.gather(*(runtime.execute(self.script(f"print({n})"), tmp_path) for n in range(6)))
            return [r.stdout for r in results]

        assert run(work()) == [f"{n}\n" for n in range(6)]

    # -- how it ends early

    def test_a_timeout_ends_the_whole_family(self, runtime: SkillRuntime, family: Family) -> None:
        """Also a grandchild that ignores SIGTERM and holds the output open."""
        for seconds in (1.0, 4.0, 16.0):  # a slow machine may need longer to start three processes
            result = self.execute(runtime, self.script(GRANDCHILD, str(family.lock)), cwd=family.path, timeout=seconds)
            assert result.timed_out
            assert not result.aborted
            assert not result.ok
            if "ready" in result.stdout:
                break
        assert "ready" in result.stdout, "what was said before the timeout is in the result"
        assert family.gone(), "a grandchild survived the timeout"

    def test_an_abort_ends_the_whole_family(self, runtime: SkillRuntime, family: Family) -> None:
        """As soon as the signal is set."""
        signal = AbortSignal()

        def on_output(text: str) -> None:
            if "ready" in text:
                signal.abort()

        command = self.script(GRANDCHILD, str(family.lock))
        result = self.execute(runtime, command, cwd=family.path, signal=signal, on_output=on_output)
        assert result.aborted
        assert not result.timed_out
        assert not result.ok
        assert "ready" in result.stdout
        assert family.gone(), "a grandchild survived the abort"

    def test_cancellation_ends_the_whole_family(self, runtime: SkillRuntime, family: Family) -> None:
        """``CancelledError`` passes, and leaves no process behind."""

        async def work() -> None:
            ready = asyncio.Event()
            note: Callable[[str], None] = lambda text: ready.set() if "ready" in text else None  # noqa: E731
            command = self.script(GRANDCHILD, str(family.lock))
            task = asyncio.create_task(runtime.execute(command, family.path, on_output=note))
            await ready.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run(work())
        assert family.gone(), "a grandchild survived the cancellation"

    def test_a_signal_that_is_set_already_starts_nothing(self, runtime: SkillRuntime, tmp_path: Path) -> None:
        """No effect after the end."""
        signal = AbortSignal()
        signal.abort()
        result = self.execute(runtime, self.script("open('started', 'w')"), cwd=tmp_path, signal=signal)
        assert result.aborted
        assert not (tmp_path / "started").exists()
