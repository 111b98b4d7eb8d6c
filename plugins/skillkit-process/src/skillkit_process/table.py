"""The table of processes: who is there, who started whom, who holds a pipe. ``/proc`` on Linux, ``ps`` elsewhere (macOS)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Collection
from typing import NamedTuple

__all__ = ["HAS_PROC", "Process", "children", "has_mark", "process", "processes", "writes_to"]

HAS_PROC = os.access("/proc/self/stat", os.R_OK)
_PS = ("ps", "-o", "pid=,ppid=,pgid=,stat=,lstart=")


class Process(NamedTuple):
    """One line of the table.

    Attributes:
        pid: its number.
        state: one letter; ``Z`` is a process that has ended and was not waited for.
        parent: the number of its parent.
        group: the number of its process group.
        session: the number of its session.
        started: when it started: clock ticks since the machine did, or seconds since the epoch where there is no ``/proc``.
    """

    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.state not in "ZXx"


def process(pid: int) -> Process | None:
    """Return what the table says about ``pid``; ``None`` when it is gone."""
    if not HAS_PROC:
        return next(iter(_listed("-p", str(pid))), None)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # man proc_pid_stat: the name stands in parentheses, and may hold any character
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def processes() -> list[Process]:
    """Return everybody, and nobody where the table cannot be read."""
    if not HAS_PROC:
        return _listed("-A")
    names = (name for name in os.listdir("/proc") if name.isdigit())
    return [found for name in names if (found := process(int(name))) is not None]


def children(pid: int) -> list[int]:
    """Return the numbers of the processes that have ``pid`` as their parent, and have not ended."""
    return [one.pid for one in processes() if one.parent == pid and one.alive]


def writes_to(pid: int, inodes: Collection[int], fds: Collection[str] = ()) -> bool:
    """Return whether ``pid`` holds the writing end of one of these pipes, as one of ``fds`` if any are given (Linux)."""
    links = {f"pipe:[{inode}]" for inode in inodes}
    base = f"/proc/{pid}"
    with contextlib.suppress(OSError):  # gone, or of another user
        for fd in fds or os.listdir(f"{base}/fd"):
            with contextlib.suppress(OSError, IndexError, ValueError):
                if os.readlink(f"{base}/fd/{fd}") in links:
                    with open(f"{base}/fdinfo/{fd}", "rb") as file:
                        flags = int(file.read().split(b"flags:", 1)[1].split(None, 1)[0], 8)
                    if flags & os.O_ACCMODE != os.O_RDONLY:
                        return True
    return False


def has_mark(pid: int, mark: bytes) -> bool:
    """Return whether ``pid`` was started with ``mark``, a ``NAME=value``, in its environment (Linux)."""
    with contextlib.suppress(OSError):  # gone, or of another user
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    return False


def _listed(*options: str) -> list[Process]:
    """Return what ``ps`` lists."""
    try:
        done = subprocess.run(
            (*_PS, *options), capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False
        )
    except OSError:
        return []
    found = []
    for line in done.stdout.splitlines():
        pid, parent, group, state, *started = line.split()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            session = os.getsid(int(pid))
            since = int(time.mktime(time.strptime(" ".join(started), "%a %b %d %H:%M:%S %Y")))
            found.append(Process(int(pid), state[0], int(parent), int(group), session, since))
    return found
