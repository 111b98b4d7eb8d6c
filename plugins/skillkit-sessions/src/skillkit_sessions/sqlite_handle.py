"""One open session in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader
from skillkit_core.errors import SessionError

from .codec import encode_entry
from .database import Database
from .disk import Syncs
from .handle import moved
from .lock import WriterLock
from .store import rescue
from .synced import SyncedSession

__all__ = ["SqliteSession"]


class Store(Protocol):
    """What a session needs of the store that it is in."""

    policy: str
    database: Database
    syncs: Syncs | None

    async def insert(self, row: tuple[int, str, float, bytes]) -> None:
        """Commit an entry."""

    def changed(self) -> str | None:
        """Return what somebody has done to the files that are written; ``None``: nothing."""

    async def digest_soon(self, last: int) -> None:
        """Let listings and search know a session up to the entry at ``last``."""


class SqliteSession(SyncedSession):
    """A session in a database.

    Every entry is one committed statement before :meth:`append` returns: other processes see it, and it survives the death
    of this one. What must survive the death of the machine is synced on top, in a thread, for all sessions at once.

    Each sync looks whether the database is still where it was. If not, the whole session is written to a file beside it, where it
    goes on, and the error that says so is raised once.

    Attributes:
        location: the database. foreign: why a session that was opened for writing is read-only all the same, or ``None``.
    """

    def __init__(
        self,
        store: Store,
        header: SessionHeader,
        entries: list[SessionEntry],
        *,
        last: int,
        lock: WriterLock | None = None,
        flush_interval: float = 1.0,
        foreign: str | None = None,
    ) -> None:
        super().__init__(store.syncs, always=store.policy == "always")
        self.header = header
        self.flush_interval = flush_interval
        self.location = str(store.database.path)
        self.read_only = lock is None
        self.foreign = foreign
        self._store = store
        self._entries = entries
        self._last = last
        self._lock = lock
        self._order = asyncio.Lock()
        self._wrote = False
        self._closed = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write ``entry`` at the end.

        Raises:
            SessionError: the session is read-only or closed, or the database refuses; the entry is then not in it.
        """
        if self._elsewhere is not None:
            return await self._elsewhere.append(entry, sync=sync)
        if not self._writable or (self._lock is not None and self._lock.taken):
            raise self._refusal()
        line = encode_entry(entry)
        async with self._order:
            await self._store.insert((self._last + 1, entry.type, entry.ts, line))
            self._last += 1
            self._wrote = self._unsynced = True
            self._entries.append(entry)
        if sync or self._always:
            await self.sync()

    @property
    def _writable(self) -> bool:
        return not (self._closed or self._lock is None or self._lock.lost)

    def _check(self) -> None:
        """Go on elsewhere if the database is no longer where it was."""
        problem = self._store.changed() if self._elsewhere is None and self._writable else None
        if problem is not None:
            self._elsewhere = rescue(self, problem)
            raise moved(problem, self._elsewhere, known=False)

    def entries(self) -> Sequence[SessionEntry]:
        """All entries in the order they were written. The list is the session's own: read it, do not change it."""
        return self._entries if self._elsewhere is None else self._elsewhere.entries()

    async def close(self) -> None:
        """Begin a last sync, let search and listings know the new entries, give the lock back. Idempotent."""
        if self._closed:
            return
        if self._unsynced and self._writable:
            self._begin()
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
        if self._lock is not None and (self._lock.lost or self._lock.taken):
            return self._lock.refusal()
        if self.foreign is not None:
            return SessionError(
                f"the session is read-only: {self.foreign}", where=self.location, hint="upgrade SkillKit to write to it"
            )
        return SessionError("the session is open read-only", where=self.location)
