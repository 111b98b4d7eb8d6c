"""A Python that has imported what many commands import, and forks a process for each command: a start costs milliseconds.

``python -P -m skillkit_testkit.fork_server FD MODULE ...`` imports the modules, then reads jobs from the socket FD until the
other side closes it. :class:`ForkServer` is that other side, in the process of the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["ForkServer"]

# Variables that Python reads as it starts; a forked process can take over PYTHONPATH alone.
_READ_AT_START = re.compile(r"PYTHON(?!PATH\Z|_KEYRING_BACKEND\Z)|LANG|LC_|TZ\Z")


class ForkServer:
    """Runs ``skillkit`` in processes that have imported some modules already.

    Args:
        modules: what the processes have imported. A module that is not installed is left out.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._environ = _read_at_start(os.environ)
        self._busy = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            argv = [sys.executable, "-P", "-m", __name__, str(theirs.fileno()), *modules]
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])

    @staticmethod
    def supported() -> bool:
        """Return whether this system forks safely and has the sockets for it."""
        return sys.platform == "linux"

    def run(
        self, argv: Sequence[str], files: Sequence[IO[bytes]], env: Mapping[str, str], cwd: Path, timeout: float
    ) -> int | None:
        """Run ``skillkit`` to its end.

        Args:
            argv: its ``sys.argv``.
            files: its standard input, output and error.
            env: its whole environment.
            cwd: its current directory.
            timeout: seconds.

        Returns:
            The exit status as :mod:`subprocess` gives it. None where only a Python of its own will do: another command is
            running, or a variable that Python reads as it starts has another value.

        Raises:
            subprocess.TimeoutExpired: the command did not end; it has been killed.
        """
        if _read_at_start(env) != self._environ or not self._busy.acquire(blocking=False):
            return None
        try:
            job = json.dumps({"argv": argv, "env": dict(env), "cwd": str(cwd)}).encode()
            try:
                socket.send_fds(self._socket, [job], [file.fileno() for file in files])
            except OSError:  # it is too long for one message
                return None
            pid = self._answer(None)
            try:
                return self._answer(timeout)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._answer(None)
                raise subprocess.TimeoutExpired(list(argv), timeout) from None
        finally:
            self._busy.release()

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()

    def _answer(self, timeout: float | None) -> int:
        """Return the next number that the server sends: a pid, then the exit status."""
        self._socket.settimeout(timeout)
        answer = self._socket.recv(64)
        assert answer, f"the fork server ended with status {self._process.wait()}"
        return int(answer)


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``env`` that Python reads as it starts."""
    return {name: value for name, value in env.items() if _READ_AT_START.match(name)}


def _serve(jobs: socket.socket) -> dict[str, Any] | None:
    """Fork for each job; return the job in the process that was forked for it, and None in the server at the end."""
    while True:
        data, files, _, _ = socket.recv_fds(jobs, 1 << 20, 3)
        if not data:
            return None
        pid = os.fork()
        if not pid:
            for number, file in enumerate(files):
                os.dup2(file, number)
        for file in files:
            os.close(file)
        if not pid:
            job: dict[str, Any] = json.loads(data)
            return job
        jobs.send(str(pid).encode())
        jobs.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _become(path: Sequence[str], *, argv: list[str], env: dict[str, str], cwd: str) -> None:
    """Make this process what a Python that was started so would be."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = argv
    sys.path[:] = [str(Path(argv[0]).parent), *_python_path(env), *path]
    importlib.invalidate_caches()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _python_path(env: Mapping[str, str]) -> list[str]:
    """Return the entries of PYTHONPATH."""
    return [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _leave(status: list[int]) -> None:
    """End this process with its status before Python takes every module apart: that would copy each page that it shares."""
    if status:
        gc.collect()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status[0] & 0xFF)


def main() -> None:
    """Serve; in a forked process, run the command."""
    status: list[int] = []
    atexit.register(_leave, status)  # the first that is registered is called last
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt of the tests closes the socket
    descriptor, *modules = sys.argv[1:]
    given = _python_path(os.environ)
    path = [entry for entry in sys.path if entry not in given]
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()  # a collection in a forked process would write to every page that it shares
    with socket.socket(fileno=int(descriptor)) as jobs:
        job = _serve(jobs)
    if job is not None:
        _become(path, **job)
        from skillkit_core.cli import entry

        try:
            entry()
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                status.append(ended.code or 0)
            raise


if __name__ == "__main__":
    main()
