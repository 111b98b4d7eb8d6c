"""The store ``sqlite``: what the contract's suite cannot see from outside."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from skillkit_sessions import SqliteStore
from skillkit_sessions.database import SCHEMA

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader
from skillkit_core.errors import SessionCorrupt, SessionError, SessionLocked, UnknownSession
from skillkit_core.frozen import freeze


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(directory=tmp_path / "sessions")


@pytest.fixture
def work(store, go):
    """Run a function of the store, and close that."""

    def call(body):
        async def run():
            try:
                return await body(store)
            finally:
                await store.close()

        return go(run())

    return call


async def planted(store, entries, session_id="s1"):
    await (await store.restore(SessionHeader(session_id, 1.0, "/work"), entries)).close()


async def found(store, query, **options):
    return [hit["entry_id"] async for hit in store.search(query, **options)]


def raw(store, sql, *values):
    """Ask the database behind the store's back."""
    with contextlib.closing(sqlite3.connect(store.database.path)) as connection:
        rows = connection.execute(sql, values).fetchall()
        connection.commit()
        return rows


def test_asking_creates_nothing(store, work):
    async def body(store):
        assert list(await store.list()) == [] and await found(store, "x") == []
        with pytest.raises(UnknownSession, match="no sessions yet"):
            await store.open("s1")

    work(body)
    assert not store.directory.exists()


def test_only_the_user_can_read_it(store, work, entry):
    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        await handle.append(entry(1), sync=True)
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in store.directory.iterdir() if p.is_file()}
        assert set(modes) == {"sessions.db", "sessions.db-wal", "sessions.db-shm", "s1.lock"}
        assert set(modes.values()) == {0o600}
        assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
        await handle.close()

    work(body)
    assert [p.name for p in store.directory.iterdir() if p.is_file()] == ["sessions.db"]


def test_an_entry_is_seen_by_everybody_before_it_is_synced(store, work, entry):
    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        await handle.append(entry(1))
        assert raw(store, "SELECT count(*) FROM entries") == [(1,)]
        await handle.close()

    work(body)


@pytest.mark.parametrize(("policy", "expected"), [("auto", 1), ("always", 2), ("never", 0)])
def test_the_policy_says_what_is_synced(tmp_path, go, entry, monkeypatch, policy, expected):
    """Two entries, one of them with ``sync``; the log is what is synced."""
    synced = []

    def fsync(descriptor):
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if name.endswith("-wal"):
            synced.append(name)

    async def body():
        store = SqliteStore(directory=tmp_path / "sessions", fsync=policy)
        handle = await store.create(SessionHeader("s1", 1.0))
        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(os, "fdatasync", fsync, raising=False)
        await handle.append(entry(1), sync=True)
        await handle.append(entry(2))
        assert len(synced) == expected
        await handle.close()
        await store.close()

    go(body())


def test_a_process_that_is_killed_loses_nothing_that_was_accepted(store, work):
    code = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from skillkit_core import SessionEntry, SessionHeader\n"
        "from skillkit_sessions import SqliteStore\n"
        "async def main():\n"
        "    store = SqliteStore(directory=Path(sys.argv[1]))\n"
        "    handle = await store.create(SessionHeader('s1', 1.0))\n"
        "    for n in range(1, 501):\n"
        "        await handle.append(SessionEntry(n, f'e{n}', None, 'custom', 1.0, {'n': n}))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(store.directory)], check=False).returncode == -9

    async def body(store):
        assert [row["id"] for row in await store.list()] == ["s1"]
        handle = await store.open("s1")
        assert [e.data["n"] for e in handle.entries()] == list(range(1, 501))
        await handle.append(SessionEntry(501, "e501", None, "custom", 1.0, {}))
        await handle.close()

    work(body)


def test_while_another_process_writes_the_loop_goes_on(store, work, entry):
    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        with contextlib.closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            one = asyncio.create_task(handle.append(entry(1)))
            two = asyncio.create_task(handle.append(entry(2)))
            for _ in range(3):
                await asyncio.sleep(0)
            assert not one.done() and list(handle.entries()) == []
            other.execute("COMMIT")
            await asyncio.gather(one, two)
        assert [e.seq for e in handle.entries()] == [1, 2]
        await handle.close()
        reader = await store.open("s1", read_only=True)
        assert [e.seq for e in reader.entries()] == [1, 2]

    work(body)


def test_an_append_that_is_cancelled_while_it_waits_was_never_there(store, work, entry):
    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        with contextlib.closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            task = asyncio.create_task(handle.append(entry(1)))
            for _ in range(3):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            other.execute("COMMIT")
        await handle.append(entry(2))
        assert [e.seq for e in handle.entries()] == [2]
        await handle.close()
        assert [e.seq for e in (await store.open("s1", read_only=True)).entries()] == [2]

    work(body)


def test_a_writer_that_goes_round_the_lock_is_noticed(store, work, entry):
    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        await handle.append(entry(1))
        raw(store, "INSERT INTO entries(place, type, ts, line) SELECT max(place) + 1, 'custom', 1.0, x'' FROM entries")
        with pytest.raises(SessionError, match="somebody else has written"):
            await handle.append(entry(2))
        assert len(handle.entries()) == 1
        await handle.close()

    work(body)


def test_different_sessions_are_written_at_once_from_many_loops(store, go, entry):
    def write(name):
        async def body():
            handle = await store.create(SessionHeader(name, 1.0))
            for n in range(1, 101):
                await handle.append(entry(n), sync=n % 50 == 0)
            await handle.close()

        asyncio.run(body())

    threads = [threading.Thread(target=write, args=(f"s{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    async def check():
        assert sorted((row["id"], row["messages"]) for row in await store.list()) == [(f"s{n}", 100) for n in range(4)]
        await store.close()

    go(check())


# --- foreign and broken -------------------------------------------------------------------------------------------


def test_a_newer_schema_is_only_read(store, work, entry):
    async def body(store):
        await planted(store, [entry(1, "needle")])
        raw(store, f"PRAGMA user_version={SCHEMA + 1}")
        handle = await store.open("s1")
        assert handle.read_only and len(handle.entries()) == 1
        with pytest.raises(SessionError, match=f"schema version {SCHEMA + 1}.*upgrade SkillKit"):
            await handle.append(entry(2))
        with pytest.raises(SessionError, match="schema version"):
            await store.create(SessionHeader("s2", 1.0))
        [row] = [row async for row in store.search("needle")]
        assert row["session_id"] == "s1" and row["entry_id"] is None
        assert f"not all of it is in the index: its database has schema version {SCHEMA + 1}" in row["error"]
        assert row["error"].endswith("upgrade SkillKit") and len(await store.list()) == 1

    work(body)


def test_a_file_that_is_no_database_is_named(store, work):
    store.directory.mkdir()
    store.database.path.write_bytes(b"garbage " * 1000)

    async def body(store):
        for call in (store.list(), store.open("s1"), store.create(SessionHeader("s1", 1.0))):
            with pytest.raises(SessionCorrupt, match=r"sessions\.db: the session database is broken"):
                await call

    work(body)


def test_the_database_of_another_program_is_left_alone(store, work):
    store.directory.mkdir()
    with contextlib.closing(sqlite3.connect(store.database.path)) as other:
        other.execute("CREATE TABLE theirs(x)")

    async def body(store):
        with pytest.raises(SessionError, match="another program"):
            await store.create(SessionHeader("s1", 1.0))

    work(body)
    assert raw(store, "SELECT name FROM sqlite_master") == [("theirs",)]


def test_a_broken_entry_is_named_and_spoils_only_its_session(store, work, entry):
    async def body(store):
        await planted(store, [entry(1), entry(2), entry(3)], "s1")
        await planted(store, [entry(1, "needle")], "s2")
        raw(
            store,
            "UPDATE entries SET line=x'7b' WHERE place IN (SELECT place FROM entries ORDER BY place LIMIT 1 OFFSET 1)",
        )
        for read_only in (True, False):
            with pytest.raises(SessionCorrupt, match="session 's1': entry 2 is broken"):
                await store.open("s1", read_only=read_only)
        assert await found(store, "needle") == ["e1"]
        assert len(await store.list()) == 2
        assert not list(store.directory.glob("*.lock"))

    work(body)


def test_a_search_names_a_broken_entry_that_may_be_what_was_looked_for(store, work, entry):
    async def body(store):
        await planted(store, [entry(1, "needle"), entry(2), entry(3, "needle")], "s1")
        await planted(store, [entry(1, "needle")], "s2")
        second = "place IN (SELECT place FROM entries ORDER BY place LIMIT 1 OFFSET 1)"
        raw(store, f'UPDATE entries SET line=CAST(\'{{"type":"message", a needle\' AS BLOB) WHERE {second}')
        for query in ("needle", "ne", "a needle", "needle message"):
            *hits, row = [row async for row in store.search(query)]
            if query in ("needle", "ne"):
                assert sorted((hit["session_id"], hit["entry_id"]) for hit in hits) == [
                    ("s1", "e1"),
                    ("s1", "e3"),
                    ("s2", "e1"),
                ]
            assert row["session_id"] == "s1" and "session 's1': entry 2 is broken" in row["error"]
            assert row["error"].endswith("restore a copy of the database")
        assert [row async for row in store.search("elsewhere")] == []

    work(body)


def test_a_broken_header_is_in_the_list(store, work):
    async def body(store):
        await planted(store, [])
        raw(store, "UPDATE sessions SET header=x'7b7d'")
        [row] = await store.list()
        assert row["id"] == "s1" and "not a session header" in row["error"]

    work(body)


# --- search -------------------------------------------------------------------------------------------------------


def test_hits_are_ranked_and_those_with_the_words_as_given_come_first(store, work, entry):
    async def body(store):
        texts = [
            "fox " + "and much else that is said here " * 20,
            "the red fox",
            "a fox, and it is red",
            "fox fox fox",
        ]
        await planted(store, [entry(n, text) for n, text in enumerate(texts, 1)])
        assert await found(store, "fox") == ["e4", "e2", "e3", "e1"]
        assert await found(store, "red fox") == ["e2", "e3"]
        assert sorted(await found(store, "RED  FOX")) == ["e2", "e3"]
        assert await found(store, "fox", limit=2) == ["e4", "e2"]

    work(body)


@pytest.mark.parametrize("query", ["ro", "%", "ß", "日本", "rot fo"])
def test_words_that_are_too_short_for_the_index_are_found_all_the_same(store, work, entry, query):
    async def body(store):
        await planted(store, [entry(1, "nothing"), entry(2, "rot und for 100% Spaß mit 日本語")])
        assert await found(store, query) == ["e2"]

    work(body)


def test_what_a_crash_left_out_of_the_index_is_taken_in(store, work, entry):
    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        for n in range(1, 4):
            await handle.append(entry(n, f"word{n}"))
        handle._lock.release()  # as the kernel does for a dead process; nobody closed the session
        assert await found(store, "word2") == ["e2"]
        again = await store.open("s1")
        await again.append(entry(4, "word2 again"))
        await again.close()
        assert sorted(await found(store, "word2")) == ["e2", "e4"]
        assert raw(store, "SELECT messages FROM sessions") == [(4,)]

    work(body)


def test_more_entries_than_a_batch_are_indexed_once(store, work, entry):
    async def body(store):
        for name in ("s1", "s2"):
            await planted(store, [entry(n, f"item {n:05}") for n in range(1, 3002)], name)
        assert await found(store, "item 03001") == ["e3001", "e3001"]
        assert raw(store, "SELECT count(*) FROM words_docsize") == [(6002,)]
        assert [row["messages"] for row in await store.list()] == [3001, 3001]

    work(body)


def test_text_that_sqlite_does_not_take_is_searched_without_it(store, work):
    async def body(store):
        data = freeze({"text": "before\ud800\x00needle"})
        await planted(store, [SessionEntry(1, "e1", None, "custom", 1.0, data)])
        assert (await store.open("s1", read_only=True)).entries()[0].data == data
        assert await found(store, "needle") == ["e1"] and await found(store, "\ud800\x00nee") == ["e1"]

    work(body)


# --- one lock for both stores -------------------------------------------------------------------------------------


def test_the_log_is_moved_into_the_database_while_it_is_written(store, work, monkeypatch):
    monkeypatch.setattr("skillkit_sessions.sqlite_store._CHECKPOINT", 100_000)
    moved = []
    real = store.database.checkpoint
    monkeypatch.setattr(store.database, "checkpoint", lambda: moved.append(real()))

    async def body(store):
        handle = await store.create(SessionHeader("s1", 1.0))
        for n in range(1, 101):
            await handle.append(SessionEntry(n, f"e{n}", None, "custom", 1.0, {"text": "x" * 5000}))
        await asyncio.gather(*store._tasks)
        assert moved and store.database.path.stat().st_size > 100_000
        await handle.close()

    work(body)


def test_a_restore_that_fails_leaves_nothing(store, work, entry, monkeypatch):
    async def body(store):
        bad = SessionEntry(2, "e2", "e1", "custom", None, {})
        with pytest.raises(SessionError, match="NOT NULL"):
            await store.restore(SessionHeader("s1", 1.0), [entry(1), bad])
        assert list(await store.list()) == [] and raw(store, "SELECT count(*) FROM entries") == [(0,)]
        handle = await store.create(SessionHeader("s1", 1.0))
        with pytest.raises(SessionLocked):
            await store.open("s1")
        await handle.close()

    work(body)
