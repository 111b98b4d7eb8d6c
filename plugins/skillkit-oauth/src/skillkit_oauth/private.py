"""A folder of files that only their owner can read, and locks that hold across processes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skillkit_core import SkillKitError

__all__ = ["PrivateFolder"]

LOCK_SECONDS = 60.0
_POLL = 0.05


class PrivateFolder:
    """A folder below the data folder, of mode 0700, with files of mode 0600.

    Whatever is not so is refused: a link, a file of another user, a file that others can read.

    Args:
        parent: folder that the user owns; it may itself be a link.
        name: name of the folder.
    """

    def __init__(self, parent: Path, name: str) -> None:
        self.path = parent / name
        self._parent = parent

    def read(self, name: str) -> dict[str, Any]:
        """Return the object in a JSON file, empty where there is no file.

        Raises:
            SkillKitError: the file cannot be read, others can read it, or it holds no object.
        """
        path = self.path / name
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise SkillKitError(f"cannot be read: {why}", where=str(path)) from None
        try:
            self._check()
            self._check_file(os.fstat(handle), path)
            with os.fdopen(handle, "rb", closefd=False) as file:
                found = json.loads(file.read())
        except (OSError, ValueError):
            found = None
        finally:
            os.close(handle)
        if not isinstance(found, dict):
            raise SkillKitError("holds no credentials", where=str(path), hint="remove it and log in again")
        return found

    def signature(self, name: str) -> object:
        """Return what changes whenever the file does, ``None`` where there is no file."""
        try:
            found = (self.path / name).lstat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def write(self, name: str, data: dict[str, Any]) -> None:
        """Write a JSON file at once. A reader finds the old content or the new one.

        Raises:
            SkillKitError: the file cannot be written, and is unchanged.
        """
        path = self.path / name
        self._make()
        try:
            handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=self.path)  # mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(data, file, indent=1)
                    file.flush()
                    os.fsync(handle)
                os.replace(temporary, path)  # noqa: PTH105 - beside the other calls of os
            except BaseException:
                os.unlink(temporary)  # noqa: PTH108
                raise
        except OSError as error:
            raise SkillKitError(f"cannot be written: {error.strerror}", where=str(path)) from None

    @contextmanager
    def lock(self, name: str, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Hold a lock that one thread of one process can hold.

        Raises:
            SkillKitError: another process holds the lock for longer than ``seconds``.
        """
        self._make()
        path = self.path / f"{name}.lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SkillKitError(f"cannot be opened: {error.strerror}", where=str(path)) from None
        try:
            deadline = time.monotonic() + seconds
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise SkillKitError(
                            f"another process has held the lock for {seconds:g} s", where=str(path)
                        ) from None
                    time.sleep(_POLL)
            yield
        finally:
            os.close(handle)

    def _make(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SkillKitError(f"cannot be made: {error.strerror}", where=str(self.path)) from None
        self._check()

    def _check(self) -> None:
        real = os.path.join(os.path.realpath(self._parent), self.path.name)  # noqa: PTH118
        if os.path.realpath(self.path) != real:
            raise SkillKitError("is a link, and credentials are not kept behind one", where=str(self.path))
        found = self.path.stat()
        if found.st_uid != os.geteuid():
            raise SkillKitError("belongs to another user", where=str(self.path))
        if found.st_mode & 0o022:
            raise SkillKitError("others can write there", where=str(self.path), hint=f"chmod 700 {self.path}")

    @staticmethod
    def _check_file(found: os.stat_result, path: Path) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise SkillKitError("is no regular file", where=str(path))
        if found.st_uid != os.geteuid():
            raise SkillKitError("belongs to another user", where=str(path))
        if found.st_mode & 0o077:
            raise SkillKitError("others can read it", where=str(path), hint=f"chmod 600 {path}")
