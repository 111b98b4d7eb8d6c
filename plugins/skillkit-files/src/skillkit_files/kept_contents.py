"""Contents that were replaced, by their digest, in a private folder of bounded size."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from .folder import digest_of, write_all

__all__ = ["Kept"]


class Kept:
    """Contents on the disk, readable by their owner alone.

    Args:
        path: the folder; made when the first content is kept.
        file: most bytes of one content.
        total: most bytes of all; when there are more, the oldest go.
    """

    def __init__(self, path: Path, file: int, total: int) -> None:
        self.path = path
        self._file = file
        self._total = total
        self._size: int | None = None

    def put(self, data: bytes) -> bool:
        """Keep a content; return whether it is small enough, and the disk takes it."""
        if len(data) > min(self._file, self._total):
            return False
        try:
            self._put(data)
        except OSError:
            # the change matters more than the way back, and its note says that there is none
            return False
        return True

    def _put(self, data: bytes) -> None:
        place = self._place(digest_of(data))
        if place.exists():
            # its age counts from now
            os.utime(place)
            return
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = place.with_name(f".{secrets.token_hex(8)}")
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, data)
        except BaseException:
            staged.unlink()
            raise
        finally:
            os.close(fd)
        staged.rename(place)
        self._bound(len(data))

    def get(self, digest: str) -> bytes | None:
        """Return a content; ``None``: it is not kept, or damaged."""
        try:
            data = self._place(digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def _place(self, digest: str) -> Path:
        return self.path / digest[:2] / digest

    def _bound(self, added: int) -> None:
        """Remove the oldest contents when all of them are too many."""
        if self._size is not None and self._size + added <= self._total:
            self._size += added
            return
        found = []
        for place in self.path.glob("*/*"):
            with contextlib.suppress(OSError):
                info = place.stat()
                found.append((info.st_mtime_ns, info.st_size, place))
        size = sum(one[1] for one in found)
        for _, length, place in sorted(found) if size > self._total else ():
            if size <= self._total * 4 // 5:
                break
            place.unlink(missing_ok=True)
            size -= length
        self._size = size
