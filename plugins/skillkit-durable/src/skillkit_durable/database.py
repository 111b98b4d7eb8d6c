"""The tables of jobs, in SQLite or PostgreSQL, behind one way to talk to either.

Statements are written once: ``?`` stands for a parameter, ``{now}`` for the clock of the database, the only clock that counts.
Neither DBOS nor SQLAlchemy is imported: whoever submits or lists jobs does not wait for them.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from skillkit_core.errors import SkillKitError

if TYPE_CHECKING:
    import psycopg

__all__ = ["Database", "DatabaseAway", "Row", "Transaction", "shown"]

Row = dict[str, Any]
SCHEMA = 1
LOCK = 7_265_001  # of PostgreSQL: whoever makes tables holds it
PATIENCE = 10.0  # seconds to wait for another writer
TABLES = """
CREATE TABLE IF NOT EXISTS skillkit_durable(version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS skillkit_job(
  id TEXT PRIMARY KEY,
  key TEXT UNIQUE,
  spec TEXT NOT NULL,
  queue TEXT NOT NULL,
  priority INTEGER NOT NULL,
  partition_key TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  created DOUBLE PRECISION NOT NULL,
  status TEXT NOT NULL,
  round INTEGER NOT NULL,
  handed INTEGER NOT NULL,
  again INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  worker TEXT,
  recoveries INTEGER NOT NULL,
  started DOUBLE PRECISION,
  ended DOUBLE PRECISION,
  waiting TEXT,
  result TEXT,
  error TEXT,
  schedule TEXT
);
CREATE INDEX IF NOT EXISTS skillkit_job_status ON skillkit_job(status, at);
CREATE TABLE IF NOT EXISTS skillkit_answer(
  job TEXT NOT NULL,
  question TEXT NOT NULL,
  about TEXT NOT NULL,
  decision TEXT NOT NULL,
  origin TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (job, question)
);
CREATE TABLE IF NOT EXISTS skillkit_worker(
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  machine TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process TEXT NOT NULL,
  started DOUBLE PRECISION NOT NULL,
  beat DOUBLE PRECISION NOT NULL,
  lease DOUBLE PRECISION NOT NULL,
  version TEXT NOT NULL,
  queues TEXT NOT NULL,
  said TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS skillkit_schedule(
  name TEXT PRIMARY KEY,
  cron TEXT NOT NULL,
  job TEXT NOT NULL,
  next DOUBLE PRECISION NOT NULL,
  paused INTEGER NOT NULL,
  created DOUBLE PRECISION NOT NULL
);
CREATE TABLE IF NOT EXISTS skillkit_fact(
  topic TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  stored DOUBLE PRECISION NOT NULL,
  ends DOUBLE PRECISION,
  PRIMARY KEY (topic, key)
);
"""
NEWEST = "skillkit_fact"  # of these tables


class DatabaseAway(SkillKitError):
    """The database of jobs cannot be reached, or refuses."""


class Transaction(Protocol):
    """What is done at once, or not at all."""

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement."""

    def change(self, statement: str, *values: Any) -> int:
        """Return how many rows a statement changed."""


def shown(url: str) -> str:
    """Return a URL as people may see it, without user and password."""
    place = urlsplit(url).netloc
    return url.replace(place, place.rpartition("@")[2], 1) if place else url


class Database:
    """The database of jobs.

    Args:
        url: ``sqlite:///FILE`` or ``postgresql://...``; see :func:`skillkit_durable.config.settings_of`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.postgres = url.startswith("postgresql:")
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Row] | None = None
        self._ready = False

    @property
    def path(self) -> Path:
        """The file of SQLite."""
        return Path(unquote(self.url.removeprefix("sqlite:///").partition("?")[0]))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction, which is committed at the end of the block; the first one makes the tables.

        Raises:
            DatabaseAway: the database cannot be reached, or refuses.
        """
        with self._lock:
            if not self._ready:
                self._make_tables()
            with self._begun(True) as transaction:
                yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin a transaction that changes nothing: in SQLite it waits for no writer, such as one that was stopped."""
        with self._lock:
            if not self._ready:
                self._make_tables()
            with self._begun(False) as transaction:
                yield transaction

    @contextmanager
    def _begun(self, writes: bool) -> Iterator[Transaction]:
        with self._in_postgres() if self.postgres else self._in_sqlite(writes) as transaction:
            yield transaction

    @contextmanager
    def _in_sqlite(self, writes: bool) -> Iterator[Transaction]:
        try:
            with closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.row_factory = sqlite3.Row
                connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                try:
                    yield _Cursor(connection.execute, _of_sqlite)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._away(error) from error

    @contextmanager
    def _in_postgres(self) -> Iterator[Transaction]:
        import psycopg
        from psycopg.rows import dict_row

        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(
                    self.url, row_factory=dict_row, connect_timeout=10, application_name="skillkit jobs"
                )
            with self._connection.transaction():
                yield _Cursor(self._connection.execute, _of_postgres)
        except psycopg.Error as error:
            if self._connection is not None and self._connection.broken:
                self._connection.close()
                self._connection = None
            raise self._away(error) from error

    def _make_tables(self) -> None:
        if not self.postgres:
            self._make_file()
            if self._has_tables():
                self._ready = True
                return
        with self._begun(True) as transaction:
            if self.postgres:
                transaction.rows("SELECT pg_advisory_xact_lock(?)", LOCK)
            for statement in filter(str.strip, TABLES.split(";")):
                transaction.change(statement)
            known = transaction.rows("SELECT version FROM skillkit_durable")
            if not known:
                transaction.change("INSERT INTO skillkit_durable(version) VALUES(?)", SCHEMA)
            elif known[0]["version"] > SCHEMA:
                hint = "upgrade skillkit-durable here"
                raise DatabaseAway("the tables of jobs are those of a newer version", where=shown(self.url), hint=hint)
        self._ready = True

    def _has_tables(self) -> bool:
        with self._begun(False) as transaction:
            made = transaction.rows("SELECT name FROM sqlite_master WHERE name=?", NEWEST)
            return bool(made) and [
                row["version"] for row in transaction.rows("SELECT version FROM skillkit_durable")
            ] == [SCHEMA]

    def _make_file(self) -> None:
        """Make the file of SQLite, for its owner alone, with a log that lets readers and a writer work at once."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
        except (OSError, sqlite3.Error) as error:
            raise self._away(error) from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only process that does something with the database, such as making tables of the engine."""
        with self.transaction():
            pass
        if not self.postgres:
            import fcntl

            with self.path.with_name(f"{self.path.name}.lock").open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            return
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            # a statement that waited would be waited for by the one who makes an index concurrently
            while not connection.execute("SELECT pg_try_advisory_lock(%s)", (LOCK + 1,)).fetchone()[0]:  # type: ignore[index]
                time.sleep(0.1)
            yield

    def close(self) -> None:
        """Close the connection; a later transaction opens another one."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _away(self, error: Exception) -> DatabaseAway:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "start it, or correct durable.url (or SKILLKIT_DURABLE_URL); nothing was changed"
        return DatabaseAway(f"the database of jobs refuses: {reason}", where=shown(self.url), hint=hint)


class _Cursor:
    """A transaction on a connection of either database."""

    def __init__(self, execute: Callable[..., Any], spelled: Callable[[str], str]) -> None:
        self._execute, self._spelled = execute, spelled

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement."""
        return [dict(row) for row in self._run(statement, values).fetchall()]

    def change(self, statement: str, *values: Any) -> int:
        """Return how many rows a statement changed."""
        changed: int = self._run(statement, values).rowcount
        return changed

    def _run(self, statement: str, values: Sequence[Any]) -> Any:
        return self._execute(self._spelled(statement), values)


def _of_sqlite(statement: str) -> str:
    return statement.replace("{now}", "((julianday('now') - 2440587.5) * 86400.0)")


def _of_postgres(statement: str) -> str:
    return statement.replace("{now}", "(extract(epoch from clock_timestamp())::float8)").replace("?", "%s")
