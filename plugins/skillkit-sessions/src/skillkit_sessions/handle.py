"""One open session: appends entries to its file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from errno import ENOENT, ENOTDIR
from io import FileIO
from pathlib import Path

from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionHeader
from skillkit_core.errors import SessionError

from .codec import encode_entry
from .disk import Sync
from .lock import WriterLock

__all__ = ["JsonlSession", "changed", "moved"]


class JsonlSession(SessionHandle):
    """A session in a file.

    Every entry is one ``write`` to the end of the file, done before :meth:`append` returns: what was accepted survives the
    death of the process. A write that fails takes back what it wrote of the line, so that a reader never sees a broken
    line in the middle. With ``sync``, ``append`` also waits until the disk has everything (in a thread; the loop goes on).

    Each sync looks whether the file is still where it was, and as it was written. If not, the whole session is written to another
    place, where it goes on, and the error that says so is raised once.

    Attributes:
        location: the file. foreign: why a session that was opened for writing is read-only all the same, or ``None``.
    """

    def __init__(
        self,
        path: Path,
        header: SessionHeader,
        entries: list[SessionEntry],
        *,
        file: FileIO | None = None,
        lock: WriterLock | None = None,
        size: int = 0,
        fsync: str = "auto",
        flush_interval: float = 1.0,
        foreign: str | None = None,
    ) -> None:
        self.header = header
        self.flush_interval = flush_interval
        self.location = self._name = str(path)
        self.read_only = file is None
        self.foreign = foreign
        self._entries = entries
        self._file = file
        self._lock = lock
        self._size = size
        self._always = fsync == "always"
        self._never = fsync == "never"
        self._named_on_disk = False
        self._elsewhere: JsonlSession | None = None  # the place where it goes on
        self._unsynced = False
        self._syncs: tuple[Sync, ...] = ()
        self._closed = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write ``entry`` at the end.

        Raises:
            SessionError: the session is read-only or closed, or the disk refuses; the entry is then not in the file.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.append(entry, sync=sync)
        file = self._file
        if file is None or (self._lock is not None and self._lock.lost):
            raise self._refusal()
        line = encode_entry(entry)
        try:
            written = file.write(line)
        except OSError as error:
            raise self._failed(error) from error
        if written != len(line):
            raise self._failed(None)
        self._size += written
        self._entries.append(entry)
        self._unsynced = True
        if sync or self._always:
            await self.sync()

    async def sync(self) -> None:
        """Wait until the disk has everything, unless ``fsync`` is ``never``; what is there already is not synced again.

        Raises:
            SessionError: the disk did not take it, or the session goes on in another place from now on.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.sync()
        file = self._file
        if file is None or not self._unsynced:
            return
        self._unsynced = False
        try:
            if not self._never:
                await self._sync(file)
        except BaseException as error:  # nobody has seen it succeed
            self._unsynced = True
            if isinstance(error, SessionError):
                self._check(file)
            raise
        self._check(file)

    def _check(self, file: FileIO) -> None:
        """Go on elsewhere if the file is no longer where it was, or as it was written."""
        if self._file is not file or (self._lock is not None and self._lock.lost):
            return
        problem = changed(self._name, os.fstat(file.fileno()), self._size)
        if problem is None:
            return
        from .store import rescue

        self._elsewhere = rescue(self, problem)
        self._file = None
        file.close()
        place = Path(str(self._elsewhere.location)).parent
        raise moved(problem, self._elsewhere, known=place == Path(self._name).parent)

    def entries(self) -> Sequence[SessionEntry]:
        """All entries in the order they were written. The list is the session's own: read it, do not change it."""
        return self._entries if self._elsewhere is None else self._elsewhere.entries()

    async def close(self) -> None:
        """Wait for what is being synced, close the file, give the lock back. Idempotent."""
        if self._closed:
            return
        self._closed = True
        file, self._file = self._file, None
        forked = self._lock is not None and self._lock.lost  # the threads that sync are the parent's
        try:
            for sync in self._syncs:
                if not sync.done and not forked:
                    with contextlib.suppress(OSError):
                        await sync.wait()
        finally:
            if file is not None:
                file.close()
            if self._lock is not None:
                self._lock.release()
            if self._elsewhere is not None:
                await self._elsewhere.close()

    async def _sync(self, file: FileIO) -> None:
        sync = Sync(file.fileno(), None if self._named_on_disk else Path(self._name).parent)
        self._syncs = (*[earlier for earlier in self._syncs if not earlier.done], sync)
        try:
            await sync.wait()  # a cancelled caller leaves the sync to close()
        except OSError as error:
            raise SessionError(
                f"the disk did not take the session: {error.strerror}",
                where=self._name,
                hint="check the disk; the entry was written, and may not survive a crash of the machine",
            ) from error
        self._named_on_disk = True
        if len(self._syncs) == 1:
            self._syncs = ()

    def _failed(self, error: OSError | None) -> SessionError:
        """Take the torn line back, and say what happened. A short write means that the disk is full."""
        file = self._file
        assert file is not None
        try:
            os.ftruncate(file.fileno(), self._size)
        except OSError:  # the tail stays torn: whoever opens the session next cuts it, and nobody writes behind it
            self._file = None
            file.close()
        reason = error.strerror if error is not None else "no space left"
        return SessionError(
            f"the session cannot be written: {reason}",
            where=self._name,
            hint="free some disk space or check the permissions, then go on; nothing that was accepted is lost",
        )

    def _refusal(self) -> SessionError:
        if self._closed:
            return SessionError("the session is closed", where=self._name)
        if self._lock is not None and self._lock.lost:
            return self._lock.refusal()
        if self.foreign is not None:
            return SessionError(
                f"the session is read-only: {self.foreign}",
                where=self._name,
                hint="upgrade SkillKit to write to it",
            )
        if self.read_only:
            return SessionError("the session is open read-only", where=self._name)
        return SessionError("the session cannot be written any more", where=self._name, hint="open it again")


def changed(path: str, opened: os.stat_result, size: int) -> str | None:
    """What somebody has done to an open file of which ``size`` bytes were written; ``None``: nothing."""
    try:
        there = os.stat(path)  # noqa: PTH116
    except OSError as error:
        return "was removed" if error.errno in (ENOENT, ENOTDIR) else f"cannot be reached: {error.strerror}"
    if not os.path.samestat(there, opened):
        return "was replaced by another one"
    if opened.st_size < size:
        return "was cut short"
    return "was written to by somebody else" if opened.st_size > size else None


def moved(problem: str, to: JsonlSession, *, known: bool) -> SessionError:
    """The error that says where a session goes on; ``known``: the store lists what is there."""
    name = to.header.id
    return SessionError(
        f"the file of the session {problem} while it was open; all of it was written to this file, and goes on here",
        where=to.location,
        hint=f"this is session {name!r} now" if known else f"take it in with: skillkit sessions import {to.location}",
    )
