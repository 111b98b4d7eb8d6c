"""The index: the requests of all sessions of all stores, in a database that can be made again.

Stores are the source. A session is read again when its stamp in the store has changed, so that a report opens only what is
new. The index lies in the cache folder, and in memory where that cannot be written.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.errors import SkillKitError

if TYPE_CHECKING:
    from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionStore

__all__ = ["Index", "Request", "requests_of", "skill_of_tool"]

VERSION = 4
_BUSY = 10.0  # seconds to wait for another process
_SKILL = re.compile(r'<skill_content name="([^"]+)">')
_SCHEMA = """
CREATE TABLE sessions (
    place INTEGER PRIMARY KEY, store TEXT, name TEXT, stamp TEXT, id TEXT, updated REAL, parent TEXT, UNIQUE (store, name)
);
CREATE TABLE requests (
    place INTEGER, ts REAL, session TEXT, inner TEXT, run TEXT, purpose TEXT, provider TEXT, model TEXT, tool TEXT, via TEXT,
    skill TEXT, input INTEGER, output INTEGER, cache_read INTEGER, cache_write INTEGER, reasoning INTEGER, cost REAL,
    estimated INTEGER, engine TEXT
);
CREATE INDEX requests_place ON requests (place);
CREATE INDEX requests_ts ON requests (ts);
"""
_FIELDS = (
    "ts, session, inner, run, purpose, provider, model, tool, via, skill, input, output, cache_read, cache_write, "
    "reasoning, cost, estimated, engine"
)


class Request(NamedTuple):
    """One ``usage`` entry of a session.

    Attributes:
        ts: seconds since the epoch.
        session: the session that holds the entry.
        inner: the session of the nested run that made the request; ``None``: ``purpose`` is not ``nested``, or the run had none.
        run: id of the run.
        purpose: ``turn``, ``compaction``, ``tool``, ``<plugin>.<what>`` (a plugin asked a model once), ``nested`` (a copy in the
            books of a session above) or ``adjustment``.
        provider: name of the provider.
        model: id of the model.
        tool: the tool that reported the usage.
        via: the nearest tool whose call began the run.
        skill: the skill that was active, whose action ``tool`` or ``via`` is, or to which the run was routed.
        input: tokens that were not cached; the other buckets as in :class:`~skillkit_core.TokenUsage`.
        cost: US dollars; ``None``: the price is not known.
        estimated: the request was cut off before the provider told what it used.
        engine: the engine of the skill to which the run was routed; empty: it was not routed.
    """

    ts: float
    session: str
    inner: str | None
    run: str
    purpose: str
    provider: str
    model: str
    tool: str
    via: str
    skill: str
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None
    estimated: bool = False
    engine: str = ""

    @property
    def tokens(self) -> int:
        """All tokens of all buckets."""
        return self.input + self.output + self.cache_read + self.cache_write + self.reasoning


class Index:
    """The requests of all sessions.

    Args:
        folder: where the database is kept; ``None``: in memory.

    Attributes:
        problems: the sessions that could not be read, with the reason, as the last :meth:`refresh` found them.
    """

    def __init__(self, folder: Path | None) -> None:
        self.problems: dict[str, str] = {}
        self._database = _opened(folder)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    async def refresh(
        self,
        stores: Mapping[str, SessionStore],
        *,
        only_newest: bool = False,
        leave: Collection[str] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """Read the sessions that have changed since they were read; return whether anything has changed.

        Args:
            stores: stores by name. Of a session that lies in several, the one that changed last counts.
            only_newest: notice no session that is gone.
            leave: ids of sessions that are not read now.
            progress: called with the number of sessions that were read, and of those to read.
        """
        self.problems = {}
        changed = False
        for name, store in stores.items():
            # Before a session is read: what is written meanwhile makes another stamp.
            stamps, known = await store.stamps(), self._known(name)
            wanted = [one for one, stamp in stamps.items() if one not in leave and known.get(one) != stamp]
            for done, session in enumerate(wanted):
                if progress is not None:
                    progress(done, len(wanted))
                await self._read(name, store, session, stamps[session])
            if not only_newest:
                changed = self._forget(name, known.keys() - stamps.keys()) or changed
            changed = changed or bool(wanted)
        if not only_newest:
            gone = [n for (n,) in self._database.execute("SELECT DISTINCT store FROM sessions") if n not in stores]
            for name in gone:
                changed = self._forget(name, self._known(name)) or changed
        return changed

    async def _read(self, name: str, store: SessionStore, session: str, stamp: str) -> None:
        try:
            handle = await store.open(session, read_only=True)
        except SkillKitError as error:
            self.problems[session] = str(error)
            self._forget(name, [session])
            return
        try:
            self._put(name, session, handle, stamp)
        finally:
            await handle.close()

    def _put(self, store: str, session: str, handle: SessionHandle, stamp: str) -> None:
        header, entries = handle.header, handle.entries()
        updated = entries[-1].ts if entries else header.created
        with self._database as database:
            self._delete(store, session)
            place = database.execute(
                "INSERT INTO sessions (store, name, stamp, id, updated, parent) VALUES (?, ?, ?, ?, ?, ?)",
                (store, session, stamp, header.id, updated, header.parent_session),
            ).lastrowid
            database.executemany(
                f"INSERT INTO requests (place, {_FIELDS}) VALUES ({', '.join('?' * 19)})",  # noqa: S608 - names alone
                ((place, *request) for request in requests_of(header.id, entries)),
            )

    def _delete(self, store: str, session: str) -> None:
        for (place,) in self._database.execute(
            "SELECT place FROM sessions WHERE store = ? AND name = ?", (store, session)
        ).fetchall():
            self._database.execute("DELETE FROM requests WHERE place = ?", (place,))
            self._database.execute("DELETE FROM sessions WHERE place = ?", (place,))

    def _forget(self, store: str, sessions: Iterable[str]) -> bool:
        gone = list(sessions)
        with self._database:
            for session in gone:
                self._delete(store, session)
        return bool(gone)

    def _known(self, store: str) -> dict[str, str]:
        return dict(self._database.execute("SELECT name, stamp FROM sessions WHERE store = ?", (store,)))

    def parents(self) -> dict[str, str | None]:
        """Return the sessions of the index, each with the session above it."""
        return dict(self._database.execute("SELECT id, parent FROM sessions"))

    def nested(self) -> Iterator[Request]:
        """Yield the copies in the books of sessions above."""
        return self.requests(only_nested=True)

    def requests(
        self,
        since: float | None = None,
        until: float | None = None,
        sessions: Sequence[str] | None = None,
        *,
        only_nested: bool = False,
    ) -> Iterator[Request]:
        """Yield the entries of ``sessions`` (default: all) from ``since`` on and before ``until``, a session after the other."""
        where, values = ["1"], list[Any]()
        if since is not None:
            where.append("ts >= ?")
            values.append(since)
        if until is not None:
            where.append("ts < ?")
            values.append(until)
        if sessions is not None:
            where.append(f"session IN ({', '.join('?' * len(sessions))})")
            values += sessions
        if only_nested:
            where.append("purpose = 'nested'")
        rows = self._database.execute(
            f"SELECT {_FIELDS} FROM requests WHERE {' AND '.join(where)} AND place IN "  # noqa: S608 - nothing of it is data
            "(SELECT place FROM (SELECT place, max(updated) FROM sessions GROUP BY id)) ORDER BY place, ts",
            values,
        )
        return map(Request._make, rows)


def requests_of(session: str, entries: Iterable[SessionEntry]) -> Iterator[Request]:
    """Yield the ``usage`` entries of a session, each with the skill of its run, else the active one of its branch."""
    entries = tuple(entries)
    active: dict[str | None, str] = {}  # by entry: the skill that was activated last on the way to it
    tasks: dict[str, tuple[str, str]] = {}  # by run: skill and engine of its task; at first those of the first one
    for entry in reversed(entries):
        tasks.update(_task(entry))
    for entry in entries:
        above = active.get(entry.parent_id, "")
        if entry.type == "usage":
            routed, engine = tasks.get(str(entry.data.get("run_id")), ("", ""))
            yield _request(session, entry, routed or above)._replace(engine=engine)
            continue
        tasks.update(_task(entry))
        skill = _activated(entry.data.get("message")) if entry.type in ("message", "custom_message") else None
        if skill or above:
            active[entry.id] = skill or above


def _task(entry: SessionEntry) -> dict[str, tuple[str, str]]:
    """Return skill and engine of a task by its run, where an entry is the note of one (``skillkit-engines``)."""
    data = entry.data
    if entry.type != "custom" or data.get("custom_type") != "engines.task":
        return {}
    return {str(data.get("run")): (str(data.get("skill") or ""), str(data.get("engine") or ""))}


def _request(session: str, entry: SessionEntry, active: str) -> Request:
    data = entry.data

    def text(name: str) -> str:
        value = data.get(name)
        return value if isinstance(value, str) else ""

    def count(name: str) -> int:
        value = data.get(name)
        return int(value) if isinstance(value, (int, float)) else 0

    cost = data.get("cost")
    tool, via = text("tool_name"), text("via_tool")
    return Request(
        entry.ts,
        session,
        text("session") or None,
        text("run_id"),
        text("purpose") or "turn",
        text("provider"),
        text("model"),
        tool,
        via,
        skill_of_tool(tool) or skill_of_tool(via) or active,
        count("input"),
        count("output"),
        count("cache_read"),
        count("cache_write"),
        count("reasoning"),
        float(cost) if isinstance(cost, (int, float)) else None,
        data.get("estimated") is True,
    )


def skill_of_tool(name: str) -> str:
    """Return the skill of a tool that is the action of a skill, ``SKILL__ACTION``; empty for other tools."""
    skill, joint, _ = name.partition("__")
    return skill if joint and skill != "mcp" else ""


def _activated(message: Any) -> str | None:
    """Return the skill whose instructions a message brought."""
    if not isinstance(message, Mapping):
        return None
    role = message.get("role")
    if role == "tool_result":
        details = message.get("details")
        known = message.get("tool_name") == "activate_skill" and not message.get("is_error")
        if not known or not isinstance(details, Mapping) or not details.get("content"):
            return None
        name = details.get("skill")
        return name if isinstance(name, str) else None
    if role != "user" and not (role == "custom" and message.get("pinned")):
        return None
    content = message.get("content")
    first = content[0] if isinstance(content, (list, tuple)) and content else None
    text = first.get("text") if isinstance(first, Mapping) else content
    found = _SKILL.match(text) if isinstance(text, str) else None
    return unescape(found[1]) if found else None


def _opened(folder: Path | None) -> sqlite3.Connection:
    """Return the database, made anew when it is of another version or broken, in memory where it cannot be written."""
    if folder is not None:
        path = folder / f"requests-{VERSION}.sqlite"
        for _ in range(2):
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                return _prepared(sqlite3.connect(path, timeout=_BUSY, check_same_thread=False))
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    break
                with suppress(OSError):
                    path.unlink()
            except OSError:
                break
    return _prepared(sqlite3.connect(":memory:", check_same_thread=False))


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    try:
        database.execute("PRAGMA synchronous = OFF")
        with database:
            database.execute("BEGIN IMMEDIATE")
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'requests'").fetchone():
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database
