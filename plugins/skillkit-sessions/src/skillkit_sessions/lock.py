"""The writer's lock of a session: one process writes, and a second one is told which."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from weakref import WeakValueDictionary

from skillkit_core.errors import SessionError, SessionLocked

__all__ = ["WriterLock"]


@dataclass(frozen=True, slots=True)
class _Owner:
    """Who holds a lock: pid and start time of the process (a recycled pid has another one)."""

    pid: int
    started: str | None = None

    @classmethod
    def here(cls) -> _Owner:
        pid = os.getpid()
        if pid not in _own_start_time:  # a fork has a pid of its own
            _own_start_time[pid] = _start_time(pid)
        return cls(pid, _own_start_time[pid])

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
    """Held from :meth:`acquire` until :meth:`release`, or until the process ends, however it ends.

    The file ``<session>.lock`` holds the pid of its owner and is locked with ``flock``, so the kernel gives it back when
    the owner dies and no recycled pid can be mistaken for it. On file systems without ``flock`` the pid and the start time
    in the file decide.
    """

    def __init__(self, path: Path, session_id: str) -> None:
        self._path = path
        self._session_id = session_id
        self._file: BinaryIO | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            SessionLocked: a living process has it; the error names the pid. SessionError: the file cannot be made.
        """
        while self._file is None:
            try:
                fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise SessionError(
                    f"session {self._session_id!r} cannot be locked: {error.strerror}",
                    where=str(self._path),
                    hint="make the directory writable, or open the session read-only",
                ) from error
            file: BinaryIO = os.fdopen(fd, "r+b", buffering=0)
            try:
                taken = self._take(file)
            except BaseException:
                file.close()
                raise
            if taken:
                self._file = file
            else:
                file.close()

    def _take(self, file: BinaryIO) -> bool:
        """Whether ``file`` is ours now; ``False``: its owner removed it meanwhile, so look again."""
        owner = _read_owner(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._locked(_wait_for_owner(file)) from None
        except OSError:  # no flock here (some network file systems)
            mine = owner is not None and owner.pid == os.getpid()
            if owner is not None and owner.alive and (not mine or str(self._path) in _held):
                raise self._locked(owner) from None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), self._path.stat()):
                _held[str(self._path)] = self
                here = _Owner.here()
                text = json.dumps({"pid": here.pid, "started": here.started}).encode()
                if os.fstat(file.fileno()).st_size > len(text):  # not always: ext4 flushes what was truncated
                    file.truncate(0)
                os.pwrite(file.fileno(), text, 0)
                return True
        return False

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
            where=str(self._path),
            hint="end that process, or open the session read-only",
        )

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            _held.pop(str(self._path), None)
            with contextlib.suppress(OSError):
                self._path.unlink()  # before the lock goes: whoever waits for this file sees that it is gone
            file.close()


_own_start_time: dict[int, str | None] = {}
_held: WeakValueDictionary[str, WriterLock] = WeakValueDictionary()  # what this process writes


def _wait_for_owner(file: BinaryIO) -> _Owner | None:
    """The owner of a held lock. If it was taken this moment, its pid is about to be written."""
    owner = None
    for _ in range(50):
        owner = _read_owner(file) or owner
        if owner is not None and owner.alive:
            break
        time.sleep(0.001)
    return owner


def _read_owner(file: BinaryIO) -> _Owner | None:
    try:
        file.seek(0)
        raw = json.loads(file.read(4096))
        return _Owner(int(raw["pid"]), raw.get("started"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
