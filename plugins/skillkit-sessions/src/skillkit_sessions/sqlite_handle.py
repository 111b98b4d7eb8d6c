"""One open session in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionHeader
from skillkit_core.errors import SessionError

from .codec import encode_entry
from .handle import JsonlSession, moved
from .lock import WriterLock
from .store import rescue

if TYPE_CHECKING:
    from .sqlite_store import SqliteStore

__all__ = ["SqliteSession"]


class SqliteSession(SessionHandle):
    """A session in a database.

    Every entry is one committed statement before :meth:`append` returns: other processes see it, and it survives the death
    of this one. With ``sync``, ``append`` also waits until the disk has it (in a thread; the loop goes on).

    Each sync looks whether the database is still where it was. If not, the whole session is written to a file beside it, where it
    goes on, and the error that says so is raised once.

    Attributes:
        location: the database. foreign: why a session that was opened for writing is read-only all the same, or ``None``.
    """

    def __init__(
        self,
        store: SqliteStore,
        header: SessionHeader,
        entries: list[SessionEntry],
        *,
        last: int,
        lock: WriterLock | None = None,
        fsync: str = "auto",
        flush_interval: float = 1.0,
        foreign: str | None = None,
    ) -> None:
        self.header = header
        self.flush_interval = flush_interval
        self.location = str(store.database.path)
        self.read_only = lock is None
        self.foreign = foreign
        self._store = store
        self._entries = entries
        self._last = last
        self._lock = lock
        self._always = fsync == "always"
        self._never = fsync == "never"
        self._order = asyncio.Lock()
        self._elsewhere: JsonlSession | None = None  # the file where it goes on
        self._unsynced = False
        self._wrote = False
        self._closed = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write ``entry`` at the end.

        Raises:
            SessionError: the session is read-only or closed, or the database refuses; the entry is then not in it.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.append(entry, sync=sync)
        if self._closed or self._lock is None or self._lock.lost:
            raise self._refusal()
        line = encode_entry(entry)
        async with self._order:
            await self._store.insert((self._last + 1, entry.type, entry.ts, line))
            self._last += 1
            self._wrote = self._unsynced = True
            self._entries.append(entry)
        if sync or self._always:
            await self.sync()

    async def sync(self) -> None:
        """Wait until the disk has everything, unless ``fsync`` is ``never``; what is there already is not synced again.

        Raises:
            SessionError: the disk did not take it, or the session goes on in another place from now on.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.sync()
        if not self._unsynced or self._closed:
            return
        self._unsynced = False
        try:
            if not self._never:
                await self._store.sync()
        except BaseException as error:
            self._unsynced = True
            if isinstance(error, SessionError):
                self._check()
            raise
        self._check()

    def _check(self) -> None:
        """Go on elsewhere if the database is no longer where it was."""
        if self._elsewhere is not None or self._closed or self._lock is None or self._lock.lost:
            return
        problem = self._store.changed()
        if problem is not None:
            self._elsewhere = rescue(self, problem)
            raise moved(problem, self._elsewhere, known=False)

    def entries(self) -> Sequence[SessionEntry]:
        """All entries in the order they were written. The list is the session's own: read it, do not change it."""
        return self._entries if self._elsewhere is None else self._elsewhere.entries()

    async def close(self) -> None:
        """Let search and listings know the new entries, give the lock back. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._elsewhere is not None:
                await self._elsewhere.close()
            elif self._wrote and self._lock is not None and not self._lock.lost:
                await self._store.digest_soon(self._last)
        finally:
            if self._lock is not None:
                self._lock.release()

    def _refusal(self) -> SessionError:
        if self._closed:
            return SessionError("the session is closed", where=self.location)
        if self._lock is not None and self._lock.lost:
            return self._lock.refusal()
        if self.foreign is not None:
            return SessionError(
                f"the session is read-only: {self.foreign}", where=self.location, hint="upgrade SkillKit to write to it"
            )
        return SessionError("the session is open read-only", where=self.location)
