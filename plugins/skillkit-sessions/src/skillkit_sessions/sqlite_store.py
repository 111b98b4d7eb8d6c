"""The session store ``sqlite``: all sessions in one database, with full-text search."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, SessionStore, foreign_to, no_collection
from skillkit_core.errors import SessionError, UnknownSession

from .codec import decode_entry, decode_header, encode_entry, encode_header
from .database import PLACES, Database
from .digest import digest_session, rows, search_database, stamps
from .disk import Syncs, sync_directory
from .handle import changed
from .lock import WriterLock
from .place import check_id, exists, place_of
from .reader import broken_entry
from .sqlite_handle import SqliteSession
from .synced import refused

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SqliteStore"]

NAME = "sessions.db"
_CHECKPOINT = 4 << 20  # bytes that are written before the log is moved into the database
_PATIENCE = 30.0  # seconds to wait for another process that writes
_INSERT = "INSERT INTO entries(place, type, ts, line) VALUES(?, ?, ?, ?)"
_OPEN = """SELECT place, line FROM entries WHERE place > ? AND place < ? ORDER BY place"""


class _Loaded(NamedTuple):
    """Header, entries, the last entry's place, and why this version must not write to the session."""

    header: SessionHeader
    entries: list[SessionEntry]
    last: int
    foreign: str | None


class SqliteStore(SessionStore):
    """Sessions in ``<directory>/sessions.db``, for many of them and for search.

    Directory 0700, file 0600. One process writes a session (``<id>.lock`` beside the database, as with files), any number
    reads it, and different sessions are written by different processes at once. An entry is one committed statement, so
    there are no torn entries. A session of a newer format, with entries that this version does not know, or in a database
    of a newer schema opens read-only (``handle.read_only``, ``handle.foreign``).

    Args:
        host: gives the section ``sessions`` and ``data_dir``; may be ``None`` when ``directory`` is given.
        directory: used instead of the section's, else of ``host.data_dir / "sessions"``.
        fsync: used instead of the section's (see :class:`~skillkit_sessions.SessionsConfig`).

    Raises:
        SessionError: neither a host nor a directory was given.
    """

    def __init__(
        self,
        host: Host | None = None,
        *,
        directory: Path | None = None,
        fsync: Literal["auto", "always", "never"] | None = None,
    ) -> None:
        self.directory, self.policy, self._flush_interval = place_of(host, directory, fsync)
        self.database = Database(self.directory / NAME)
        self._writer: sqlite3.Connection | None = None
        self._mutex = threading.Lock()
        self._files: dict[str, os.stat_result] = {}  # those that the writer has open, as they were seen last
        self._unmoved = 0
        self._tasks: set[asyncio.Future[None]] = set()
        self._named_on_disk = False
        self._busy: set[Syncs] = set()
        self.syncs = Syncs(self._sync, self._busy) if self.policy != "never" else None

    @classmethod
    def at(cls, directory: Path) -> SqliteStore:
        """A store in ``directory``, with defaults and without a host."""
        return cls(directory=directory)

    # --- one session ------------------------------------------------------------------------------------------

    async def create(self, header: SessionHeader) -> SqliteSession:
        """Start a session: it is in the database when this returns."""
        lock = await asyncio.to_thread(self._locked, header.id)
        try:
            key = await asyncio.to_thread(self._add, header, ())
        except BaseException:
            lock.release()
            raise
        return self._handle(_Loaded(header, [], key * PLACES, None), lock)

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> SqliteSession:
        """Open an existing session; see :meth:`skillkit_core.SessionStore.open`."""
        check_id(session_id)
        if not await asyncio.to_thread(self._known, session_id):
            raise UnknownSession(session_id, await self.ids())
        if read_only:
            return self._handle(await asyncio.to_thread(self._load, session_id), None)
        lock = await asyncio.to_thread(self._locked, session_id, endpoint)
        try:
            loaded = await asyncio.to_thread(self._load, session_id)
        except BaseException:
            lock.release()
            raise
        if loaded.foreign is not None:
            lock.release()
            return self._handle(loaded, None)
        return self._handle(loaded, lock)

    def _handle(self, loaded: _Loaded, lock: WriterLock | None) -> SqliteSession:
        header, entries, last, foreign = loaded
        interval = self._flush_interval
        return SqliteSession(self, header, entries, last=last, lock=lock, foreign=foreign, flush_interval=interval)

    async def restore(self, header: SessionHeader, entries: Sequence[SessionEntry]) -> SqliteSession:
        """Write a whole session in one transaction, open it for writing."""
        lock = await asyncio.to_thread(self._locked, header.id)
        try:
            await asyncio.to_thread(self._add, header, entries)
        finally:
            lock.release()
        await self._synced()
        return await self.open(header.id)

    # --- all sessions -----------------------------------------------------------------------------------------

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Known sessions, newest first by their last entry; see :meth:`skillkit_core.SessionStore.list`."""
        if not self.database.exists:
            return []
        return await asyncio.to_thread(rows, self.database, limit)

    async def ids(self) -> Sequence[str]:
        """The ids of all sessions."""
        return await asyncio.to_thread(self._ids)

    async def stamps(self) -> Mapping[str, str]:
        """What differs after a session has changed, by id: the place of its last entry."""
        return await asyncio.to_thread(stamps, self.database) if self.database.exists else {}

    async def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Entries that contain ``query``, in any case, best first; then those that contain all its words somewhere."""
        if not self.database.exists:
            return
        for row in await asyncio.to_thread(search_database, self.database, query, limit):
            yield row

    async def close(self) -> None:
        """Wait for what is being moved or synced, close the database. A later call opens it again.

        Raises:
            SessionError: the disk did not take what was written last.
        """
        try:
            if self._writer is not None:
                await self._synced()
        finally:
            await self._close()

    async def _synced(self) -> None:
        syncs = self.syncs
        if syncs is not None:
            number = syncs.begin()
            await syncs.wait(number)
            if syncs.failed >= number:
                raise refused(syncs, str(self.database.path))

    async def _close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)
        with self._mutex:
            writer, self._writer = self._writer, None
        if writer is not None:
            await asyncio.to_thread(writer.close)

    # --- what handles need ------------------------------------------------------------------------------------

    async def insert(self, row: tuple[int, str, float, bytes]) -> None:
        """Commit an entry. While another process writes, the loop goes on and this waits."""
        give_up: float | None = None
        while not self._try_insert(row):
            now = time.monotonic()
            give_up = now + _PATIENCE if give_up is None else give_up
            if now > give_up:
                raise SessionError(
                    "the session database is being written by another process for long",
                    where=str(self.database.path),
                    hint="try again when it has finished",
                )
            await asyncio.sleep(0.005)
        self._unmoved += len(row[3])
        if self._unmoved > _CHECKPOINT:
            self._unmoved = 0
            self._in_thread(self._checkpoint)

    def _try_insert(self, row: tuple[int, str, float, bytes]) -> bool:
        with self._mutex:
            try:
                self._kept_open().execute(_INSERT, row)
            except sqlite3.IntegrityError as error:
                raise SessionError(
                    "somebody else has written to the session since it was opened",
                    where=str(self.database.path),
                    hint="open it again",
                ) from error
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    return False
                raise self.database.error(error) from error
        return True

    def _kept_open(self) -> sqlite3.Connection:
        """The connection that entries are written with.

        While it is there, closing another one does not move the log into the database, with all the syncing that takes.
        """
        if self._writer is None:
            self._writer = self.database.connect(timeout=0.01)
            self._writer.execute("PRAGMA wal_autocheckpoint=0")
            self._files = {name: os.stat(name) for name in self.database.files}  # noqa: PTH116
        return self._writer

    def changed(self) -> str | None:
        """What somebody has done to the files that are written; ``None``: nothing."""
        for name, seen in self._files.items():
            problem = changed(name, seen, seen.st_size)
            if problem is not None:
                return problem
            self._files[name] = now = os.stat(name)  # noqa: PTH116
            if now.st_size < seen.st_size:
                return "was cut short"
        return None

    async def digest_soon(self, last: int) -> None:
        """Let listings and search know a session up to the entry at ``last``."""
        try:
            await asyncio.to_thread(digest_session, self.database, last // PLACES, timeout=1.0)
        except SessionError:
            return  # nothing is lost: the next search does it, and says what is wrong if it cannot

    def _in_thread(self, work: Any) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().run_in_executor(None, work)
        self._tasks.add(future)
        future.add_done_callback(self._tasks.discard)
        return future

    def _sync(self) -> None:
        """Put everything that was committed on the disk, of all sessions."""
        self.database.sync()
        if not self._named_on_disk:
            sync_directory(self.directory)
            self._named_on_disk = True

    def _checkpoint(self) -> None:
        try:
            self.database.checkpoint()
        except SessionError:
            return  # the log grows until the next one; what is wrong shows when an entry is written

    # --- in threads -------------------------------------------------------------------------------------------

    def _locked(self, session_id: str, endpoint: str | None = None) -> WriterLock:
        check_id(session_id)
        self.database.create()
        with self._mutex:
            self._kept_open()
        lock = WriterLock(str(self.directory), session_id, endpoint)
        lock.acquire()
        return lock

    def _add(self, header: SessionHeader, entries: Sequence[SessionEntry]) -> int:
        line = encode_header(header)
        lines = [(entry.type, entry.ts, encode_entry(entry)) for entry in entries]
        with self.database.changing(timeout=_PATIENCE) as connection:
            foreign = self.database.foreign(connection)
            if foreign is not None:
                raise SessionError(f"no session can be added: {foreign}", where=str(self.database.path))
            try:
                key = connection.execute(
                    "INSERT INTO sessions(id, created, header) VALUES(?, ?, ?)", (header.id, header.created, line)
                ).lastrowid
            except sqlite3.IntegrityError:
                raise exists(self.database.path, header.id) from None
            assert key is not None
            first = key * PLACES + 1
            connection.executemany(_INSERT, [(first + n, *columns) for n, columns in enumerate(lines)])
        return key

    def _known(self, session_id: str) -> bool:
        if not self.database.exists:
            return False
        with self.database.connected() as connection:
            return connection.execute("SELECT 1 FROM sessions WHERE id=?", (session_id,)).fetchone() is not None

    def _ids(self) -> Sequence[str]:
        if not self.database.exists:
            return []
        with self.database.connected() as connection:
            return [name for (name,) in connection.execute("SELECT id FROM sessions")]

    def _load(self, session_id: str) -> _Loaded:
        where = f"{self.database.path}: session {session_id!r}"
        with self.database.connected() as connection:
            foreign = self.database.foreign(connection)
            key, line = connection.execute("SELECT key, header FROM sessions WHERE id=?", (session_id,)).fetchone()
            span = (key * PLACES, (key + 1) * PLACES)
            found = connection.execute(_OPEN, span).fetchall()
        entries: list[SessionEntry] = []
        try:
            header = decode_header(line)
            with no_collection():
                add = entries.append
                for _, text in found:
                    add(decode_entry(text))
        except ValueError as error:
            raise broken_entry(where, len(entries) + 1, error) from None
        last = found[-1][0] if found else key * PLACES
        return _Loaded(header, entries, last, foreign or foreign_to(header, entries))
