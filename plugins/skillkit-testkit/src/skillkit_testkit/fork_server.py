"""A Python that has imported what many commands import, and forks a process for each command: a start costs milliseconds.

``python -P -m skillkit_testkit.fork_server FD MODULE ...`` imports the modules, then reads jobs from the socket FD until the
other side closes it. :class:`ForkServer` is that other side, in the process of the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["ForkServer", "Forked"]

# Variables that Python reads as it starts; a forked process can take over PYTHONPATH alone.
_READ_AT_START = re.compile(r"PYTHON(?!PATH\Z|_KEYRING_BACKEND\Z)|LANG|LC_|TZ\Z")


class Forked:
    """A process that the server has forked, with what of :class:`subprocess.Popen` a test needs.

    Attributes:
        pid: its process id.
        returncode: its exit status as :mod:`subprocess` gives it; ``None``: it runs.
    """

    def __init__(self, answers: socket.socket) -> None:
        self._answers = answers
        self.returncode: int | None = None
        self.pid = self._answer(None)

    def poll(self) -> int | None:
        """Return the exit status if the process has ended."""
        with contextlib.suppress(TimeoutError, BlockingIOError):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status.

        Raises:
            TimeoutError: the process goes on after ``timeout`` seconds.
        """
        if self.returncode is None:
            self.returncode = self._answer(timeout)
            self._answers.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send ``SIGTERM``."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send ``SIGKILL``."""
        self.send_signal(signal.SIGKILL)

    def _answer(self, timeout: float | None) -> int:
        """Return the next number that the server sends: the pid, then the exit status."""
        self._answers.settimeout(timeout)
        answer = self._answers.recv(64)
        assert answer, "the fork server has ended"
        return int(answer)


class ForkServer:
    """Runs ``skillkit`` in processes that have imported some modules already.

    Args:
        modules: what the processes have imported. A module that is not installed is left out.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        self._environ = _read_at_start(os.environ)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            argv = [sys.executable, "-P", "-m", __name__, str(theirs.fileno()), *modules]
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])

    @staticmethod
    def supported() -> bool:
        """Return whether this system forks safely and has the sockets for it."""
        return sys.platform == "linux"

    def start(
        self,
        argv: Sequence[str],
        files: Sequence[int],
        env: Mapping[str, str],
        cwd: Path | str,
        *,
        terminal: bool = False,
    ) -> Forked | None:
        """Start ``skillkit``.

        Args:
            argv: its ``sys.argv``.
            files: descriptors of its standard input, output and error.
            env: its whole environment.
            cwd: its current directory.
            terminal: it leads a session of its own, whose terminal is its standard input.

        Returns:
            The process. None where only a Python of its own will do: a variable that Python reads as it starts has another
            value than in this process.
        """
        if _read_at_start(env) != self._environ:
            return None
        job = json.dumps({"argv": argv, "env": dict(env), "cwd": str(cwd), "terminal": terminal}).encode()
        answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._socket, [job], [theirs.fileno(), *files])
            except OSError:  # it is too long for one message
                answers.close()
                return None
        return Forked(answers)

    def run(
        self, argv: Sequence[str], files: Sequence[IO[bytes]], env: Mapping[str, str], cwd: Path, timeout: float
    ) -> int | None:
        """Run ``skillkit`` to its end, as :meth:`start` starts it, and return its exit status.

        Raises:
            subprocess.TimeoutExpired: the command did not end within ``timeout`` seconds; it has been killed.
        """
        process = self.start(argv, [file.fileno() for file in files], env, cwd)
        if process is None:
            return None
        try:
            return process.wait(timeout)
        except TimeoutError:
            process.kill()
            process.wait()
            raise subprocess.TimeoutExpired(list(argv), timeout) from None

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``env`` that Python reads as it starts."""
    return {name: value for name, value in env.items() if _READ_AT_START.match(name)}


def _serve(jobs: socket.socket) -> dict[str, Any] | None:
    """Fork for each job; return the job in the process that was forked for it, and None in the server at the end."""
    running: dict[int, tuple[int, socket.socket]] = {}  # by descriptor of the process: its pid, and who waits for it
    while True:
        ready: set[int] = set(select.select([jobs.fileno(), *running], [], [])[0])
        for handle in ready & running.keys():
            pid, answers = running.pop(handle)
            os.close(handle)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with answers, contextlib.suppress(OSError):  # nobody waits for it any more
                answers.send(str(status).encode())
        if jobs.fileno() not in ready:
            continue
        data, files, _, _ = socket.recv_fds(jobs, 1 << 20, 4)
        if not data:
            return None
        pid = os.fork()
        if not pid:
            for number, file in enumerate(files[1:]):
                os.dup2(file, number)
            for file in (*files, *running):
                os.close(file)
            for _, answers in running.values():
                answers.close()
            job: dict[str, Any] = json.loads(data)
            return job
        for file in files[1:]:
            os.close(file)
        answers = socket.socket(fileno=files[0])
        with contextlib.suppress(OSError):
            answers.send(str(pid).encode())
        running[os.pidfd_open(pid)] = pid, answers


def _become(path: Sequence[str], *, argv: list[str], env: dict[str, str], cwd: str, terminal: bool) -> None:
    """Make this process what a Python that was started so would be."""
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
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
