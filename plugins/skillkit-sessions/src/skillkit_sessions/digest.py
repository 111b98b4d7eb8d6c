"""What the database keeps beside the entries: counts for listings, and the full-text index.

Appending does not touch them. They follow when a session is closed, and before a search; listings count what is new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from skillkit_core.contracts.session_store import SessionEntry, suspended_at_end
from skillkit_core.errors import SessionError

from .codec import decode_entry, decode_header
from .database import PLACES, Database
from .listing import excerpt, text_in, unsearched
from .reader import broken_entry

__all__ = ["digest_all", "digest_session", "rows", "search_database", "stamps"]

_BATCH = 2000  # entries per transaction
_SHORTEST = 3  # characters that the index can find
_PENDING = """
SELECT key FROM sessions WHERE max(digested, key * :places) <
  coalesce((SELECT max(place) FROM entries WHERE place BETWEEN key * :places AND (key + 1) * :places - 1), 0)
"""
_LIST = """
SELECT key, id, created, header, digested, messages, title,
  (SELECT ts FROM entries WHERE place BETWEEN key * :places AND (key + 1) * :places - 1
   ORDER BY place DESC LIMIT 1) AS last
FROM sessions ORDER BY coalesce(last, created) DESC, key DESC LIMIT :limit
"""


def digest_session(database: Database, key: int, *, timeout: float = 30.0) -> None:
    """Take in what is new of one session."""
    more = True
    while more:
        with database.changing(timeout=timeout) as connection:
            more = not database.foreign(connection) and _take_in(connection, key, _BATCH) == _BATCH


def digest_all(database: Database) -> None:
    """Take in what is new of every session, many in one transaction."""
    left = 0
    while left == 0:
        left = _BATCH
        with database.changing() as connection:
            if database.foreign(connection):
                return
            for (key,) in connection.execute(_PENDING, {"places": PLACES}).fetchall():
                left -= _take_in(connection, key, left)
                if left == 0:
                    break


def _take_in(connection: sqlite3.Connection, key: int, limit: int) -> int:
    """Take in up to ``limit`` entries of a session; how many there were."""
    digested, messages, title = connection.execute(
        "SELECT digested, messages, title FROM sessions WHERE key=?", (key,)
    ).fetchone()
    found = connection.execute(
        "SELECT place, type, line FROM entries WHERE place > ? AND place < ? ORDER BY place LIMIT ?",
        (max(digested, key * PLACES), (key + 1) * PLACES, limit),
    ).fetchall()
    texts: list[tuple[int, str]] = []
    for place, kind, line in found:
        digested = place
        messages += kind == "message"
        try:
            entry = decode_entry(line)
        except ValueError:  # a search that may find it says what is wrong with it
            texts.append((place, _clean(bytes(line).decode("utf-8", "replace"))))
            continue
        if kind == "session_info" and isinstance(entry.data.get("title"), str):
            title = _clean(entry.data["title"])
        texts.append((place, _clean("\n".join(text_in(entry)))))
    connection.executemany("INSERT INTO words(rowid, text) VALUES(?, ?)", [t for t in texts if t[1]])
    connection.execute(
        "UPDATE sessions SET digested=?, messages=?, title=? WHERE key=?", (digested, messages, title, key)
    )
    return len(found)


def _clean(text: str) -> str:
    """What SQLite takes: no lone surrogates, no NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


_STAMPS = """
SELECT id, key, created,
  (SELECT max(place) FROM entries WHERE place BETWEEN key * :places AND (key + 1) * :places - 1)
FROM sessions
"""


def stamps(database: Database) -> dict[str, str]:
    """What differs after a session has changed, by id."""
    with database.connected() as connection:
        return {name: repr(rest) for name, *rest in connection.execute(_STAMPS, {"places": PLACES})}


# --- listings -----------------------------------------------------------------------------------------------------


def rows(database: Database, limit: int | None) -> list[dict[str, Any]]:
    """The rows of a listing, newest first; entries that were not taken in yet are counted."""
    with database.connected() as connection:
        found = connection.execute(_LIST, {"places": PLACES, "limit": -1 if limit is None else limit}).fetchall()
        return [_row(connection, str(database.path), row) for row in found]


def _row(connection: sqlite3.Connection, location: str, row: tuple[Any, ...]) -> dict[str, Any]:
    key, session_id, created, header, digested, messages, title, last = row
    new = (max(digested, key * PLACES), (key + 1) * PLACES)
    (more,) = connection.execute(
        "SELECT count(*) FROM entries WHERE place > ? AND place < ? AND type='message'", new
    ).fetchone()
    for (line,) in connection.execute(
        "SELECT line FROM entries WHERE place > ? AND place < ? AND type='session_info' ORDER BY place", new
    ):
        try:
            named = decode_entry(line).data.get("title")
        except ValueError:
            continue
        title = named if isinstance(named, str) else title
    out: dict[str, Any] = {
        "id": session_id,
        "created": created,
        "updated": created if last is None else last,
        "cwd": "",
        "title": title,
        "messages": messages + more,
        "suspended": suspended_at_end(_newest_first(connection, key)),
        "location": location,
        "parent_session": None,
        "nested": False,
    }
    try:
        known = decode_header(header)
    except ValueError as error:
        return {**out, "error": f"{location}: session {session_id!r}: {error}"}
    return {
        **out, "cwd": known.cwd, "title": title if title is not None else known.title,
        "parent_session": known.parent_session, "nested": known.nested,
    }  # fmt: skip


def _newest_first(connection: sqlite3.Connection, key: int) -> Iterator[SessionEntry]:
    """The entries of a session from the last one on, read as they are asked for; broken ones are passed over."""
    span = (key * PLACES, (key + 1) * PLACES)
    sql = "SELECT line FROM entries WHERE place > ? AND place < ? ORDER BY place DESC"
    for (line,) in connection.execute(sql, span):
        try:
            yield decode_entry(line)
        except ValueError:
            continue


# --- search -------------------------------------------------------------------------------------------------------


def search_database(database: Database, query: str, limit: int) -> list[Mapping[str, Any]]:
    """Up to ``limit`` entries: first those that contain ``query`` as it is, then those with all its words; best first.

    Then the sessions that could not be searched: entries that may fit and are broken, and what a database of a newer
    schema has beside its index.
    """
    words = query.casefold().split()
    if not words:
        return []
    digest_all(database)
    hits: dict[int, Mapping[str, Any]] = {}
    with database.connected() as connection:
        left_out = _not_in_the_index(database, connection)
        for wanted in [[query.casefold()]] + ([words] if len(words) > 1 else []):
            for place, session_id, line in _candidates(connection, wanted):
                if len(hits) >= limit:
                    break
                if place in hits:
                    continue
                try:
                    hit = _hit(session_id, line, wanted)
                except ValueError as error:
                    problem = broken_entry(f"{database.path}: session {session_id!r}", place % PLACES, error)
                    left_out.setdefault(session_id, unsearched(session_id, problem))
                    continue
                if hit is not None:
                    hits[place] = hit
    return [*hits.values(), *left_out.values()]


def _not_in_the_index(database: Database, connection: sqlite3.Connection) -> dict[str, Mapping[str, Any]]:
    """Sessions with entries that the index does not know, because this program must not write to it."""
    foreign = database.foreign(connection)
    if foreign is None:
        return {}
    sql = f"SELECT id FROM sessions WHERE key IN ({_PENDING})"  # noqa: S608 - no value is in it
    problem = SessionError(
        f"not all of it is in the index: {foreign}", where=str(database.path), hint="upgrade SkillKit"
    )
    return {name: unsearched(name, problem) for (name,) in connection.execute(sql, {"places": PLACES})}


def _candidates(connection: sqlite3.Connection, wanted: list[str]) -> Iterator[tuple[int, str, bytes]]:
    """Entries that may contain every text in ``wanted``: by the index, or all of them where that cannot help."""
    known = [w for w in wanted if len(w) >= _SHORTEST]
    join = "JOIN sessions s ON s.key = e.place / ?"
    if known:
        match = " AND ".join('"{}"'.format(_clean(w).replace('"', '""')) for w in known)
        sql = f"""SELECT e.place, s.id, e.line FROM words w JOIN entries e ON e.place = w.rowid {join}
            WHERE words MATCH ? ORDER BY w.rank, e.place DESC"""  # noqa: S608 - no value is in it
        yield from connection.execute(sql, (PLACES, match))
    else:
        yield from connection.execute(
            f"SELECT e.place, s.id, e.line FROM entries e {join} ORDER BY e.place DESC",  # noqa: S608
            (PLACES,),
        )


def _hit(session_id: str, line: bytes, wanted: list[str]) -> Mapping[str, Any] | None:
    entry = decode_entry(line)
    texts = list(text_in(entry))
    if not all(any(w in text.casefold() for text in texts) for w in wanted):
        return None
    shown = next(found for text in texts if (found := excerpt(text, wanted[0])) is not None)
    return {"session_id": session_id, "entry_id": entry.id, "ts": entry.ts, "excerpt": shown}
