"""The session store ``postgres``: sessions that workers and front ends on several machines share.

An entry is a row of JSON, the same JSON as in a line of a session file. A writer has the *epoch* of its session: whoever opens
the session for writing next counts the epoch up, and each entry is written only while the epoch is the writer's own. So one who
was paused, or cut off, writes nothing any more, whenever it comes back (:class:`~skillkit_core.SessionTaken`).

A session belongs to its writer as long as the writer's process beats, in ``skillkit_writer``. That of a process which is gone
from this machine is taken over at once, that of any other one after the lease.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from skillkit_core.contracts.session_store import (
    SessionEntry,
    SessionHandle,
    SessionHeader,
    SessionStore,
    foreign_to,
    suspended_at_end,
    title_of,
)
from skillkit_core.errors import (
    Owner,
    SessionCorrupt,
    SessionError,
    SessionLocked,
    SessionTaken,
    UnknownSession,
    UsageError,
)
from skillkit_core.frozen import freeze, thaw

from .database import shown
from .lease import here, start_of

if TYPE_CHECKING:
    import psycopg

    from skillkit_core import Host

__all__ = ["PostgresSession", "PostgresStore"]

Listed: TypeAlias = list[Mapping[str, Any]]
Names: TypeAlias = list[str]
Entries: TypeAlias = list[SessionEntry]
LOCK = 7_265_003
FLUSH = 1.0  # seconds between two writes of an answer that still arrives
TABLES = """
CREATE TABLE IF NOT EXISTS skillkit_writer(
  id TEXT PRIMARY KEY,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  machine TEXT NOT NULL,
  process TEXT NOT NULL,
  beat TIMESTAMPTZ NOT NULL,
  lease DOUBLE PRECISION NOT NULL
);
CREATE TABLE IF NOT EXISTS skillkit_session(
  key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created DOUBLE PRECISION NOT NULL,
  updated DOUBLE PRECISION NOT NULL,
  header TEXT NOT NULL,
  messages INTEGER NOT NULL DEFAULT 0,
  epoch BIGINT NOT NULL DEFAULT 0,
  writer TEXT,
  endpoint TEXT
);
CREATE INDEX IF NOT EXISTS skillkit_session_updated ON skillkit_session(updated);
CREATE TABLE IF NOT EXISTS skillkit_entry(
  session BIGINT NOT NULL REFERENCES skillkit_session(key) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  type TEXT NOT NULL,
  ts DOUBLE PRECISION NOT NULL,
  line TEXT NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (session, place)
);
"""
APPEND = """
WITH mine AS (
  UPDATE skillkit_session SET updated=%(ts)s, messages=messages+%(message)s WHERE key=%(key)s AND epoch=%(epoch)s RETURNING key
)
INSERT INTO skillkit_entry(session, place, type, ts, line, words)
SELECT key, %(place)s, %(type)s, %(ts)s, %(line)s, %(words)s FROM mine
"""
LISTED = """
SELECT s.*, (SELECT json_agg(e.line ORDER BY e.place DESC) FROM skillkit_entry e WHERE e.session=s.key
             AND e.type NOT IN ('message', 'partial', 'usage') OR e.session=s.key AND e.place=(
             SELECT max(place) FROM skillkit_entry m WHERE m.session=s.key AND m.type='message')) AS lines
FROM skillkit_session s ORDER BY s.updated DESC, s.key DESC LIMIT %s
"""
STAMPS = """
SELECT s.id, s.key, (SELECT max(e.place) FROM skillkit_entry e WHERE e.session=s.key) AS last FROM skillkit_session s
"""


class PostgresStore(SessionStore):
    """Sessions in the PostgreSQL that ``durable.url`` names.

    Args:
        host: gives the settings; may be ``None`` when ``url`` is given.
        url: used instead of that of the settings.
        lease: seconds after which a writer that does not beat is given up; default: the setting ``durable.lease``.
        schema: where the tables are; default: the first schema of the connection's search path.

    Attributes:
        shared: all machines see these sessions.

    Raises:
        UsageError: the URL is not that of a PostgreSQL.
    """

    shared = True

    def __init__(
        self, host: Host | None = None, *, url: str | None = None, lease: float | None = None, schema: str | None = None
    ) -> None:
        if host is not None and (url is None or lease is None):
            from .config import settings_of

            settings = settings_of(host)
            url, lease = url or settings.url, lease or settings.durable.lease
        if url is None or not url.startswith("postgresql:"):
            hint = "set durable.url (or SKILLKIT_DURABLE_URL) to postgresql://USER@HOST/DATABASE"
            raise UsageError("the session store 'postgres' needs a PostgreSQL", where="session.store", hint=hint)
        self.url, self.lease, self._schema = url, lease or 30.0, schema
        self.place = shown(url)
        self.writer = f"{os.uname().nodename}-{os.getpid()}-{secrets.token_hex(6)}"
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._ready = False
        self._beating: threading.Event | None = None

    # --- one session ------------------------------------------------------------------------------------------------

    async def create(self, header: SessionHeader) -> PostgresSession:
        """Start a session: it is in the database when this returns."""
        return await asyncio.to_thread(self._add, header, ())

    async def restore(self, header: SessionHeader, entries: Sequence[SessionEntry]) -> PostgresSession:
        """Write a whole session in one transaction, and return the session open for writing."""
        return await asyncio.to_thread(self._add, header, entries)

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> PostgresSession:
        """Open a session; see :meth:`skillkit_core.SessionStore.open`."""
        return await asyncio.to_thread(self._open, session_id, read_only, endpoint)

    def _add(self, header: SessionHeader, entries: Sequence[SessionEntry]) -> PostgresSession:
        rows = [(n, e.type, e.ts, _line(e), _words(e)) for n, e in enumerate(entries, 1)]
        said = sum(entry.type == "message" for entry in entries)
        updated = entries[-1].ts if entries else header.created
        with self._working() as connection:
            self._begin_to_beat(connection)
            made = connection.execute(
                "INSERT INTO skillkit_session(id, created, updated, header, messages, epoch, writer)"
                " VALUES(%s, %s, %s, %s, %s, 1, %s) ON CONFLICT (id) DO NOTHING RETURNING key",
                (header.id, header.created, updated, _json(_header(header)), said, self.writer),
            ).fetchone()
            if made is None:
                raise SessionError(f"session {header.id!r} exists already", where=self.place)
            key = made["key"]
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO skillkit_entry(session, place, type, ts, line, words) VALUES(%s, %s, %s, %s, %s, %s)",
                    [(key, *row) for row in rows],
                )
        return PostgresSession(self, header, list(entries), key, 1)

    def _open(self, session_id: str, read_only: bool, endpoint: str | None) -> PostgresSession:
        with self._working() as connection:
            row = connection.execute("SELECT * FROM skillkit_session WHERE id=%s", (session_id,)).fetchone()
            if row is None:
                raise UnknownSession(session_id, self._ids(connection))
            epoch = None
            if not read_only:
                self._begin_to_beat(connection)
                row = connection.execute(
                    "SELECT * FROM skillkit_session WHERE key=%s FOR UPDATE", (row["key"],)
                ).fetchone()
                epoch = self._take(connection, row, endpoint)
            entries = self._entries(connection, row)
            header = SessionHeader(**json.loads(row["header"]))
            foreign = foreign_to(header, entries)
            if foreign is not None and epoch is not None:
                self._release(connection, row["key"], epoch)
                epoch = None
        return PostgresSession(self, header, entries, row["key"], epoch, foreign=foreign)

    def _take(self, connection: Any, row: Any, endpoint: str | None) -> int:
        """Take a session for this process; return its new epoch, or raise :class:`SessionLocked`."""
        if row["writer"] is not None:
            held = connection.execute(
                "SELECT *, extract(epoch FROM clock_timestamp() - beat)::float8 AS silent FROM skillkit_writer WHERE id=%s",
                (row["writer"],),
            ).fetchone()
            if held is not None and not self._gone(held):
                owner = Owner(held["pid"], held["host"], row["endpoint"])
                own = row["writer"] == self.writer
                who = "this process" if own else f"process {owner.pid} on {owner.host}"
                hint = "wait until it is done, or open it read-only"
                raise SessionLocked(
                    f"session {row['id']!r} is being written by {who}", owner=owner, where=self.place, hint=hint
                )
        epoch: int = row["epoch"] + 1
        connection.execute(
            "UPDATE skillkit_session SET epoch=%s, writer=%s, endpoint=%s WHERE key=%s",
            (epoch, self.writer, endpoint, row["key"]),
        )
        return epoch

    @staticmethod
    def _gone(held: Any) -> bool:
        _, machine = here()
        if held["silent"] > held["lease"]:
            return True
        return held["machine"] == machine and bool(held["process"]) and start_of(held["pid"]) != held["process"]

    def _entries(self, connection: Any, row: Any) -> Entries:
        lines = connection.execute(
            "SELECT line FROM skillkit_entry WHERE session=%s ORDER BY place", (row["key"],)
        ).fetchall()
        try:
            return [_entry(line["line"]) for line in lines]
        except (ValueError, KeyError, TypeError) as error:
            raise SessionCorrupt(f"an entry of session {row['id']!r} is broken: {error}", where=self.place) from None

    # --- all sessions -----------------------------------------------------------------------------------------------

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the known sessions, newest first; see :meth:`skillkit_core.SessionStore.list`."""
        return await asyncio.to_thread(self._list, limit)

    def _list(self, limit: int | None) -> Listed:
        with self._working() as connection:
            rows = connection.execute(LISTED, (limit,)).fetchall()
        return [self._listed(row) for row in rows]

    def _listed(self, row: Any) -> dict[str, Any]:
        header = SessionHeader(**json.loads(row["header"]))
        newest_first = [_entry(line) for line in row["lines"] or ()]
        return {
            "id": header.id,
            "created": header.created,
            "updated": row["updated"],
            "cwd": header.cwd,
            "title": title_of(header, newest_first[::-1]),
            "messages": row["messages"],
            "suspended": suspended_at_end(newest_first),
            "location": self.place,
            "parent_session": header.parent_session,
            "nested": header.nested,
        }

    async def ids(self) -> Sequence[str]:
        """Return the ids of all sessions."""

        def work() -> Names:
            with self._working() as connection:
                return self._ids(connection)

        return await asyncio.to_thread(work)

    @staticmethod
    def _ids(connection: Any) -> Names:
        return [row["id"] for row in connection.execute("SELECT id FROM skillkit_session").fetchall()]

    async def stamps(self) -> Mapping[str, str]:
        """Return, by id, what differs after a session has changed: the place of its last entry."""

        def work() -> Mapping[str, str]:
            with self._working() as connection:
                return {row["id"]: f"{row['key']} {row['last']}" for row in connection.execute(STAMPS).fetchall()}

        return await asyncio.to_thread(work)

    async def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the entries whose text contains ``query``, in any case, newest session first."""
        if not query:
            return
        for row in await asyncio.to_thread(self._search, query.casefold().replace("\x00", "\ufffd"), limit):
            yield row

    def _search(self, wanted: str, limit: int) -> Listed:
        found: Listed = []
        with self._working() as connection:
            rows = connection.execute(
                "SELECT s.id, e.line FROM skillkit_entry e JOIN skillkit_session s ON s.key=e.session"
                " WHERE position(%s IN e.words) > 0 ORDER BY s.updated DESC, e.place LIMIT %s",
                (wanted, limit),
            ).fetchall()
        for row in rows:
            entry = _entry(row["line"])
            text = next((t for t in _texts(entry.data) if wanted in t.casefold().replace("\x00", "\ufffd")), "")
            place = max(0, text.casefold().find(wanted) - 40)
            excerpt = text[place : place + 120 + len(wanted)]
            found.append({"session_id": row["id"], "entry_id": entry.id, "ts": entry.ts, "excerpt": excerpt})
        return found

    # --- what sessions need -----------------------------------------------------------------------------------------

    def write(self, key: int, epoch: int, place: int, entry: SessionEntry) -> None:
        """Commit an entry, or raise :class:`SessionTaken`."""
        about = {"message": int(entry.type == "message"), "line": _line(entry), "words": _words(entry)}
        place_of = {"key": key, "epoch": epoch, "place": place, "type": entry.type, "ts": entry.ts}
        with self._working() as connection:
            if connection.execute(APPEND, {**about, **place_of}).rowcount != 1:
                raise SessionTaken(
                    "another writer has taken the session over",
                    where=self.place,
                    hint="open it again: this entry is not in it",
                )

    def let_go(self, key: int, epoch: int) -> None:
        """Give a session back."""
        with self._working() as connection:
            self._release(connection, key, epoch)

    @staticmethod
    def _release(connection: Any, key: int, epoch: int) -> None:
        connection.execute(
            "UPDATE skillkit_session SET writer=NULL, endpoint=NULL WHERE key=%s AND epoch=%s", (key, epoch)
        )

    async def close(self) -> None:
        """Close the connection; a later call opens another one."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        beating, self._beating = self._beating, None
        if beating is not None:
            beating.set()
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                if not connection.broken:
                    connection.execute("DELETE FROM skillkit_writer WHERE id=%s", (self.writer,))
                    connection.commit()
                connection.close()

    # --- the connection ---------------------------------------------------------------------------------------------

    @contextmanager
    def _working(self) -> Iterator[Any]:
        """Work on the connection, in a transaction.

        Raises:
            SessionError: the database cannot be reached, or refuses.
        """
        import psycopg

        try:
            with self._lock:
                connection = self._connected()
                with connection.transaction():
                    yield connection
        except psycopg.Error as error:
            with self._lock:
                if self._connection is not None and self._connection.broken:
                    self._connection.close()
                    self._connection = None
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            hint = "start it, or correct durable.url; nothing that was accepted is lost"
            raise SessionError(
                f"the database of the sessions refuses: {reason}", where=self.place, hint=hint
            ) from error

    def _connected(self) -> Any:
        import psycopg
        from psycopg.rows import dict_row

        if self._connection is None or self._connection.closed:
            connection = psycopg.connect(
                self.url, row_factory=dict_row, connect_timeout=10, application_name="skillkit sessions"
            )
            if self._schema is not None:
                connection.execute(f'SET search_path TO "{self._schema}"'.encode())
                connection.commit()
            self._connection = connection
        if not self._ready:
            with self._connection.transaction():
                self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                for statement in filter(str.strip, TABLES.split(";")):
                    self._connection.execute(statement.encode())
            self._ready = True
        return self._connection

    # --- beating ----------------------------------------------------------------------------------------------------

    def _begin_to_beat(self, connection: Any) -> None:
        """Let others see that this process is there, from its first session for writing until the store is closed."""
        if self._beating is not None:
            return
        host, machine = here()
        connection.execute(
            "INSERT INTO skillkit_writer(id, pid, host, machine, process, beat, lease) VALUES(%s, %s, %s, %s, %s,"
            " clock_timestamp(), %s) ON CONFLICT (id) DO UPDATE SET beat=clock_timestamp()",
            (self.writer, os.getpid(), host, machine, start_of(os.getpid()), self.lease),
        )
        connection.execute("DELETE FROM skillkit_writer WHERE beat < clock_timestamp() - interval '7 days'")
        self._beating = threading.Event()
        beat = threading.Thread(target=self._beat, args=(self._beating,), name="skillkit writer", daemon=True)
        beat.start()

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(self.lease / 4):
            try:
                with self._working() as connection:
                    connection.execute("UPDATE skillkit_writer SET beat=clock_timestamp() WHERE id=%s", (self.writer,))
            except SessionError:
                continue  # whoever writes says so; where nobody does, the next beat may do better


class PostgresSession(SessionHandle):
    """An open session.

    Attributes:
        foreign: why a session that was opened for writing is read-only all the same, or ``None``.
    """

    flush_interval = FLUSH

    def __init__(
        self,
        store: PostgresStore,
        header: SessionHeader,
        entries: list[SessionEntry],
        key: int,
        epoch: int | None,
        *,
        foreign: str | None = None,
    ) -> None:
        self.header, self.foreign = header, foreign
        self.location = store.place
        self.read_only = epoch is None
        self._store, self._list, self._key, self._epoch = store, entries, key, epoch
        self._order = asyncio.Lock()
        self._closed = self._taken = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write an entry; it is committed when this returns, so that there is nothing to sync."""
        if self._closed or self._epoch is None:
            state = "closed" if self._closed else f"read-only: {self.foreign}" if self.foreign else "open read-only"
            raise SessionError(f"the session is {state}", where=self.location)
        async with self._order:
            work: Callable[..., None] = self._store.write
            written = asyncio.ensure_future(asyncio.to_thread(work, self._key, self._epoch, len(self._list) + 1, entry))
            try:
                await asyncio.shield(written)
            except asyncio.CancelledError:
                await asyncio.wait([written])  # it is in the database, or is not: the list must say the same
                if written.exception() is None:
                    self._list.append(entry)
                raise
            self._list.append(entry)

    def entries(self) -> Sequence[SessionEntry]:
        """Return all entries."""
        return self._list

    async def close(self) -> None:
        """Give the session back."""
        if self._closed:
            return
        self._closed = True
        if self._epoch is not None:
            await asyncio.to_thread(self._store.let_go, self._key, self._epoch)


# --- rows -----------------------------------------------------------------------------------------------------------


def _json(value: Any) -> str:
    """Return JSON in ASCII: the database takes neither NUL nor half a character, and escaped it takes both."""
    try:
        return json.dumps(value, default=_plain, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise SessionError(f"an entry cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value, key=str) if isinstance(value, (set, frozenset)) else str(value)


def _header(header: SessionHeader) -> dict[str, Any]:
    return {name: getattr(header, name) for name in SessionHeader.__dataclass_fields__}


def _line(entry: SessionEntry) -> str:
    return _json([entry.seq, entry.id, entry.parent_id, entry.type, entry.ts, dict(entry.data)])


def _entry(line: str) -> SessionEntry:
    seq, name, parent, kind, ts, data = json.loads(line)
    return SessionEntry(seq, name, parent, kind, ts, freeze(data))


def _words(entry: SessionEntry) -> str:
    """Return what a search looks through; what has no place in a text of the database is replaced."""
    if entry.type in ("usage", "leaf"):
        return ""
    text = "\n".join(_texts(thaw(entry.data) if entry.type == "message" else entry.data))
    return text.casefold().replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
