"""Private files that hold the whole of an output of which the result keeps only head and tail."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["KEEP_SECONDS", "MAX_BYTES", "SpillDirectory", "SpillFile"]

KEEP_SECONDS = 24 * 3600.0
MAX_BYTES = 1 << 30
_SUFFIX = ".out"


class SpillFile:
    """One output on the disk, up to :data:`MAX_BYTES`. A disk that refuses ends the file, never the command."""

    __slots__ = ("_fd", "_room", "path")

    def __init__(self, path: Path, fd: int, max_bytes: int = MAX_BYTES) -> None:
        self.path: Path | None = path
        self._fd = fd
        self._room = max_bytes

    def write(self, data: bytes | bytearray) -> None:
        """Add ``data``, as far as it fits."""
        if self._fd < 0 or self._room <= 0:
            return
        view = memoryview(data)[: self._room]
        try:
            while view:
                written = os.write(self._fd, view)
                self._room -= written
                view = view[written:]
        except OSError:  # the disk is full: the command matters more than its file
            self.discard()

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def discard(self) -> None:
        """Close the file and remove it; ``path`` is ``None`` from then on."""
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None


class SpillDirectory:
    """Where the files live: mode 0700, files 0600, each kept for a day after the last write to it.

    A session that is resumed later may still name a file, so the end of a session removes nothing. What is older than a
    day is removed when the next file is made, at most once an hour for each directory object.

    Args:
        path: the directory; made when the first file is.
        clock: seconds since the epoch.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._cleaned = float("-inf")

    def open(self, label: str) -> SpillFile | None:
        """A new file whose name ends in ``label``; ``None`` when the directory cannot be used."""
        try:
            self._prepare()
            path = self.path / f"{secrets.token_hex(8)}-{label}{_SUFFIX}"
            return SpillFile(
                path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            )
        except OSError:
            return None

    def _prepare(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = self.path.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise PermissionError(f"{self.path} belongs to somebody else")
        if stat.S_IMODE(info.st_mode) & 0o077:
            self.path.chmod(0o700)
        now = self._clock()
        if now - self._cleaned >= 3600:
            self._cleaned = now
            self._remove_older(now - KEEP_SECONDS)

    def _remove_older(self, limit: float) -> None:
        with os.scandir(self.path) as entries:
            for entry in entries:
                try:
                    if entry.name.endswith(_SUFFIX) and entry.stat(follow_symlinks=False).st_mtime < limit:
                        Path(entry).unlink()
                except OSError:  # somebody else removed it
                    continue
