"""Starting a program: its variables, its pipes, its session, and the words for what can go wrong."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Literal, NamedTuple, TypeAlias

from skillkit_core import ToolError

__all__ = ["HARMLESS", "PIPE", "Started", "Stdin", "environment", "start"]

HARMLESS = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"})
"""The variables that every program may see, besides ``LC_*``."""
PIPE: Final = "pipe"
Stdin: TypeAlias = bytes | Literal["pipe"] | None
_PIPE_SIZE = 1 << 20
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", None)


def environment(allow: Iterable[str] = (), host: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that a program may see: :data:`HARMLESS`, ``LC_*``, and the names in ``allow``.

    Args:
        allow: further names.
        host: where the variables are; default: ``os.environ``.
    """
    names = HARMLESS | set(allow)
    source = os.environ if host is None else host
    return {name: value for name, value in source.items() if name in names or name.startswith("LC_")}


class Started(NamedTuple):
    """A running program: the process and this side's ends of its pipes, which do not block.

    Attributes:
        process: the process.
        stdout: the end to read.
        stderr: the end to read.
        stdin: the end to write; ``None``: it has none.
    """

    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    stdin: int | None


def start(argv: Sequence[str], *, cwd: str | Path | None, env: Mapping[str, str], stdin: Stdin) -> Started:
    """Start ``argv`` as the leader of a new session, with exactly ``env``.

    Args:
        stdin: bytes to read, a pipe to write to, or nothing.

    Raises:
        ToolError: it cannot be started; the message names the program or the directory.
    """
    if not argv:
        raise ToolError("there is no command to run")
    cwd = Path(cwd) if cwd is not None else None
    if cwd is not None and not cwd.is_dir():
        what = "is not a directory" if cwd.exists() else "does not exist"
        raise ToolError(f"the working directory {str(cwd)!r} {what}")
    theirs: list[int] = []
    ours: list[int] = []
    source: IO[bytes] | None = None
    try:
        out = _pipe(ours, theirs, _PIPE_SIZE)
        err = _pipe(ours, theirs, None)
        source = _source(stdin) if isinstance(stdin, bytes) else None
        given: int | IO[bytes] = source if source is not None else subprocess.DEVNULL
        writes = None
        if stdin == PIPE:
            given, writes = os.pipe()
            theirs.append(given)
            ours.append(writes)
        process = subprocess.Popen(
            argv, cwd=cwd, env=dict(env), stdin=given, stdout=theirs[0], stderr=theirs[1], start_new_session=True
        )
        ours = []
        return Started(process, out, err, writes)
    except (OSError, ValueError) as error:  # ValueError: NUL bytes or lone surrogates in an argument
        raise _explain(error, argv, cwd, env) from error
    finally:
        if source is not None:
            source.close()
        for fd in (*theirs, *ours):
            os.close(fd)


def _pipe(ours: list[int], theirs: list[int], size: int | None) -> int:
    read, write = os.pipe()
    ours.append(read)
    theirs.append(write)
    os.set_blocking(read, False)
    if size is not None and _F_SETPIPE_SZ is not None:
        try:
            fcntl.fcntl(write, _F_SETPIPE_SZ, size)
        except OSError:  # above the user's share of pipe memory: the default size works too
            return read
    return read


def _source(stdin: bytes) -> IO[bytes]:
    """Return a file without a name that holds ``stdin``: no writer has to be kept alive beside the program."""
    source: IO[bytes]
    if hasattr(os, "memfd_create"):
        source = os.fdopen(os.memfd_create("stdin"), "r+b")
    else:
        import tempfile

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
    import shutil

    return shutil.which(program, path=env.get("PATH", os.defpath))
