"""Private files that hold the whole of an output of which the result keeps only head and tail."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["KEEP_SECONDS", "MAX_BYTES", "MAX_TOTAL", "SpillDirectory", "SpillFile"]

KEEP_SECONDS = 24 * 3600.0
MAX_BYTES = 1 << 30
MAX_TOTAL = 4 << 30
_STEP = 16 << 20  # bytes of one file after which all of them are counted again
_SUFFIX = ".out"


class SpillFile:
    """One output on the disk. A disk that refuses ends the file, never the command.

    Args:
        path: where the file is.
        fd: the file, open for writing.
        max_bytes: most bytes; what comes later is left out.
        make_room: called before each further 16 MiB, with the bytes that must fit. It removes other files of the directory.
    """

    __slots__ = ("_fd", "_make_room", "_room", "_step", "path")

    def __init__(
        self, path: Path, fd: int, max_bytes: int = MAX_BYTES, make_room: Callable[[Path, int], None] | None = None
    ) -> None:
        self.path: Path | None = path
        self._fd = fd
        self._room = max_bytes
        self._make_room = make_room
        self._step = _STEP  # bytes until room is made again

    def write(self, data: bytes | bytearray) -> None:
        """Add ``data``, as far as it fits."""
        if self._fd < 0 or self._room <= 0:
            return
        view = memoryview(data)[: self._room]
        try:
            self._step -= len(view)
            if self._step < 0 and self._make_room is not None and self.path is not None:
                self._step = _STEP
                self._make_room(self.path, min(_STEP + len(view), self._room))
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
    day is removed when the next file is made. All files together stay below ``max_total``: those that were written to
    longest ago go first, while a file grows, too.

    Args:
        path: the directory; made when the first file is.
        max_total: bytes.
        clock: seconds since the epoch.
    """

    def __init__(self, path: Path, *, max_total: int = MAX_TOTAL, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._max_total = max_total
        self._clock = clock

    def open(self, label: str) -> SpillFile | None:
        """Return a new file whose name ends in ``label``; ``None``: the directory cannot be used."""
        try:
            self._prepare()
            path = self.path / f"{secrets.token_hex(8)}-{label}{_SUFFIX}"
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            file = SpillFile(path, fd, min(MAX_BYTES, self._max_total), self._make_room)
            self._make_room(path, min(_STEP, self._max_total))
            return file
        except OSError:
            return None

    def _prepare(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = self.path.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise PermissionError(f"{self.path} belongs to somebody else")
        if stat.S_IMODE(info.st_mode) & 0o077:
            self.path.chmod(0o700)

    def _make_room(self, growing: Path, more: int) -> None:
        """Remove files that are older than a day, and the oldest until ``more`` bytes fit into one of them that grows."""
        files: list[tuple[float, int, str]] = []
        total, too_old = more, self._clock() - KEEP_SECONDS
        with os.scandir(self.path) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # somebody else removed it
                    info = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX):
                        files.append((info.st_mtime, info.st_size, entry.path))
                        total += info.st_size
        for written, size, path in sorted(files):
            if written >= too_old and total <= self._max_total:
                break
            if path != str(growing):
                total -= size
                Path(path).unlink(missing_ok=True)
