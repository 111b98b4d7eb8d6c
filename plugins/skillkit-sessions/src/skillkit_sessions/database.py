"""The SQLite database of the store ``sqlite``: its file, its tables, its connections."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from skillkit_core.errors import SessionCorrupt, SessionError

from .disk import make_directory, sync_data, sync_directory

__all__ = ["PLACES", "SCHEMA", "Database"]

SCHEMA = 1
PLACES = 1 << 32  # an entry's place is the key of its session times this, plus its number in the session
_APPLICATION = 0x534B4954  # "SKIT"
_TABLES = f"""
CREATE TABLE sessions(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created REAL NOT NULL,
  header BLOB NOT NULL,                 -- as the first line of a session file
  digested INTEGER NOT NULL DEFAULT 0,  -- the place up to which the next two columns and the index know the entries
  messages INTEGER NOT NULL DEFAULT 0,
  title TEXT
);
CREATE TABLE entries(
  place INTEGER PRIMARY KEY,
  type TEXT NOT NULL,
  ts REAL NOT NULL,
  line BLOB NOT NULL                    -- as a line of a session file
);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='trigram');
PRAGMA application_id={_APPLICATION};
PRAGMA user_version={SCHEMA};
"""


class Database:
    """One file in WAL mode: readers and the writer do not wait for each other.

    ``synchronous`` is NORMAL: a commit is seen by every process at once and survives the death of this one; what must
    survive the death of the machine is synced by :meth:`sync` on top. Only single statements and short transactions write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.path.is_file()

    @property
    def files(self) -> tuple[str, str]:
        """The database, and the log that commits are in until they are moved into it."""
        return str(self.path), f"{self.path}-wal"

    def create(self) -> None:
        """Make the file, unless it is there: whole under another name, then linked, so that nobody sees half of it."""
        if self.exists:
            return
        temporary = self.path.with_name(f".{self.path.name}.{os.urandom(4).hex()}")
        try:
            named = make_directory(self.path.parent)
            if self.path.parent.stat().st_mode & 0o077:
                self.path.parent.chmod(0o700)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.executescript(_TABLES)
            self.path.hardlink_to(temporary)
            for directory in (self.path.parent, *named):
                sync_directory(directory)
        except FileExistsError:
            pass  # another process was quicker
        except OSError as error:
            raise SessionError(
                f"the session database cannot be made: {error.strerror}",
                where=str(self.path),
                hint="make the place writable ('sessions: directory:' in the configuration moves it)",
            ) from error
        except sqlite3.Error as error:
            raise self.error(error) from error
        finally:
            temporary.unlink(missing_ok=True)

    def connect(self, *, timeout: float = 30.0) -> sqlite3.Connection:
        """A connection; every statement is a transaction of its own unless one is begun.

        Args:
            timeout: seconds to wait for another writer.

        Raises:
            SessionError: it cannot be opened, or belongs to another program. SessionCorrupt: it is no database.
        """
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                timeout=timeout,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            connection.execute("PRAGMA synchronous=NORMAL")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self.error(error) from error
        if application != _APPLICATION:
            connection.close()
            raise SessionError(
                "the file is a database of another program",
                where=str(self.path),
                hint="move it away, or name another place with 'sessions: directory:' in the configuration",
            )
        return connection

    @contextmanager
    def connected(self, *, timeout: float = 30.0) -> Iterator[sqlite3.Connection]:
        """A connection for a while; errors of SQLite come out as :class:`SessionError`."""
        with closing(self.connect(timeout=timeout)) as connection:
            try:
                yield connection
            except sqlite3.Error as error:
                raise self.error(error) from error

    @contextmanager
    def changing(self, *, timeout: float = 30.0) -> Iterator[sqlite3.Connection]:
        """As :meth:`connected`, in one transaction: all of it or nothing."""
        with self.connected(timeout=timeout) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def foreign(self, connection: sqlite3.Connection) -> str | None:
        """Why this version must not write to the database, or ``None``."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            return f"its database has schema version {version}, and this program knows {SCHEMA}"
        return None

    def sync(self) -> None:
        """Put everything that was committed on the disk.

        Commits are in the write-ahead log until a checkpoint, which syncs the log before it moves anything. No lock of
        SQLite is on that file, so opening and closing it here is safe.
        """
        try:
            descriptor = os.open(f"{self.path}-wal", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:  # the last connection took everything over into the database, synced
            return
        try:
            sync_data(descriptor)
        finally:
            os.close(descriptor)

    def checkpoint(self) -> None:
        """Move what is in the write-ahead log into the database, as far as nobody reads it."""
        with self.connected(timeout=0.0) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def error(self, error: sqlite3.Error) -> SessionError:
        """An error of SQLite in words."""
        code = getattr(error, "sqlite_errorcode", None)
        primary = code & 0xFF if code is not None else None
        if primary in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return SessionCorrupt(
                f"the session database is broken: {error}",
                where=str(self.path),
                hint="move it away, or restore a copy of it",
            )
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            hint = "another process writes to it for long: try again"
        elif primary == sqlite3.SQLITE_FULL:
            hint = "free some disk space, then go on; nothing that was accepted is lost"
        else:
            hint = "check the disk and the permissions"
        return SessionError(f"the session database refuses: {error}", where=str(self.path), hint=hint)
