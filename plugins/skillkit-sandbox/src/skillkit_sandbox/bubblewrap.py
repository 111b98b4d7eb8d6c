"""The backend ``bubblewrap``: namespaces, mounts and a filter of system calls around one command.

The first process inside is a shell that waits for the command: it has the same filter as the command (bubblewrap's own first
process has none, and could be used to go round it), and when it ends, the kernel ends everything else inside.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # see launcher.py: what it imports costs at every command
import os

from .mounts import Mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["INIT", "Bubblewrap"]

# The shell keeps its own words ("Terminated") to itself, and the command gets the shell's place for errors.
INIT = ("/bin/sh", "-c", 'exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?', "sh")


class Bubblewrap:
    """One start of bubblewrap, held before the command runs until :meth:`go`.

    Args:
        request: a resolved policy, ``filter``, the filter of system calls, and ``bwrap``, the path of bubblewrap.
        argv: the command; the program is an absolute path.
        cwd: its current folder.
        env: its environment, which also is all that bubblewrap itself gets.

    Attributes:
        pid: the first process inside, as this machine numbers it; ``None``: bubblewrap failed.
    """

    def __init__(self, request: Mapping[str, Any], argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
        shown = [_shown(arg) for arg in argv if os.path.isabs(arg) and os.path.exists(arg)]
        limit = request["limits"].get("disk_mb")
        self._mounts = Mounts(request, cwd, shown, limit * 1024 * 1024 if limit else None)
        self._status = ""
        self._status_fd, status = os.pipe()
        block, self._go_fd = os.pipe()
        theirs = [status, block]
        try:
            theirs.append(seccomp := _file_of(request["filter"]))
            options = [
                "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
                *(() if request["network"] == "on" else ("--unshare-net",)),
                "--new-session", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
                *self._mounts.args,
                "--seccomp", str(seccomp), "--json-status-fd", str(status), "--block-fd", str(block), "--chdir", cwd,
            ]  # fmt: skip
            theirs.append(args := _file_of("\0".join(options).encode(errors="surrogateescape")))
            for fd in theirs:
                os.set_inheritable(fd, True)
            command = [request["bwrap"], "--args", str(args), "--", *INIT, *argv]
            # Python ignores these, which a child would inherit
            self._process = os.posix_spawn(command[0], command, env, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))
        except BaseException:
            self._mounts.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self.pid = self._child()

    def _child(self) -> int | None:
        while "\n" not in self._status:
            piece = os.read(self._status_fd, 4096)
            if not piece:
                return None
            self._status += piece.decode()
        return int(self._status.partition('"child-pid":')[2].split(",")[0].strip(" }\n"))

    def go(self) -> None:
        """Let the command start."""
        os.write(self._go_fd, b"1")
        os.close(self._go_fd)

    def wait(self) -> int | None:
        """Wait for the end, and return the exit status as a shell has it; ``None``: the command was never started."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        while piece := os.read(self._status_fd, 4096):
            self._status += piece.decode()
        if code < 0:
            return 128 - code
        return code if '"exit-code"' in self._status else None

    def kill(self) -> None:
        """End everything inside at once."""
        os.kill(self._process, signal.SIGKILL)

    def close(self) -> None:
        """Take the placeholders away."""
        self._mounts.close()


def _file_of(data: bytes) -> int:
    """Return a descriptor of a file without a name that holds ``data``."""
    fd = os.memfd_create("sandbox")
    while data:
        data = data[os.write(fd, data) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _shown(path: str) -> str:
    """Return what must be in sight for a program that the command line names: its folder, unless everything lies there."""
    folder = os.path.dirname(path)
    return path if os.path.isdir(path) or folder in ("/tmp", "/var/tmp", "/dev/shm") else folder  # noqa: S108
