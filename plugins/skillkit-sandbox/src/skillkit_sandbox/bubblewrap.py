"""The backend ``bubblewrap``: namespaces, mounts and a filter of system calls around one command.

The first process inside is a shell that waits for the command: it has the same filter as the command (bubblewrap's own first
process has none, and could be used to go round it), and when it ends, the kernel ends everything else inside.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from .mounts import Mounts
from .seccomp import filter_program

__all__ = ["INIT", "Bubblewrap", "find_bwrap"]

# The shell keeps its own words ("Terminated") to itself, and the command gets the shell's place for errors.
INIT = ("/bin/sh", "-c", 'exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?', "sh")


def find_bwrap() -> str | None:
    """Return the path of bubblewrap. A folder of the current user counts only for this user, so the system's come first."""
    return shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin") or shutil.which("bwrap")


class Bubblewrap:
    """One start of bubblewrap, held before the command runs until :meth:`go`.

    Args:
        policy: data of a resolved policy.
        argv: the command; the program is an absolute path.
        cwd: its current folder.
        env: its environment, which also is all that bubblewrap itself gets.

    Attributes:
        pid: the first process inside, as this machine numbers it; ``None``: bubblewrap failed.
    """

    def __init__(self, policy: Mapping[str, Any], argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
        network = policy["network"]
        shown = [_shown(arg) for arg in argv if os.path.isabs(arg) and os.path.exists(arg)]
        limit = (policy["limits"] or {}).get("disk_mb")
        self._mounts = Mounts(policy, cwd, shown, limit * 1024 * 1024 if limit else None)
        self._status = ""
        fds: list[int] = []
        try:
            bpf = filter_program(inet=True, unix=policy["unix_sockets"], netlink=network == "on")
            fds.append(seccomp := _file_of(bpf))
            self._status_fd, status_write = _pipe(fds)
            block, self._go_fd = _pipe(fds)
            options = [
                "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
                *(() if network == "on" else ("--unshare-net",)),
                "--new-session", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
                *self._mounts.args,
                "--seccomp", str(seccomp), "--json-status-fd", str(status_write), "--block-fd", str(block), "--chdir", cwd,
            ]  # fmt: skip
            fds.append(args := _file_of("\0".join(options).encode(errors="surrogateescape")))
            self.process = subprocess.Popen(
                [find_bwrap() or "bwrap", "--args", str(args), "--", *INIT, *argv],
                env=dict(env),
                pass_fds=[seccomp, status_write, block, args],
            )
        except BaseException:
            self._mounts.close()
            raise
        finally:
            for fd in fds:
                if fd not in (getattr(self, "_status_fd", None), getattr(self, "_go_fd", None)):
                    os.close(fd)
        self.pid = self._child()

    def _child(self) -> int | None:
        while "\n" not in self._status:
            piece = os.read(self._status_fd, 4096)
            if not piece:
                return None
            self._status += piece.decode()
        return int(json.loads(self._status.splitlines()[0])["child-pid"])

    def go(self) -> None:
        """Let the command start."""
        os.write(self._go_fd, b"1")
        os.close(self._go_fd)

    def wait(self) -> int | None:
        """Wait for the end, and return the exit status as a shell has it; ``None``: the command was never started."""
        code = self.process.wait()
        while piece := os.read(self._status_fd, 4096):
            self._status += piece.decode()
        if code < 0:
            return 128 - code
        return code if '"exit-code"' in self._status else None

    def kill(self) -> None:
        """End everything inside at once."""
        self.process.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Take the placeholders away."""
        self._mounts.close()


def _pipe(fds: list[int]) -> tuple[int, int]:
    read, write = os.pipe()
    fds += [read, write]
    return read, write


def _file_of(data: bytes) -> int:
    """Return a descriptor of a file without a name that holds ``data``."""
    fd = os.memfd_create("sandbox")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _shown(path: str) -> str:
    """Return what must be in sight for a program that the command line names: its folder, unless everything lies there."""
    folder = os.path.dirname(path)
    return path if os.path.isdir(path) or folder in ("/tmp", "/var/tmp", "/dev/shm") else folder  # noqa: S108
