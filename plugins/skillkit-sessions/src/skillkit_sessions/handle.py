"""One open session: appends entries to its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import ENOENT, ENOTDIR
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TypeAlias

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader
from skillkit_core.errors import SessionError

from .codec import encode_entry
from .disk import Syncs, sync_data, sync_directory
from .lock import WriterLock
from .synced import SyncedSession, refused

__all__ = ["Disk", "JsonlSession", "changed", "moved"]


class Disk:
    """What the sessions of a store share.

    Attributes:
        policy: when is synced, as :class:`~skillkit_sessions.SessionsConfig` says.
        names: directories that have a new name in them, which the disk may not have.
        files: how many files have got a name in each directory, and how many of these names the disk has.
        busy: the files that are on their way to the disk.
        lost: errors of files that were closed before they were on the disk.
    """

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.names: dict[Path, None] = {}
        self.files: dict[Path, list[int]] = {}
        self.busy: set[Syncs] = set()
        self.lost: list[SessionError] = []

    def syncs(self, file: FileIO, directory: Path) -> Syncs | None:
        """The syncs of a file in ``directory``; ``None``: there are none."""
        if self.policy == "never":
            return None
        files = self.files.setdefault(directory, [0, 0])
        files[0] += 1
        return Syncs(partial(self._put, file, directory, files, files[0]), self.busy)

    def _put(self, file: FileIO, directory: Path, files: list[int], number: int) -> None:
        """Sync a file and, the first time, the directories that lead to it: without its name it would be lost whole."""
        sync_data(file.fileno())
        if files[1] < number:
            named = files[0]  # one sync is for all files that are there
            _put_name(directory)
            files[1] = max(files[1], named)
        for parent in list(self.names):
            _put_name(parent)
            self.names.pop(parent, None)


def _put_name(directory: Path) -> None:
    with suppress(FileNotFoundError):  # it was taken away, which the session notices
        sync_directory(directory)


Rescue: TypeAlias = "Callable[[JsonlSession, str], JsonlSession]"


class JsonlSession(SyncedSession):
    """A session in a file.

    Every entry is one ``write`` to the end of the file, done before :meth:`append` returns: what was accepted survives the
    death of the process. A write that fails takes back what it wrote of the line, so that a reader never sees a broken
    line in the middle. What must survive the death of the machine is synced on top, in a thread.

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
        disk: Disk | None = None,
        flush_interval: float = 1.0,
        foreign: str | None = None,
        rescue: Rescue | None = None,
    ) -> None:
        syncs = disk.syncs(file, path.parent) if disk is not None and file is not None else None
        super().__init__(syncs, always=disk is not None and disk.policy == "always")
        self.header = header
        self.flush_interval = flush_interval
        self.location = self._name = str(path)
        self.read_only = file is None
        self.foreign = foreign
        self._entries = entries
        self._file = file
        self._lock = lock
        self._size = size
        self._disk = disk
        self._rescue = rescue  # writes the session to another place
        self._unsynced = file is not None  # the header, or what was there: whoever wrote it may not have synced it
        self._closed = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write ``entry`` at the end.

        Raises:
            SessionError: the session is read-only or closed, or the disk refuses; the entry is then not in the file.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.append(entry, sync=sync)
        file = self._file
        if file is None or (self._lock is not None and (self._lock.lost or self._lock.taken)):
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

    @property
    def _writable(self) -> bool:
        return self._file is not None and not (self._lock is not None and self._lock.lost)

    def _check(self) -> None:
        """Go on elsewhere if the file is no longer where it was, or as it was written."""
        file = self._file
        if file is None or self._rescue is None:
            return
        problem = changed(self._name, os.fstat(file.fileno()), self._size)
        if problem is None:
            return
        self._elsewhere = elsewhere = self._rescue(self, problem)
        self._file = None
        self._let_go(file)
        place = Path(str(elsewhere.location)).parent
        raise moved(problem, elsewhere, known=place == Path(self._name).parent)

    def entries(self) -> Sequence[SessionEntry]:
        """All entries in the order they were written. The list is the session's own: read it, do not change it."""
        return self._entries if self._elsewhere is None else self._elsewhere.entries()

    async def close(self) -> None:
        """Begin a last sync, hand the file over to it, and give the lock back. Idempotent.

        The store waits for it when the host closes it, and the program when it ends.
        """
        if self._closed:
            return
        self._closed = True
        file, self._file = self._file, None
        try:
            if file is not None:
                if self._unsynced and self._syncs is not None and not (self._lock is not None and self._lock.lost):
                    self._begin()
                self._let_go(file)
                if self._syncs is not None and self._syncs.crowded():
                    await self._syncs.wait(self._asked)
        finally:
            if self._lock is not None:
                self._lock.release()
            if self._elsewhere is not None:
                await self._elsewhere.close()

    def _let_go(self, file: FileIO) -> None:
        """Close the file when it is synced."""
        if self._syncs is None or self._disk is None:
            file.close()
        else:
            self._syncs.end(partial(_closed, file, self._syncs, self._told, self._disk.lost, self._name))

    def _failed(self, error: OSError | None) -> SessionError:
        """Take the torn line back, and say what happened. A short write means that the disk is full."""
        file = self._file
        assert file is not None
        try:
            os.ftruncate(file.fileno(), self._size)
        except OSError:  # the tail stays torn: whoever opens the session next cuts it, and nobody writes behind it
            self._file = None
            self._let_go(file)
        reason = error.strerror if error is not None else "no space left"
        return SessionError(
            f"the session cannot be written: {reason}",
            where=self._name,
            hint="free some disk space or check the permissions, then go on; nothing that was accepted is lost",
        )

    def _refusal(self) -> SessionError:
        if self._closed:
            return SessionError("the session is closed", where=self._name)
        if self._lock is not None and (self._lock.lost or self._lock.taken):
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


def _closed(file: FileIO, syncs: Syncs, told: int, lost: list[SessionError], where: str) -> str | None:
    """Close a file that nobody syncs any more; keep and return the error that nobody was told."""
    file.close()
    if syncs.failed <= told:
        return None
    lost.append(refused(syncs, where))
    return str(lost[-1])


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
