"""The processes of one program: who they are, and how all of them end.

A program is started as the leader of a session and process group of its own, so one signal to the group reaches what stayed
in it. Whoever left the group (``setsid``, a shell's job control) is looked for in the table of processes:

- processes of the leader's session or group,
- their children and children's children, also those seen in an earlier look,
- processes that hold the writing end of one of the program's output pipes,
- processes that have the tree's mark in their environment,

and, in all cases, started after the program. The limit: a process that called ``setsid``, let go of the pipes, *and* lost its
parent before anybody looked cannot be told from a stranger, unless the tree has a mark and the process kept it. Below a keeper
(:mod:`.keeper`) there is no such limit, because nobody loses an ancestor. Without ``/proc`` (macOS) nobody knows pipes and
marks, and without ``ps`` the group is all there is.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection

from . import table
from .table import Process

__all__ = ["Tree"]


class Tree:
    """The processes that belong to the program whose leader is ``root``.

    A zombie keeps its number, and so does a group that has a member: signal ``root`` only while one of both is true, so
    that no stranger who got the number later is hit. Everybody else is signalled through a pidfd, after a look at the
    start time.

    Args:
        root: pid of the leader; it is also the id of the group and of the session.
        pipes: inodes of the program's output pipes.
        mark: a ``NAME=value`` that the program got in its environment.
        kept: the leader is a keeper, which :meth:`kill` spares: it ends by itself when it has killed what is left.
    """

    def __init__(self, root: int, pipes: Collection[int] = (), *, mark: str | None = None, kept: bool = False) -> None:
        self._root = root
        self._pipes = tuple(pipes)
        self._mark = mark.encode() if mark is not None else None
        self._kept = kept
        self._known: dict[int, int] = {}
        leader = table.process(root)
        self._since = leader.started if leader is not None else 0

    def group_alive(self) -> bool:
        """Return whether the group has a member. A leader that was not reaped counts."""
        try:
            os.killpg(self._root, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # macOS: only zombies are left, or a member changed its user
            return table.HAS_PROC
        return True

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the group alone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, number)

    def terminate(self) -> None:
        """Ask everybody to end: SIGTERM, and SIGCONT for those that are stopped."""
        members = self.members()
        for number in (signal.SIGTERM, signal.SIGCONT):
            self.signal_group(number)
            for process in members:
                self._send(process, number)

    def kill(self) -> bool:
        """Send SIGKILL to everybody that is found now, and return whether there was anybody."""
        members = self.members()
        if self._kept:
            for process in members:
                self._send(process, signal.SIGCONT if process.pid == self._root else signal.SIGKILL)
            return bool(members)
        if members or not table.HAS_PROC:
            self.signal_group(signal.SIGKILL)
        for process in members:
            self._send(process, signal.SIGKILL)
        return bool(members)

    def alive(self) -> bool:
        """Return whether anybody is left."""
        if not table.HAS_PROC:
            return self.group_alive() or bool(self.members())
        for pid, started in self._known.items():
            process = table.process(pid)
            if process is not None and process.alive and process.started == started:
                return True
        return bool(self.members())

    def reads_its_output(self) -> bool:
        """Return whether somebody took an output pipe for its stdin, from which nothing can ever be read (Linux).

        Editors do that when stdin has ended: they take stderr for the terminal, and wait.
        """
        return any(table.writes_to(process.pid, self._pipes, ("0",)) for process in self.members())

    def reap_orphans(self) -> None:
        """Collect members that became children of this process (it is pid 1 of a container, or a subreaper)."""
        for pid in self._known:
            if pid != self._root:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def members(self) -> list[Process]:
        """Return everybody who belongs to the program and has not ended."""
        everybody = [p for p in table.processes() if p.started >= self._since]
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

    def _is_member(self, process: Process) -> bool:
        if process.session == self._root or process.group == self._root:
            return True
        if self._known.get(process.pid) == process.started:
            return True
        if process.parent == os.getpid() and process.session == os.getsid(0):
            return False  # the host's own workers: a fork may have copied a descriptor
        if self._mark is not None and table.has_mark(process.pid, self._mark):
            return True
        return bool(self._pipes) and table.writes_to(process.pid, self._pipes)

    def _send(self, process: Process, number: signal.Signals) -> None:
        """Send a signal to a process, and never to another one that got its number."""
        fd = None
        with contextlib.suppress(AttributeError, OSError):  # gone, or no pidfds (macOS, old kernels)
            fd = os.pidfd_open(process.pid)
        try:
            now = table.process(process.pid)
            if now is None or now.started != process.started:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if fd is not None:
                    signal.pidfd_send_signal(fd, number)
                else:
                    os.kill(process.pid, number)
        finally:
            if fd is not None:
                os.close(fd)
