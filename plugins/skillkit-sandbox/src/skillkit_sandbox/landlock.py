"""The backend ``landlock``, for machines without bubblewrap: the kernel checks paths, sockets and calls, and mounts nothing.

Landlock only ever grants: it cannot take a path out of a folder that may be read or written, and it says nothing of modes,
owners and times. What a policy needs and this backend lacks is named by :func:`lacks`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .seccomp import filter_program

__all__ = ["Landlock", "abi", "lacks", "never"]

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_PATH_BENEATH = 1
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, read folders
_WRITE_FILE, _TRUNCATE, _REFER, _IOCTL = 1 << 1, 1 << 14, 1 << 13, 1 << 15
_MAKE = sum(1 << bit for bit in range(4, 13)) & ~(1 << 6 | 1 << 11)  # remove and make, but no device
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | _TRUNCATE | _IOCTL
_NET_TCP, _SCOPED = 0b11, 0b11
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 1, 38, 22, 36
_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the version of Landlock that the kernel has; 0: none."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)))


def never(policy: Mapping[str, Any]) -> list[str]:
    """Return what a policy needs that this backend cannot even do badly."""
    return ["network: proxy (there is no network of its own)"] if policy["network"] == "proxy" else []


def lacks(policy: Mapping[str, Any]) -> list[str]:
    """Return what a policy needs and this backend does not hold, one line each."""
    found = ["modes, owners, times and attributes of files outside can be changed, as far as the user may"]
    found.append("/tmp is that of the machine: it can be read, not written; TMPDIR is private")  # noqa: S108
    found.append(
        "processes of the machine can be seen, and those that leave the session outlive a launcher that is killed"
    )
    if any(os.path.lexists(p.removesuffix("?")) or not p.endswith("?") for p in policy["protect"]) and policy["write"]:
        found.append("protect: a path in a folder that can be written cannot be kept from changes")
    if any(map(os.path.exists, policy["hide"])):
        found.append("hide: a path in a folder that can be read cannot be hidden")
    if abi() < 6:
        found.append("signals reach processes of the machine (needs Landlock 6)")
    limits = policy["limits"] or {}
    if limits.get("disk_mb"):
        found.append("limits.disk_mb holds each file, not the temporary folder")
    return found


class Landlock:
    """One child that restricts itself, held before the command runs until :meth:`go`.

    The arguments are those of :class:`~skillkit_sandbox.bubblewrap.Bubblewrap`.
    """

    def __init__(self, policy: Mapping[str, Any], argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
        self._policy, self._argv, self._cwd = policy, list(argv), cwd
        self._temporary = tempfile.TemporaryDirectory(prefix="skillkit-sandbox-")
        self._env = {**env, "TMPDIR": self._temporary.name}
        network = policy["network"] == "on"
        self._bpf = filter_program(inet=network, unix=policy["unix_sockets"], netlink=network, ptrace=False)
        for path in policy["write_files"]:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        held, self._go_fd = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._child(held)
        os.close(held)

    def _child(self, held: int) -> None:
        """Restrict this process, and become the command. Never returns."""
        try:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os.close(self._go_fd)
            os.setsid()
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.read(held, 1)
            os.chdir(self._cwd)
            os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            self._restrict()
            os.execve(self._argv[0], self._argv, self._env)  # noqa: S606
        except BaseException as error:  # noqa: BLE001 - a forked child must not go on as its parent
            os.write(2, f"sandbox: {self._argv[0]}: {error}\n".encode())
        finally:
            os._exit(126)

    def _restrict(self) -> None:
        version = abi()
        if version < 3:
            raise OSError("the kernel has no Landlock 3")
        network = self._policy["network"] == "on"
        handled = (1 << (16 if version >= 5 else 15)) - 1
        attributes = struct.pack(
            "=QQQ", handled, 0 if network or version < 4 else _NET_TCP, _SCOPED if version >= 6 else 0
        )
        attributes = attributes[: 8 if version < 4 else 16 if version < 6 else 24]
        ruleset = _call(
            _CREATE, ctypes.create_string_buffer(attributes, len(attributes)), ctypes.c_size_t(len(attributes)), 0
        )
        policy = self._policy
        for path in policy["read"]:
            _allow(ruleset, path, _READ & handled)
        full = (_READ | _WRITE_FILE | _MAKE | _REFER | _TRUNCATE | _IOCTL) & handled
        for path in (*policy["write"], self._temporary.name):
            _allow(ruleset, path, full)
        for path in policy["write_files"]:
            _allow(ruleset, path, (1 << 2 | _WRITE_FILE | _TRUNCATE) & handled)
        for name in _DEVICES:
            if os.path.exists(f"/dev/{name}"):
                _allow(ruleset, f"/dev/{name}", (_READ | _WRITE_FILE | _TRUNCATE | _IOCTL) & handled)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _call(_RESTRICT, ruleset, 0)
        os.close(ruleset)
        program = ctypes.create_string_buffer(self._bpf, len(self._bpf))
        size = len(self._bpf) // 8
        _prctl(_PR_SET_SECCOMP, 2, ctypes.byref(_Program(size, ctypes.cast(program, ctypes.c_void_p))))

    def go(self) -> None:
        """Let the command start."""
        os.write(self._go_fd, b"1")
        os.close(self._go_fd)

    def wait(self) -> int | None:
        """Wait for the end, and return the exit status as a shell has it."""
        while True:
            pid, status = os.wait()
            if pid == self.pid:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code

    def kill(self) -> None:
        """End the command."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End what the command left behind, all of which are children of this process now."""
        while True:
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    continue
            children = open(f"/proc/self/task/{os.getpid()}/children").read().split()  # noqa: SIM115
            if not children:
                break
            for pid in children:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(ChildProcessError):
                os.wait()
        self._temporary.cleanup()


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _call(*args: Any) -> int:
    result = int(_libc.syscall(*args))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _prctl(what: int, value: int, more: Any = 0) -> None:
    if _libc.prctl(what, value, more, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


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
