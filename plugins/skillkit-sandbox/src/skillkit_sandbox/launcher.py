"""The launcher: ``python -I -m skillkit_sandbox.launcher JSON -- COMMAND``. It runs one command inside.

It stays outside for as long as the command runs: it keeps the placeholders of missing paths, the control group and the proxy,
and it takes them away at the end. It imports the standard library and pyseccomp alone, because it is started for every
command.

Exit status: that of the command, 128 + N where a signal N ended it; 125: the sandbox could not be made; 126: the program
cannot be started; 127: there is no such program.
"""

from __future__ import annotations

import fnmatch
import json
import os
import pwd
import resource
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

__all__ = ["NOT_MADE", "main"]

NOT_MADE, NOT_STARTED, NOT_FOUND = 125, 126, 127
_MB = 1024 * 1024
_PATH = "/usr/local/bin:/usr/bin:/bin"


class _Child(Protocol):
    """A command that waits inside for :meth:`go`."""

    @property
    def pid(self) -> int | None: ...
    def go(self) -> None: ...
    def wait(self) -> int | None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class _Refused(Exception):
    def __init__(self, message: str, status: int = NOT_MADE) -> None:
        super().__init__(message)
        self.status = status


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        request = json.loads(given[0])
        status = _run(request, given[given.index("--") + 1 :])
    except _Refused as error:
        os.write(2, f"sandbox: {error}\n".encode(errors="replace"))
        status = error.status
    sys.stdout = sys.stderr = None  # nothing was printed; a closed pipe is not this program's matter
    os._exit(status)


def _run(request: Mapping[str, Any], command: Sequence[str]) -> int:
    from .mounts import MountProblem
    from .seccomp import SeccompMissing

    policy = request["policy"]
    env = _environment(policy["env"], request.get("env") or [])
    cwd = os.getcwd()
    argv = [_program(command[0], cwd, env), *command[1:]]
    stop = _Stop()
    try:
        child = _start(request["backend"], policy, argv, cwd, env)
    except (MountProblem, SeccompMissing, OSError) as error:
        raise _Refused(str(error)) from None
    group = proxy = None
    try:
        if child.pid is not None:
            stop.child = child
            group = _limit(policy["limits"], child.pid)
            proxy = _proxy(policy, child.pid)
            stop.check()
            child.go()
        status = child.wait()
    except _Refused:
        child.kill()
        child.wait()
        raise
    finally:
        child.close()
        for part in (proxy, group):
            if part is not None:
                part.close()
    if stop.number:
        return 128 + stop.number
    if status is None:
        raise _Refused("the sandbox could not be made; 'skillkit sandbox check' says what works here")
    return status


def _start(backend: str, policy: Mapping[str, Any], argv: list[str], cwd: str, env: dict[str, str]) -> _Child:
    if policy["network"] == "proxy":
        from .proxy import variables

        env.update(variables())
    if backend == "landlock":
        from .landlock import Landlock

        return Landlock(policy, argv, cwd, env)
    from .bubblewrap import Bubblewrap

    return Bubblewrap(policy, argv, cwd, env)


class _Stop:
    """Signals that end the launcher end the command first."""

    def __init__(self) -> None:
        self.number = 0
        self.child: _Child | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)

    def _stop(self, number: int, _frame: object) -> None:
        self.number = self.number or number
        if self.child is not None:
            self.child.kill()

    def check(self) -> None:
        if self.number:
            raise _Refused("ended before the command began", 128 + self.number)


def _environment(names: Iterable[str], extra: Sequence[str]) -> dict[str, str]:
    """Return the variables that the policy passes on, with HOME and PATH unless the caller gave ``extra`` ones."""
    patterns = [*names, *extra]
    exact = {name for name in patterns if "*" not in name}
    stars = [name for name in patterns if "*" in name]
    env = {k: v for k, v in os.environ.items() if k in exact or any(fnmatch.fnmatchcase(k, star) for star in stars)}
    if not extra:
        env.setdefault("PATH", _PATH)
        env.setdefault("HOME", os.environ.get("HOME") or _home())
    return env


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def _program(name: str, cwd: str, env: Mapping[str, str]) -> str:
    """Return the absolute path of a program, so that no shell takes it for a word of its own."""
    found = os.path.join(cwd, name) if "/" in name else shutil.which(name, path=env.get("PATH", _PATH))
    if found is None or not os.path.exists(found):
        raise _Refused(f"command not found: {name}", NOT_FOUND)
    if not os.access(found, os.X_OK):
        raise _Refused(f"{name} is not executable", NOT_STARTED)
    return os.path.abspath(found)


def _limit(limits: Mapping[str, int | None] | None, pid: int) -> Any:
    """Set the limits of the held process. Fails where a limit that is asked for would not hold."""
    resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    if not limits:
        return None
    from .cgroup import ControlGroup

    processes, memory = limits.get("processes"), limits.get("memory_mb")
    wanted = {"processes": processes, "memory": memory and memory * _MB}
    group = ControlGroup({name: value for name, value in wanted.items() if value})
    try:
        group.add(pid)
        _set(pid, resource.RLIMIT_DATA, memory and memory * _MB)
        _set(pid, resource.RLIMIT_FSIZE, (limits.get("disk_mb") or 0) * _MB)
        _set(pid, resource.RLIMIT_NOFILE, limits.get("open_files"))
        if processes and "processes" not in group.held:
            if os.getuid() == 0:
                raise _Refused(
                    "limits.processes does not hold for root without a control group; leave it out, or run as a user"
                )
            _set(pid, resource.RLIMIT_NPROC, processes)
    except BaseException:
        group.close()
        raise
    return group


def _set(pid: int, what: int, value: int | None) -> None:
    if value:
        _, most = resource.prlimit(pid, what)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(pid, what, (value, value))


def _proxy(policy: Mapping[str, Any], pid: int) -> Any:
    if policy["network"] != "proxy":
        return None
    from .proxy import Proxy

    return Proxy(pid, policy["domains"])


if __name__ == "__main__":
    main()
