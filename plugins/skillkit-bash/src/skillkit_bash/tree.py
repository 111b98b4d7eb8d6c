"""The processes of one command: who they are, and how all of them end.

A command is started as the leader of a session and process group of its own, so one signal to the group reaches what
stayed in it. Whoever left it (``setsid``, a shell's job control) is looked for in ``/proc`` when the tree is ended:

- processes of the leader's session or group,
- their children and children's children, also those seen in an earlier look,
- processes that hold the writing end of one of the command's output pipes,

and, in all cases, started after the command. The limit: a process that called ``setsid``, let go of the pipes, *and* lost
its parent before anybody looked cannot be told from a stranger. ``PR_SET_CHILD_SUBREAPER`` would catch it too, but it
changes who the parent of every orphan below the host becomes, which a library must not decide for its application.
Without ``/proc`` (macOS) the group is all there is.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass

__all__ = ["Tree"]

_HAS_PROC = os.access("/proc/self/stat", os.R_OK)


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int

    @property
    def alive(self) -> bool:
        return self.state not in "ZXx"


def _process(pid: int) -> _Process | None:
    """What ``/proc`` says about ``pid`` (``man proc_pid_stat``); ``None`` when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:  # noqa: PTH123 - hundreds of these in a row
            text = f.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return _Process(pid, fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _processes() -> Iterator[_Process]:
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            process = _process(int(name))
            if process is not None:
                yield process


def _writes_to(pid: int, inodes: Collection[int], fds: Collection[str] = ()) -> bool:
    """Whether ``pid`` holds the writing end of one of these pipes, as one of ``fds`` if any are given."""
    links = {f"pipe:[{inode}]" for inode in inodes}
    base = f"/proc/{pid}"
    with contextlib.suppress(OSError):  # gone, or of another user
        for fd in fds or os.listdir(f"{base}/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError, IndexError, ValueError):
                if os.readlink(f"{base}/fd/{fd}") in links:  # noqa: PTH115
                    with open(f"{base}/fdinfo/{fd}", "rb") as f:  # noqa: PTH123
                        flags = int(f.read().split(b"flags:", 1)[1].split(None, 1)[0], 8)
                    if flags & os.O_ACCMODE != os.O_RDONLY:
                        return True
    return False


class Tree:
    """The processes that belong to the command whose leader is ``root``.

    A zombie keeps its number, and so does a group that has a member: signal ``root`` only while one of both is true, so
    that no stranger who got the number later is hit. Everybody else is signalled through a pidfd, after a look at the
    start time.

    Args:
        root: pid of the leader; it is also the id of the group and of the session.
        pipes: inodes of the command's output pipes.
    """

    def __init__(self, root: int, pipes: Collection[int] = ()) -> None:
        self._root = root
        self._pipes = tuple(pipes)
        self._known: dict[int, int] = {}
        leader = _process(root) if _HAS_PROC else None
        self._since = leader.started if leader is not None else 0

    def group_alive(self) -> bool:
        """Whether the group has a member; a leader that was not reaped counts."""
        try:
            os.killpg(self._root, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # macOS: only zombies are left, or a member changed its user
            return _HAS_PROC
        return True

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the group alone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, number)

    def terminate(self) -> None:
        """Ask everybody to end: SIGTERM, and SIGCONT for those that are stopped."""
        members = self._find()
        for number in (signal.SIGTERM, signal.SIGCONT):
            self.signal_group(number)
            for process in members:
                self._send(process, number)

    def kill(self) -> bool:
        """SIGKILL for everybody that is found now. Returns whether there was anybody."""
        members = self._find()
        if members or not _HAS_PROC:
            self.signal_group(signal.SIGKILL)
        for process in members:
            self._send(process, signal.SIGKILL)
        return bool(members)

    def alive(self) -> bool:
        """Whether anybody is left."""
        if not _HAS_PROC:
            return self.group_alive()
        for pid, started in self._known.items():
            process = _process(pid)
            if process is not None and process.alive and process.started == started:
                return True
        return bool(self._find())

    def reads_its_output(self) -> bool:
        """Whether somebody took an output pipe for its stdin, from which nothing can ever be read.

        Editors do that when stdin has ended: they take stderr for the terminal, and wait.
        """
        return any(_writes_to(process.pid, self._pipes, ("0",)) for process in self._find())

    def reap_orphans(self) -> None:
        """Collect members that became children of this process (it is pid 1 of a container, or a subreaper)."""
        for pid in self._known:
            if pid != self._root:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _find(self) -> list[_Process]:
        if not _HAS_PROC:
            return []
        everybody = [p for p in _processes() if p.started >= self._since]
        found = {p.pid for p in everybody if self._is_member(p)}
        children: dict[int, list[int]] = {}
        for process in everybody:
            children.setdefault(process.parent, []).append(process.pid)
        todo = list(found)
        while todo:
            for pid in children.get(todo.pop(), ()):
                if pid not in found:
                    found.add(pid)
                    todo.append(pid)
        found.discard(os.getpid())
        members = [p for p in everybody if p.pid in found]
        self._known.update({p.pid: p.started for p in members})
        return [p for p in members if p.alive]

    def _is_member(self, process: _Process) -> bool:
        if process.session == self._root or process.group == self._root:
            return True
        if self._known.get(process.pid) == process.started:
            return True
        if process.parent == os.getpid() and process.session == os.getsid(0):
            return False  # the host's own workers: a fork may have copied a descriptor
        return bool(self._pipes) and _writes_to(process.pid, self._pipes)

    def _send(self, process: _Process, number: signal.Signals) -> None:
        try:
            fd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):
            return  # gone; without pidfds the group must do
        try:
            now = _process(process.pid)
            if now is not None and now.started == process.started:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)
