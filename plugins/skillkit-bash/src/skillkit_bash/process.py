"""Starting a command: its pipes, its session, and the words for what can go wrong."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from skillkit_core.errors import ToolError

__all__ = ["Started", "misses_terminal", "start"]

PIPE_SIZE = 1 << 20
# What the kernel says of a terminal that is not there (ENXIO, ENOTTY), and what programs say that looked for one themselves.
_NO_TERMINAL = (  # compiled when a command failed
    r"/dev/tty|inappropriate ioctl for device|could not read (?:username|password)|EOF when reading a line|"
    r"(?<!because stdin is )\bnot (?:from |to )?an? (?:tty|terminal)\b|\bno tty\b|\b(?:failed|non) tty\b|"
    r"\bterminal is (?:required|dumb|not fully functional)\b|error opening terminal|needs? (?:a|an interactive) terminal|"
    r"must be run (?:from|in) an? (?:interactive )?terminal|raw mode is not supported"
)
_HARMLESS = re.compile(r"^.*(?:no job control in this shell|cannot set terminal process group).*$", re.M)
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", None)


@dataclass(frozen=True, slots=True)
class Started:
    """A running command: the process and the reading ends of its pipes, non-blocking."""

    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int


def start(argv: Sequence[str], *, cwd: Path | None, env: Mapping[str, str], stdin: bytes | None) -> Started:
    """Start ``argv`` as the leader of a new session, with exactly ``env``.

    Raises:
        ToolError: it cannot be started; the message names the program or the directory.
    """
    if not argv:
        raise ToolError("there is no command to run")
    if cwd is not None and not cwd.is_dir():
        what = "is not a directory" if cwd.exists() else "does not exist"
        raise ToolError(f"the working directory {str(cwd)!r} {what}")
    fds: list[int] = []
    source: IO[bytes] | None = None
    try:
        out_read, out_write = _pipe(fds, PIPE_SIZE)
        err_read, err_write = _pipe(fds, None)
        source = _source(stdin)
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL if source is None else source,
            stdout=out_write,
            stderr=err_write,
            start_new_session=True,
        )
        fds = [out_write, err_write]
        return Started(process, out_read, err_read)
    except (OSError, ValueError) as error:  # ValueError: NUL bytes or lone surrogates in an argument
        raise _explain(error, argv, cwd, env) from error
    finally:
        if source is not None:
            source.close()
        for fd in fds:
            os.close(fd)


def misses_terminal(text: str) -> bool:
    """Whether the last words of a command that failed say that it wanted a terminal, or somebody who types."""
    return re.search(_NO_TERMINAL, _HARMLESS.sub("", text[-4000:]), re.I) is not None


def _pipe(fds: list[int], size: int | None) -> tuple[int, int]:
    read, write = os.pipe()
    fds += [read, write]
    os.set_blocking(read, False)
    if size is not None and _F_SETPIPE_SZ is not None:
        try:
            fcntl.fcntl(write, _F_SETPIPE_SZ, size)
        except OSError:  # above the user's share of pipe memory: the default size works too
            return read, write
    return read, write


def _source(stdin: bytes | None) -> IO[bytes] | None:
    """A file without a name that holds ``stdin``: no writer has to be kept alive beside the command."""
    if stdin is None:
        return None
    source: IO[bytes]
    if hasattr(os, "memfd_create"):
        source = os.fdopen(os.memfd_create("stdin"), "r+b")
    else:
        source = tempfile.TemporaryFile()  # noqa: SIM115 - start() closes it
    source.write(stdin)
    source.seek(0)
    return source


def _explain(error: OSError | ValueError, argv: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> ToolError:
    program = argv[0]
    if not isinstance(error, OSError):
        return ToolError(f"the command cannot be passed on: {error}")
    if cwd is not None and error.filename == str(cwd):
        return ToolError(f"the working directory {str(cwd)!r} cannot be entered: {error.strerror}")
    if error.errno == errno.ENOENT:
        if (found := _find(program, cwd, env)) is not None:
            return ToolError(f"{found} names an interpreter in its first line that does not exist")
        return ToolError(f"command not found: {program}")
    if error.errno == errno.EACCES:
        return ToolError(f"{program} is not executable", hint=f"check 'ls -l {program}'")
    if error.errno == errno.E2BIG:
        return ToolError("the command line is too long", hint="write the long part to a file and name the file")
    if error.errno == errno.ENOEXEC:
        return ToolError(f"{program} is not a program", hint="start scripts with a '#!' line")
    return ToolError(f"{program} cannot be started: {error.strerror or error}")


def _find(program: str, cwd: Path | None, env: Mapping[str, str]) -> str | None:
    if "/" in program:
        path = (cwd or Path()) / program
        return str(path) if path.exists() else None
    return shutil.which(program, path=env.get("PATH", os.defpath))
