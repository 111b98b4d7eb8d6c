"""Runs the ``skillkit`` command as people do: as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .fork_server import ForkServer, installed_command
from .home import Home
from .terminal import Terminal

__all__ = ["CommandLine", "CommandResult"]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended."""

    args: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Standard output, parsed.

        Raises:
            AssertionError: it is not JSON; shows what was written instead.
        """
        try:
            return json.loads(self.stdout)
        except ValueError:
            raise AssertionError(f"{self} did not write JSON") from None

    @property
    def json_lines(self) -> list[Any]:
        """Standard output, one JSON value per line."""
        return [json.loads(line) for line in self.stdout.splitlines() if line]

    def ok(self) -> CommandResult:
        """Give the result back, if the command ended with 0.

        Raises:
            AssertionError: it did not; shows its output.
        """
        assert self.exit_code == 0, str(self)
        return self

    def __str__(self) -> str:
        said = f"--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
        return f"skillkit {' '.join(self.args)} ended with {self.exit_code}\n{said}"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Calls ``skillkit`` in an empty home.

    Attributes:
        home: the empty home.
        server: what forks the processes of calls; none: each is a Python of its own.
    """

    home: Home
    server: ForkServer | None = None

    @property
    def argv(self) -> list[str]:
        """The script ``skillkit`` beside this Python, else ``python -m skillkit_core``: a distribution brings the script."""
        return installed_command()

    @property
    def program(self) -> list[str]:
        """What starts ``skillkit`` for those who start it themselves: a shell, a client.

        A program that becomes a forked process, which costs a fifth; without what forks, :attr:`argv`. Its process id is that
        of the program: signals are passed on, but a process that is looked for by its id is another one.
        """
        return [str(self.server.program)] if self.server is not None else self.argv

    def __call__(
        self,
        *args: str | Path,
        input: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 120.0,
    ) -> CommandResult:
        """Run ``skillkit *args`` to its end.

        Args:
            input: what it reads. env: further variables. cwd: default: the home's project. timeout: seconds.

        Raises:
            subprocess.TimeoutExpired: it did not end; it has been killed.
        """
        given = tuple(str(a) for a in args)
        environ, cwd = {**os.environ, **(env or {})}, cwd or self.home.cwd
        if self.server is not None:
            with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                read.write(input.encode())
                read.seek(0)
                status = self.server.run([*self.argv, *given], (read, out, err), environ, cwd, timeout)
                if status is not None:
                    return CommandResult(given, status, _text(out), _text(err))
        done = subprocess.run(
            [*self.argv, *given],
            input=input,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environ,
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
        return CommandResult(given, done.returncode, done.stdout, done.stderr)

    def terminal(
        self,
        *args: str | Path,
        kind: type[Terminal] = Terminal,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        fresh: bool = False,
        **options: Any,
    ) -> Any:
        """Start ``skillkit *args`` at a terminal of its own; use it in a ``with`` block.

        Args:
            kind: the class, :class:`~skillkit_testkit.Terminal` or one below it.
            env: further variables.
            cwd: default: the home's project.
            fresh: in a Python of its own, although there is what forks processes.
            options: those of ``kind``: ``columns``, ``rows``, ``timeout``.
        """
        server = None if fresh else self.server
        environ = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        argv = [*self.argv, *map(str, args)]
        return kind(argv, cwd=cwd or self.home.cwd, env=environ, server=server, **options)

    def start(
        self, *args: str | Path, env: Mapping[str, str] | None = None, fresh: bool = False
    ) -> subprocess.Popen[str]:
        """Start ``skillkit *args`` with pipes, in a session of its own, for conversations and signals.

        Use it in a ``with`` block and end it there. It is :attr:`program`, which ends a moment before its process where it is
        killed: the ends of its pipes say that both are gone.

        Args:
            env: further variables.
            fresh: in a Python of its own, although there is what forks processes.
        """
        return subprocess.Popen(
            [*(self.argv if fresh else self.program), *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **(env or {})},
            cwd=self.home.cwd,
            start_new_session=True,
        )


def _text(file: IO[bytes]) -> str:
    """Return what was written, as a pipe opened for text gives it."""
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")
