"""A Python that has imported what many commands import, and forks a process for each command: a start costs milliseconds.

``python -P -m skillkit_testkit.fork_server JOBS DOOR MODULE ...`` imports the modules, then reads jobs from the socket JOBS until
the other side closes it. :class:`ForkServer` is that other side, in the process of the tests. What tests start by a name (a
shell, a client) has only a program to name: :attr:`ForkServer.program`, which asks the server at the socket
DOOR for a process, passes signals on to it, and ends as it does. A server forks servers, too: processes of tests that run beside
each other share what one of them has imported.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
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
import tempfile
import termios
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import skillkit_core

__all__ = ["ForkServer", "Forked"]

# Variables that Python reads as it starts, but those that a forked process can take over.
_READ_AT_START = re.compile(r"PYTHON(?!(?:PATH|_KEYRING_BACKEND|FAULTHANDLER)\Z)|LANG|LC_|TZ\Z")

# Servers of this process that another one's server has forked, so that they are none of its children.
elsewhere: set[int] = set()

# The program: a Python without its library's heavier half, as it runs once for each command.
_PROGRAM = """#!{python} -IS
import _socket, json, os, signal, sys
given = [*{command!r}, *sys.argv[1:]]
job = json.dumps({{"argv": given, "env": dict(os.environ), "cwd": os.getcwd(), "terminal": False}}).encode()
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, 1 << 20)
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
try:
    server.connect({door!r})
    server.sendmsg([job], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    pid = int(server.recv(64) or 0)
except OSError:
    pid = 0
if not pid:  # only a Python of its own will do
    os.execv(given[0], given)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, lambda number, frame: server.send(b"%d" % number))
status = int(server.recv(64) or -signal.SIGKILL)
if status < 0:
    if status != -signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status & 0xFF)
"""


def installed_command() -> list[str]:
    """Return what starts ``skillkit``: the script of a distribution beside this Python, else the module of the core."""
    script = Path(sys.executable).with_name("skillkit")
    return [str(script)] if script.exists() else [sys.executable, "-m", "skillkit_core"]


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
        parent: the door of a server with the same modules, which forks this one. Where it is gone, this one imports them itself.

    Attributes:
        door: the socket that takes jobs from everybody.
        forked: whether another server has forked this one.
        program: an executable file, named ``skillkit``, that runs the command in a forked process.
    """

    def __init__(self, modules: Sequence[str], parent: str | None = None) -> None:
        self._environ = _read_at_start(os.environ)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = tempfile.TemporaryDirectory(prefix="skillkit-fork-")
        self.program = Path(self._folder.name, "skillkit")
        self.door = str(self.program.with_name("door"))
        self.program.write_text(_PROGRAM.format(python=sys.executable, command=installed_command(), door=self.door))
        self.program.chmod(0o755)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as programs:
            programs.bind(self.door)
            programs.listen(64)
            files = theirs.fileno(), programs.fileno()
            pid = _forked_server(parent, files) if parent else 0
            self.forked = bool(pid)
            if not pid:
                argv = [sys.executable, "-P", "-m", __name__, *map(str, files), *modules]
                self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=files)
                pid = self._process.pid
        self._handle = os.pidfd_open(pid)
        if self.forked:
            elsewhere.add(pid)

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
            argv: the words that start it: :func:`installed_command`, and its arguments.
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
        select.select([self._handle], [], [])
        os.close(self._handle)
        if not self.forked:
            self._process.wait()
        self._folder.cleanup()


def shared_server(modules: Sequence[str], folder: Path) -> ForkServer:
    """Return a server, forked from that of the process which came first into this folder: the modules are imported once."""
    with (folder / "fork-server").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known: dict[str, str] = dict(line.rstrip("\n").split("\t") for line in file)
        named = " ".join(modules)
        server = ForkServer(modules, known.get(named))
        if not server.forked:
            file.write(f"{named}\t{server.door}\n")
        return server


def _forked_server(parent: str, files: Sequence[int]) -> int:
    """Ask the server at a door for a server, and return its process id; 0: it has none for this process."""
    job = json.dumps({"serve": True, "env": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server, contextlib.suppress(OSError):
        server.connect(parent)
        socket.send_fds(server, [job], files)
        return int(server.recv(64) or 0)
    return 0


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``env`` that Python reads as it starts."""
    return {name: value for name, value in env.items() if _READ_AT_START.match(name)}


class _Running(NamedTuple):
    """A process that was forked.

    Attributes:
        pid: its process id.
        answers: the connection of who waits for it.
        program: who waits is the program, which passes signals on; where the connection ends, so does the process.
    """

    pid: int
    answers: socket.socket
    program: bool


def _serve(jobs: socket.socket, door: socket.socket) -> dict[str, Any] | None:
    """Fork for each job; return the job in the process that was forked for it, and None in the server at the end.

    A job that is a server has its sockets as ``serve``.
    """
    environ = _read_at_start(os.environ)
    running: dict[int, _Running] = {}  # by descriptor of the process
    while True:
        programs = {one.answers.fileno(): handle for handle, one in running.items() if one.program}
        ready: set[int] = set(select.select([jobs.fileno(), door.fileno(), *running, *programs], [], [])[0])
        for handle in (programs[number] for number in ready & programs.keys()):
            running[handle] = _signalled(running[handle])
        for handle in ready & running.keys():
            os.close(handle)
            _ended(running.pop(handle))
        if jobs.fileno() in ready:
            data, files, _, _ = socket.recv_fds(jobs, 1 << 20, 4)
            if not data:
                return None
            answers = socket.socket(fileno=files.pop(0))
        elif door.fileno() in ready:
            answers, _ = door.accept()
            data, files, _, _ = socket.recv_fds(answers, 1 << 20, 3)
        else:
            continue
        job: dict[str, Any] = json.loads(data or "{}")
        if not job or _read_at_start(job["env"]) != environ:  # the program is gone, or has to start a Python of its own
            with answers, contextlib.suppress(OSError):
                answers.send(b"0")
            _close(files)
            continue
        pid = os.fork()
        if "serve" in job:
            if pid:
                answers.close()
                _close(files)
                os.waitpid(pid, 0)
                continue
            if os.fork():  # nobody's child: it ends with its own tests, and what it costs is theirs
                os._exit(0)
            with answers:
                answers.send(str(os.getpid()).encode())
            _close(running)
            return {"serve": files}
        if not pid:
            for number, file in enumerate(files):
                os.dup2(file, number)
            _close([*files, *running])
            for one in running.values():
                one.answers.close()
            answers.close()
            return job
        _close(files)
        with contextlib.suppress(OSError):
            answers.send(str(pid).encode())
        running[os.pidfd_open(pid)] = _Running(pid, answers, jobs.fileno() not in ready)


def _close(files: Iterable[int]) -> None:
    """Close descriptors."""
    for file in files:
        os.close(file)


def _signalled(process: _Running) -> _Running:
    """Pass on the signal that the program got; if the program is gone, kill the process."""
    with contextlib.suppress(OSError):
        if number := process.answers.recv(64):
            os.kill(process.pid, int(number))
            return process
    os.kill(process.pid, signal.SIGKILL)
    return process._replace(program=False)


def _ended(process: _Running) -> None:
    """Tell the exit status."""
    status = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
    with process.answers, contextlib.suppress(OSError):  # nobody waits for it any more
        process.answers.send(str(status).encode())


def _become(path: Sequence[str], *, argv: list[str], env: dict[str, str], cwd: str, terminal: bool) -> None:
    """Make this process what a Python that was started so would be."""
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    start = installed_command()
    is_script = len(start) == 1
    name = start[0] if is_script else str(Path(skillkit_core.__file__).with_name("__main__.py"))
    sys.argv[:] = [name, *argv[len(start) :]]
    sys.path[:] = [*([str(Path(name).parent)] if is_script else []), *_python_path(env), *path]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if env.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()


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
    handles, modules = sys.argv[1:3], sys.argv[3:]
    given = _python_path(os.environ)
    path = [entry for entry in sys.path if entry not in given]
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()  # a collection in a forked process would write to every page that it shares
    job: dict[str, Any] | None = {"serve": [*map(int, handles)]}
    while job is not None and "serve" in job:
        first, second = job["serve"]
        with socket.socket(fileno=first) as jobs, socket.socket(fileno=second) as door:
            job = _serve(jobs, door)
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
