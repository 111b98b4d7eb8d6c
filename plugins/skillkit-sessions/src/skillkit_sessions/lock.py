"""The writer's lock of a session: one process writes, and a second one is told which."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import time
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from weakref import WeakValueDictionary

from skillkit_core.errors import SessionError, SessionLocked

__all__ = ["WriterLock"]


@dataclass(frozen=True)
class _Owner:
    """Who holds a lock: pid and start time of the process (a recycled pid has another one)."""

    pid: int
    started: str | None = None

    @classmethod
    def here(cls) -> _Owner:
        pid = os.getpid()
        found = _here.get(pid)
        if found is None:
            found = _here[pid] = cls(pid, _start_time(pid))
        return found

    @functools.cached_property
    def text(self) -> bytes:
        """What the lock file says."""
        return json.dumps({"pid": self.pid, "started": self.started}).encode()

    @property
    def alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass
        return self.started is None or self.started == (_start_time(self.pid) or self.started)


def _start_time(pid: int) -> str | None:
    """When a process started, in words that only it has; ``None`` where there is no ``/proc``."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return f"{boot}/{stat[stat.rindex(b')') + 2 :].split()[19].decode()}"


class WriterLock:
    """Held from :meth:`acquire` until :meth:`release`, or until the process ends, however it ends. A fork does not hold it.

    The file ``<session>.lock`` holds the pid of its owner and is locked with ``flock``, so the kernel gives it back when
    the owner dies and no recycled pid can be mistaken for it. On file systems without ``flock`` the pid and the start time
    in the file decide.
    """

    def __init__(self, path: Path, session_id: str) -> None:
        self._path = path
        self._name = str(path)
        self._session_id = session_id
        self._fd: int | None = None
        self._lost = False

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            SessionLocked: a living process has it; the error names the pid. SessionError: the file cannot be made.
        """
        while self._fd is None:
            try:
                fd = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                taken = False
                try:
                    taken = self._take(fd)
                finally:
                    if not taken:
                        os.close(fd)
            except OSError as error:
                raise SessionError(
                    f"session {self._session_id!r} cannot be written, for its lock cannot be made: {error.strerror}",
                    where=self._name,
                    hint="free some disk space, make the directory writable, or open the session read-only",
                ) from error
            if taken:
                self._fd = fd

    def _take(self, fd: int) -> bool:
        """Whether the file is ours now; ``False``: its owner removed it meanwhile, so look again."""
        owner = _read_owner(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._locked(_wait_for_owner(fd)) from None
        except OSError:  # no flock here (some network file systems)
            mine = owner is not None and owner.pid == os.getpid()
            if owner is not None and owner.alive and (not mine or self._name in _held):
                raise self._locked(owner) from None
        with contextlib.suppress(FileNotFoundError):
            found = os.fstat(fd)
            if os.path.samestat(found, self._path.stat()):
                self._sign(fd, found.st_size)
                _held[self._name] = self
                return True
        return False

    def _sign(self, fd: int, size: int) -> None:
        """Write into the lock file whose it is; a file that takes no more is not left behind empty."""
        text = _Owner.here().text
        try:
            if size > len(text):  # not always: ext4 flushes what was truncated
                os.ftruncate(fd, 0)
            if os.pwrite(fd, text, 0) != len(text):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        except OSError:
            self._path.unlink(missing_ok=True)
            raise

    def _locked(self, owner: _Owner | None) -> SessionLocked:
        if owner is None:
            who = "another process"
        elif owner.pid == os.getpid():
            who = f"this process ({owner.pid}) already"
        elif owner.alive:
            who = f"process {owner.pid}"
        else:
            who = f"a child of process {owner.pid}, which has ended"
        return SessionLocked(
            f"session {self._session_id!r} is being written by {who}",
            where=self._name,
            hint="end that process, or open the session read-only",
        )

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            _held.pop(self._name, None)
            with contextlib.suppress(OSError):
                self._path.unlink()  # before the lock goes: whoever waits for this file sees that it is gone
            os.close(fd)

    @property
    def lost(self) -> bool:
        """Whether this is a copy in a forked process: the lock is that of the process that took it."""
        return self._lost

    def refusal(self) -> SessionError:
        """Why nothing can be written when the lock is lost."""
        return SessionError(
            f"session {self._session_id!r} is written by the process that this one was forked from",
            where=self._name,
            hint="open it again here once that process has closed it, or fork the session",
        )

    def forget(self) -> None:
        """Leave the lock and its file to the process that this one was forked from."""
        fd, self._fd, self._lost = self._fd, None, True
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        if self._fd is not None:  # nobody released it: the lock goes, the file stays for the next owner
            os.close(self._fd)


_here: dict[int, _Owner] = {}  # by pid: a fork has one of its own
_held: WeakValueDictionary[str, WriterLock] = WeakValueDictionary()  # what this process writes


def _forked() -> None:
    """What was locked is still written by the parent, and only by it."""
    for lock in list(_held.values()):
        lock.forget()
    _held.clear()


os.register_at_fork(after_in_child=_forked)


def _wait_for_owner(fd: int) -> _Owner | None:
    """The owner of a held lock. If it was taken this moment, its pid is about to be written."""
    owner = None
    for _ in range(50):
        owner = _read_owner(fd) or owner
        if owner is not None and owner.alive:
            break
        time.sleep(0.001)
    return owner


def _read_owner(fd: int) -> _Owner | None:
    try:
        text = os.pread(fd, 4096, 0)
        if not text:
            return None
        raw = json.loads(text)
        return _Owner(int(raw["pid"]), raw.get("started"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
