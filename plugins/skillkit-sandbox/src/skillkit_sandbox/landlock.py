"""The backend ``landlock``, for machines without bubblewrap: the kernel checks paths, sockets and calls, and mounts nothing.

Landlock only ever grants: it cannot take a path out of a folder that may be read or written, and it says nothing of modes,
owners and times. What a policy needs and this backend lacks stands in :mod:`.box`.

A *keeper* stands between the launcher and the command. It ends when the launcher does, and with it everything that the command
started, also what left the session: no process inside gets out of the keeper's sight, or may send it a signal.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # see launcher.py: what it imports costs at every command
import ctypes
import os
import struct

from skillkit_process import adopt_orphans, end_children, end_with_parent, wait_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

__all__ = ["Landlock", "abi"]

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_PATH_BENEATH = 1
_READ_DIR = 1 << 3
_READ = 1 << 0 | 1 << 2 | _READ_DIR  # execute, read files
_WRITE_FILE, _TRUNCATE, _REFER, _IOCTL = 1 << 1, 1 << 14, 1 << 13, 1 << 15
_MAKE = sum(1 << bit for bit in range(4, 13)) & ~(1 << 6 | 1 << 11)  # remove and make, but no device
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | _TRUNCATE | _IOCTL
_NET_TCP, _SCOPED = 0b11, 0b11
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 38, 22, 24
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the version of Landlock that the kernel has; 0: none."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)))


class Landlock:
    """One child that restricts itself, held before the command runs until :meth:`go`.

    The arguments are those of :class:`~skillkit_sandbox.bubblewrap.Bubblewrap`. The filter of system calls refuses ``ptrace``,
    too.
    """

    def __init__(self, request: Mapping[str, Any], argv: list[str], cwd: str, env: Mapping[str, str]) -> None:
        for path in request["write_files"]:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        temporary = _make_temporary()
        start = _Start(request, argv, cwd, {**env, "TMPDIR": temporary}, temporary)
        said, say = os.pipe()
        held, self._go_fd = os.pipe()
        launcher = os.getpid()
        self._keeper = os.fork()
        if self._keeper == 0:
            for fd in (said, self._go_fd):
                os.close(fd)
            _keep(start, launcher, say, held)
        for fd in (say, held):
            os.close(fd)
        self.pid = int(os.read(said, 20) or b"0") or None
        os.close(said)

    def go(self) -> None:
        """Let the command start."""
        os.write(self._go_fd, b"1")
        os.close(self._go_fd)

    def wait(self) -> int | None:
        """Wait for the end of everything inside, and return the exit status of the command as a shell has it."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._keeper, 0)[1])
        return code if code >= 0 else 128 - code

    def kill(self) -> None:
        """End everything inside."""
        os.kill(self._keeper, signal.SIGTERM)

    def close(self) -> None:
        """Do nothing: the keeper has cleared away."""


def _make_temporary() -> str:
    """Make a private folder, where this user may, and return its path."""
    name = f"skillkit-sandbox-{os.urandom(8).hex()}"
    for folder in (os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp"):  # noqa: S108
        path = os.path.abspath(os.path.join(folder, name))
        try:
            os.mkdir(path, 0o700)
        except OSError as error:
            said = error
        else:
            return path
    raise OSError(f"no folder for temporary files can be made: {said}")


class _Start:
    """What the command needs, and what it may do."""

    def __init__(
        self, request: Mapping[str, Any], argv: list[str], cwd: str, env: Mapping[str, str], temporary: str
    ) -> None:
        self.request, self.argv, self.cwd, self.env, self.temporary = request, argv, cwd, env, temporary


def _keep(start: _Start, launcher: int, say: int, held: int) -> NoReturn:
    """Start the command, wait for it, end what it left behind, and exit with its status."""
    pid, stopped = 0, False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        if pid:
            os.kill(pid, signal.SIGKILL)

    try:
        os.setsid()  # whoever kills the launcher's group does not kill the keeper
        signal.signal(signal.SIGTERM, stop)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)  # the launcher's matter
        adopt_orphans()
        end_with_parent(signal.SIGTERM)
        if os.getppid() == launcher:
            keeper = os.getpid()
            pid = os.fork()
            if pid == 0:
                _become(start, keeper, (say, held))
            os.write(say, str(pid).encode())
        os.close(say)
        os.close(held)
        if pid and stopped:
            stop()
        code = wait_for(pid) if pid else 128 + signal.SIGKILL
    finally:
        pid = 0
        end_children()
        _remove(start.temporary)
    os._exit(code)


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _become(start: _Start, keeper: int, fds: tuple[int, int]) -> NoReturn:
    """Restrict this process, and become the command."""
    try:
        end_with_parent(signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(128 + signal.SIGKILL)
        os.close(fds[0])
        os.setsid()
        for name in ("PIPE", "XFSZ", "INT", "TERM", "HUP", "QUIT", "ALRM"):
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)
        if not os.read(fds[1], 1):
            os._exit(125)  # the launcher gave up
        os.chdir(start.cwd)
        os.close(fds[1])
        _restrict(start)
        os.execve(start.argv[0], start.argv, start.env)  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - a forked child must not go on as its parent
        os.write(2, f"sandbox: {start.argv[0]}: {error}\n".encode(errors="surrogateescape"))
    os._exit(126)


def _restrict(start: _Start) -> None:
    policy, version = start.request, abi()
    if version < 3:
        raise OSError("the kernel has no Landlock 3")
    network = policy["network"] == "on"
    handled = (1 << (16 if version >= 5 else 15)) - 1
    attributes = struct.pack("=QQQ", handled, 0 if network or version < 4 else _NET_TCP, _SCOPED if version >= 6 else 0)
    attributes = attributes[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _call(
        _CREATE, ctypes.create_string_buffer(attributes, len(attributes)), ctypes.c_size_t(len(attributes)), 0
    )
    covered = {real for path in policy["hide"] if (real := os.path.realpath(path)) != "/"} | {"/dev"}
    for path in policy["read"]:
        _allow_reading(ruleset, os.path.realpath(path), covered)
    full = (_READ | _WRITE_FILE | _MAKE | _REFER | _TRUNCATE | _IOCTL) & handled
    for path in (*policy["write"], start.temporary):
        _allow(ruleset, path, full)
    for path in policy["write_files"]:
        _allow(ruleset, path, (1 << 2 | _WRITE_FILE | _TRUNCATE) & handled)
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            _allow(ruleset, f"/dev/{name}", (_READ | _WRITE_FILE | _TRUNCATE | _IOCTL) & handled)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _call(_RESTRICT, ruleset, 0)
    os.close(ruleset)
    _drop_capabilities()
    bpf = policy["filter"]
    program = ctypes.create_string_buffer(bpf, len(bpf))
    _prctl(_PR_SET_SECCOMP, 2, ctypes.byref(_Program(len(bpf) // 8, ctypes.cast(program, ctypes.c_void_p))))


def _drop_capabilities() -> None:
    """Give up what root may do besides being the owner of root's files."""
    if os.geteuid() == 0:
        for number in range(64):
            if _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
                break  # the kernel has no more of them
    header, none = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    _checked(_libc.capset(header, none))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _call(*args: Any) -> int:
    return _checked(int(_libc.syscall(*args)))


def _prctl(what: int, value: int, more: Any = 0) -> None:
    _checked(_libc.prctl(what, value, more, 0, 0))


def _allow_reading(ruleset: int, path: str, covered: set[str]) -> None:
    """Allow to read what is in ``path``, but for what is covered: of a folder around that, the names and the other entries."""
    if any(path == one or path.startswith(one + "/") for one in covered):
        return
    if not any(one.startswith(path.rstrip("/") + "/") for one in covered):
        return _allow(ruleset, path, _READ)
    _allow(ruleset, path, _READ_DIR)
    try:
        with os.scandir(path) as entries:
            inside = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return  # who cannot read it outside cannot read it inside
    for entry in inside:
        _allow_reading(ruleset, entry, covered)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, fd), 12)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(fd)
