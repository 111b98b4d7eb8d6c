"""The launcher runs one command inside: ``python -I -S -c CODE KEY=VALUE... -- COMMAND``; :func:`command_line` makes that.

It stays outside for as long as the command runs: it keeps the placeholders of missing paths, the control group and the proxy,
and it takes them away at the end. It is started for every command, so that it and what it imports do without the modules that
cost more than the sandbox itself: typing (9 ms), contextlib, subprocess, json, re, and site.

Exit status: that of the command, 128 + N where a signal N ended it; 124: ``limits.seconds`` are over; 125: the sandbox could
not be made; 126: the program cannot be started; 127: there is no such program.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal itself imports enum
import binascii
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, NoReturn, Protocol

    class _Child(Protocol):
        """A command that waits inside for :meth:`go`."""

        @property
        def pid(self) -> int | None: ...
        def go(self) -> None: ...
        def wait(self) -> int | None: ...
        def kill(self) -> None: ...
        def close(self) -> None: ...


__all__ = ["NOT_MADE", "command_line", "main"]

TIME_OVER, NOT_MADE, NOT_STARTED, NOT_FOUND = 124, 125, 126, 127
_MB = 1024 * 1024
_PATH = "/usr/local/bin:/usr/bin:/bin"
_LISTS = ("write", "write_files", "read", "protect", "hide", "domains", "env")
_CODE = "import sys; sys.path += [%s]; from skillkit_sandbox.launcher import main; main()"


def command_line(
    policy: Mapping[str, Any], argv: Sequence[str], env: Iterable[str], program: bytes, **more: str
) -> list[str]:
    """Return the command line of the launcher.

    Args:
        policy: data of a resolved policy.
        argv: the command.
        env: names of variables that are passed on besides those of the policy.
        program: the filter of system calls.
        more: ``backend`` and what it needs.
    """
    words = [f"{key}={value}" for key, value in more.items()]
    words += [f"{key}={value}" for key in _LISTS for value in policy[key]]
    words += [f"given={name}" for name in sorted(env)]
    words += [f"limits.{key}={value}" for key, value in (policy["limits"] or {}).items() if value]
    words += [f"network={policy['network']}", f"filter={binascii.b2a_base64(program, newline=False).decode()}"]
    import skillkit_process

    folders = (
        os.path.dirname(os.path.dirname(os.path.abspath(file))) for file in (__file__, skillkit_process.__file__)
    )
    code = _CODE % ", ".join(map(repr, dict.fromkeys(folders)))
    return [sys.executable, "-I", "-S", "-c", code, *words, "--", *argv]


def _request(words: Iterable[str]) -> dict[str, Any]:
    """Return what the words of a command line say."""
    found: dict[str, Any] = {key: [] for key in (*_LISTS, "given")}
    found["limits"] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key.startswith("limits."):
            found["limits"][key.removeprefix("limits.")] = int(value)
        elif key in found:
            found[key].append(value)
        else:
            found[key] = value
    found["filter"] = binascii.a2b_base64(found["filter"])
    return found


class _Refused(Exception):
    def __init__(self, message: str, status: int = NOT_MADE) -> None:
        super().__init__(message)
        self.status = status


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status."""
    given = list(sys.argv[1:] if argv is None else argv)
    _close_inherited()
    try:
        at = given.index("--")
        status = _run(_request(given[:at]), given[at + 1 :])
    except (_Refused, OSError) as error:
        os.write(2, f"sandbox: {error}\n".encode(errors="surrogateescape"))
        status = error.status if isinstance(error, _Refused) else NOT_MADE
    os._exit(status)


def _close_inherited() -> None:
    """Close every descriptor but 0, 1 and 2: nothing inside shall have what somebody left open."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass  # it was that of the list itself


def _run(request: Mapping[str, Any], command: Sequence[str]) -> int:
    env = _environment(request["env"], request["given"])
    cwd = os.getcwd()
    argv = [_program(command[0], cwd, env), *command[1:]]
    stop = _Stop()
    child = _start(request, argv, cwd, env)
    group = None
    try:
        if child.pid is not None:
            stop.child = child
            group = _limit(request["limits"], child.pid)
            _open_proxy(request, child.pid)
            stop.check()
            signal.alarm(request["limits"].get("seconds", 0))
            child.go()
        status = child.wait()
        signal.alarm(0)
        stop.child = None
    except (_Refused, OSError):
        child.kill()
        child.wait()
        raise
    finally:
        child.close()
        if group is not None:
            group.close()
    if stop.number == signal.SIGALRM:
        raise _Refused(f"ended after {request['limits']['seconds']} s, as limits.seconds says", TIME_OVER)
    if stop.number:
        return 128 + stop.number
    if status is None:
        raise _Refused("the sandbox could not be made; 'skillkit sandbox check' says what works here")
    return status


def _start(request: Mapping[str, Any], argv: list[str], cwd: str, env: dict[str, str]) -> _Child:
    if request["network"] == "proxy":
        from .proxy import variables

        env.update(variables())
    if request["backend"] == "landlock":
        from .landlock import Landlock

        return Landlock(request, argv, cwd, env)
    from .bubblewrap import Bubblewrap
    from .mounts import MountProblem

    try:
        return Bubblewrap(request, argv, cwd, env)
    except MountProblem as error:
        raise _Refused(str(error)) from None


class _Stop:
    """Signals that end the launcher end the command first."""

    def __init__(self) -> None:
        self.number = 0
        self.child: _Child | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)
        signal.signal(signal.SIGALRM, self._stop)

    def _stop(self, number: int, _frame: object) -> None:
        self.number = self.number or number
        if self.child is not None:
            self.child.kill()

    def check(self) -> None:
        if self.number:
            raise _Refused("ended before the command began", 128 + self.number)


def _environment(names: Iterable[str], given: Sequence[str]) -> dict[str, str]:
    """Return the variables that the policy passes on, with HOME and PATH unless the caller gave its own ones."""
    patterns = [*names, *given]
    exact = {name for name in patterns if "*" not in name}
    stars = [name for name in patterns if "*" in name]
    env = {k: v for k, v in os.environ.items() if k in exact or any(_fits(k, star) for star in stars)}
    if not given:
        env.setdefault("PATH", _PATH)
        env.setdefault("HOME", os.environ.get("HOME") or os.path.expanduser("~"))
    return env


def _fits(name: str, pattern: str) -> bool:
    if pattern.count("*") == 1 and pattern[-1] == "*" and "[" not in pattern and "?" not in pattern:
        return name.startswith(pattern[:-1])
    from fnmatch import fnmatchcase  # it imports re

    return fnmatchcase(name, pattern)


def _program(name: str, cwd: str, env: Mapping[str, str]) -> str:
    """Return the absolute path of a program, so that no shell takes it for a word of its own."""
    folders = [""] if "/" in name else env.get("PATH", _PATH).split(":")
    paths = [path for folder in folders if os.path.exists(path := os.path.join(cwd, folder, name))]
    if not paths:
        raise _Refused(f"command not found: {name}", NOT_FOUND)
    for path in paths:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise _Refused(f"{name} is not executable", NOT_STARTED)


def _limit(limits: Mapping[str, int], pid: int) -> Any:
    """Set the limits of the held process. Fails where a limit that is asked for would not hold."""
    resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    if not limits:
        return None
    from .cgroup import ControlGroup

    processes, memory = limits.get("processes"), limits.get("memory_mb", 0) * _MB
    wanted = {"processes": processes, "memory": memory}
    group = ControlGroup({name: value for name, value in wanted.items() if value})
    try:
        group.add(pid)
        _set(pid, resource.RLIMIT_DATA, memory)
        _set(pid, resource.RLIMIT_FSIZE, limits.get("disk_mb", 0) * _MB)
        _set(pid, resource.RLIMIT_NOFILE, limits.get("open_files"))
        _set(pid, resource.RLIMIT_CPU, limits.get("cpu_seconds"))
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


def _open_proxy(request: Mapping[str, Any], pid: int) -> None:
    if request["network"] == "proxy":
        from .proxy import Proxy

        Proxy(pid, request["domains"])
