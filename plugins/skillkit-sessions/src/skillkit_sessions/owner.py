"""Who writes: a process, and the file by which it shows that it lives."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import json
import os
import threading
from dataclasses import dataclass, replace
from errno import ENOSPC
from pathlib import Path

__all__ = ["Owner", "OwnerFile", "read_owner"]

FOLDER = ".writers"
_IDLE = 8  # directories whose owner file is kept open though nothing is written in them


@dataclass(frozen=True)
class Owner:
    """A process: its pid, its start time (a recycled pid has another one), its machine, and its address for clients."""

    pid: int
    started: str | None = None
    host: str = ""
    endpoint: str | None = None

    @classmethod
    def here(cls, endpoint: str | None = None) -> Owner:
        """The process that asks."""
        pid = os.getpid()
        found = _here.get(pid)
        if found is None:
            found = _here[pid] = cls(pid, _start_time(pid), os.uname().nodename)
        return found if endpoint is None else replace(found, endpoint=endpoint)

    @functools.cached_property
    def text(self) -> bytes:
        """What a lock file says."""
        told = {"pid": self.pid, "started": self.started, "host": self.host}
        return json.dumps(told if self.endpoint is None else {**told, "endpoint": self.endpoint}).encode()

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass
        return self.started is None or self.started == (_start_time(self.pid) or self.started)

    def sign(self, fd: int, size: int) -> None:
        """Write into a lock file of ``size`` bytes that it is ours.

        Raises:
            OSError: the disk refuses.
        """
        if size > len(self.text):  # not always: ext4 flushes what was truncated
            os.ftruncate(fd, 0)
        if os.pwrite(fd, self.text, 0) != len(self.text):
            raise OSError(ENOSPC, os.strerror(ENOSPC))


_here: dict[int, Owner] = {}  # by pid: a fork has one of its own


def _start_time(pid: int) -> str | None:
    """When a process started, in words that only it has; ``None`` where there is no ``/proc``."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return f"{boot}/{stat[stat.rindex(b')') + 2 :].split()[19].decode()}"


def read_owner(fd: int) -> Owner | None:
    """Whose a lock file says that it is."""
    try:
        text = os.pread(fd, 4096, 0)
        if not text:
            return None
        raw = json.loads(text)
        return Owner(int(raw["pid"]), raw.get("started"), raw.get("host", ""), raw.get("endpoint"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class OwnerFile:
    """The one file by which this process holds all its locks in a directory: they are hard links to it.

    It is locked with ``flock`` and says whose it is before any lock is made of it, so a lock is never half made. A link is
    no file of its own: a file for each lock, made and removed with every session, costs four times as much, and on ext4
    without a journal every removal makes what is created in the following minute slower.

    Attributes:
        path, name: where it is, ``<directory>/.writers/<pid>-<random>``.
        users: how many locks were made of it and not given back.
    """

    def __init__(self, directory: str) -> None:
        """Make the file, and remove those of processes that have ended.

        Raises:
            OSError: it cannot be made, or the file system has no ``flock``.
        """
        self.directory = directory
        self.users = 0
        folder = Path(directory, FOLDER)
        folder.mkdir(mode=0o700, exist_ok=True)
        _clean(folder)
        self.path = folder / f"{os.getpid()}-{os.urandom(4).hex()}"
        self.name = str(self.path)
        self._fd = os.open(self.name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Owner.here().sign(self._fd, 0)
        except OSError:
            self.remove()
            raise

    @classmethod
    def take(cls, directory: str) -> OwnerFile | None:
        """The file of a directory, for one more lock; ``None`` where locks must be files of their own."""
        with _mutex:
            file = _files.get(directory)
            if file is None:
                if directory in _without:
                    return None
                try:
                    file = cls(directory)
                except OSError:
                    return None
                _drop_idle()
                _files[directory] = file
            file.users += 1
            return file

    def give_back(self) -> None:
        """A lock that was made of it is gone."""
        with _mutex:
            self.users -= 1

    def gone(self) -> None:
        """Its name was removed, with the directory perhaps: make another one the next time."""
        with _mutex:
            self.users -= 1
            if _files.get(self.directory) is self:
                del _files[self.directory]

    def unfit(self) -> None:
        """The file system has no hard links, or no more of this file."""
        self.gone()
        with _mutex:
            _without.add(self.directory)

    def remove(self) -> None:
        """Remove it: nothing is locked by it any more."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        self.close()

    def held(self) -> os.stat_result:
        """The file, as it is open here."""
        return os.fstat(self._fd)

    def close(self) -> None:
        """Let go of the file, and leave it where it is. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


def _clean(folder: Path) -> None:
    """Remove the files of processes that have ended without doing so."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(fd)


_files: dict[str, OwnerFile] = {}  # by directory
_without: set[str] = set()  # directories where there are no links
_mutex = threading.Lock()


def _drop_idle() -> None:
    idle = [file for file in _files.values() if not file.users]
    for file in idle[: max(0, len(idle) - _IDLE)]:
        del _files[file.directory]
        file.remove()


def _forked() -> None:
    """The files are the parent's: they stay, and so do its locks."""
    global _mutex
    _mutex = threading.Lock()
    for file in _files.values():
        file.close()
    _files.clear()


def _ended() -> None:
    for file in list(_files.values()):  # what was not given back shows by its flock until the process is gone
        with contextlib.suppress(OSError):
            file.path.unlink()


os.register_at_fork(after_in_child=_forked)
atexit.register(_ended)
