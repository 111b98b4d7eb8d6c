"""The session store suite: what is written is there, in order, once, and by one writer (spec, section 12)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

import pytest

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, SessionStore
from skillkit_core.descriptors import load_object
from skillkit_core.errors import SessionError, SessionLocked

from .running import run

__all__ = ["SessionStoreConformance"]

DATA = {
    "text": 'Zürich 🌨 "quoted"\nnext line\u2028and more',
    "nested": {"list": [1, 2.5, None, True, {"deep": []}]},
    "number": 2**53,
}

_WRITER = """
import asyncio, sys
from skillkit_core.contracts.session_store import SessionEntry, SessionHeader
from skillkit_core.descriptors import load_object
from pathlib import Path

async def main():
    store = load_object(sys.argv[1])(Path(sys.argv[2]))
    handle = await store.create(SessionHeader("theirs", 1000.0, "/work"))
    await handle.append(SessionEntry(1, "e1", None, "custom", 1001.0, {"n": 1}), sync=True)
    print("ready", flush=True)
    sys.stdin.readline()
    await handle.close()
    await store.close()

asyncio.run(main())
"""

Body = Callable[[SessionStore], Coroutine[Any, Any, None]]


def entry(seq: int, **data: Any) -> SessionEntry:
    """The ``seq``-th entry of a chain."""
    return SessionEntry(seq, f"e{seq}", f"e{seq - 1}" if seq > 1 else None, "custom", 1000.0 + seq, data)


def said(seq: int, text: str) -> SessionEntry:
    """A user message."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return SessionEntry(
        seq, f"e{seq}", f"e{seq - 1}" if seq > 1 else None, "message", 1000.0 + seq, {"message": message}
    )


class SessionStoreConformance:
    """Subclass it and give ``opener``, or override the fixture ``make_store``.

    Attributes:
        opener: import string of a callable that gives a store in the directory it is passed
            (``"skillkit_acme.store:AcmeStore"``); with it, checks with a second process run too.
        durable: whether a new store object at the same place finds what an earlier one wrote.
    """

    opener: ClassVar[str | None] = None
    durable: ClassVar[bool] = True

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], SessionStore]:
        """A callable that gives a store; every call in one test means the same place."""
        if self.opener is None:
            raise NotImplementedError("give opener = 'module:callable', or the fixture make_store")
        create = load_object(self.opener)
        return lambda: create(tmp_path / "sessions")

    def within(self, make_store: Callable[[], SessionStore], body: Body) -> None:
        """Run ``body`` with a store."""

        async def work() -> None:
            store = make_store()
            try:
                await body(store)
            finally:
                await store.close()

        run(work())

    def reopened(self, make_store: Callable[[], SessionStore], body: Body) -> None:
        """As :meth:`within`, with a new store object; skipped where a store forgets."""
        if not self.durable:
            pytest.skip("the store keeps nothing beyond its own life")
        self.within(make_store, body)

    def test_a_new_session_exists_before_its_first_entry(self, make_store: Callable[[], SessionStore]) -> None:
        """Spec, section 13: a crash must not lose the session."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0, "/work", title="First"))
            assert (handle.header.id, handle.header.cwd, handle.header.title) == ("s1", "/work", "First")
            assert list(handle.entries()) == []
            assert not handle.read_only
            assert [s["id"] for s in await store.list()] == ["s1"]
            await handle.close()

        self.within(make_store, body)

    def test_entries_come_back_as_they_were_written(self, make_store: Callable[[], SessionStore]) -> None:
        """In order, with every value."""
        written = [
            entry(1, **DATA),
            SessionEntry(2, "e2", "e1", "label", 1002.5, {"label": "here"}),
            SessionEntry(3, "e3", "e1", "message", 1003.0, {"message": {"role": "user", "content": []}}),
        ]

        async def write(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0, "/work", parent_session="s0"))
            for n, e in enumerate(written):
                await handle.append(e, sync=n == 0)
            assert list(handle.entries()) == written
            await handle.close()

        async def read(store: SessionStore) -> None:
            handle = await store.open("s1", read_only=True)
            assert list(handle.entries()) == written
            assert (handle.header.created, handle.header.parent_session) == (1000.0, "s0")
            await handle.close()

        self.within(make_store, write)
        self.reopened(make_store, read)

    def test_a_session_is_written_on_where_it_ended(self, make_store: Callable[[], SessionStore]) -> None:
        """Open, append, open again."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.append(entry(1))
            await handle.close()
            again = await store.open("s1")
            await again.append(entry(2))
            await again.close()
            reader = await store.open("s1", read_only=True)
            assert [e.seq for e in reader.entries()] == [1, 2]
            await reader.close()

        self.within(make_store, body)

    def test_an_id_is_used_once(self, make_store: Callable[[], SessionStore]) -> None:
        """Creating over a session would destroy it."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.append(entry(1))
            await handle.close()
            with pytest.raises(SessionError):
                await store.create(SessionHeader("s1", 2000.0))
            reader = await store.open("s1", read_only=True)
            assert len(reader.entries()) == 1
            await reader.close()

        self.within(make_store, body)

    def test_an_unknown_session_is_an_error_that_names_it(self, make_store: Callable[[], SessionStore]) -> None:
        """Nothing is created by asking."""

        async def body(store: SessionStore) -> None:
            with pytest.raises(SessionError, match="nobody"):
                await store.open("nobody")
            assert list(await store.list()) == []

        self.within(make_store, body)

    def test_an_id_never_leads_out_of_the_store(self, make_store: Callable[[], SessionStore], tmp_path: Path) -> None:
        """A session id may come from a stranger."""
        before = {p for p in tmp_path.rglob("*") if "escaped" in p.name}

        async def body(store: SessionStore) -> None:
            try:
                handle = await store.create(SessionHeader("../escaped", 1000.0))
            except SessionError:
                return
            await handle.close()

        self.within(make_store, body)
        inside = tmp_path / "sessions"
        escaped = {p for p in tmp_path.rglob("*") if "escaped" in p.name and inside not in p.parents}
        assert escaped == before

    def test_readers_do_not_disturb_the_writer(self, make_store: Callable[[], SessionStore]) -> None:
        """A reader sees what was written before it came, and may write nothing."""

        async def body(store: SessionStore) -> None:
            writer = await store.create(SessionHeader("s1", 1000.0))
            await writer.append(entry(1), sync=True)
            reader = await store.open("s1", read_only=True)
            assert reader.read_only
            assert [e.id for e in reader.entries()] == ["e1"]
            with pytest.raises(SessionError):
                await reader.append(entry(2))
            await reader.close()
            await writer.append(entry(2))
            assert len(writer.entries()) == 2
            await writer.close()

        self.within(make_store, body)

    def test_one_session_has_one_writer(self, make_store: Callable[[], SessionStore]) -> None:
        """The second is refused, until the first closes."""

        async def body(store: SessionStore) -> None:
            first = await store.create(SessionHeader("s1", 1000.0))
            with pytest.raises(SessionLocked):
                await store.open("s1")
            await first.append(entry(1))
            await first.close()
            second = await store.open("s1")
            await second.append(entry(2))
            await second.close()

        self.within(make_store, body)

    def test_a_closed_session_takes_nothing(self, make_store: Callable[[], SessionStore]) -> None:
        """Closing twice is fine, writing is not."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.close()
            await handle.close()
            with pytest.raises(SessionError):
                await handle.append(entry(1))

        self.within(make_store, body)

    def test_the_list_is_newest_first_and_says_what_people_need(self, make_store: Callable[[], SessionStore]) -> None:
        """By the last change; ``limit`` cuts the end."""

        async def body(store: SessionStore) -> None:
            for n, name in enumerate(("a", "b", "c")):
                handle = await store.create(SessionHeader(name, 1000.0 + n, f"/work/{name}"))
                await handle.append(said(1, f"hello from {name}"))
                await handle.close()
            listed = await store.list()
            assert {s["id"] for s in listed} == {"a", "b", "c"}
            assert [s["updated"] for s in listed] == sorted((s["updated"] for s in listed), reverse=True)
            assert {"id", "created", "updated", "cwd", "title", "messages", "location"} <= set(listed[0])
            by_id = {s["id"]: s for s in listed}
            assert (by_id["b"]["created"], by_id["b"]["cwd"], by_id["b"]["messages"]) == (1001.0, "/work/b", 1)
            assert [s["id"] for s in await store.list(limit=2)] == [s["id"] for s in listed][:2]

        self.within(make_store, body)

    def test_search_finds_what_was_said(self, make_store: Callable[[], SessionStore]) -> None:
        """With the place where it was said; the limit holds."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.append(said(1, "The parser is broken in Zürich."))
            await handle.append(said(2, "Nothing to see."))
            await handle.append(said(3, "The parser is mended."))
            await handle.close()
            found = [hit async for hit in store.search("parser")]
            assert {(h["session_id"], h["entry_id"]) for h in found} == {("s1", "e1"), ("s1", "e3")}
            assert all("parser" in h["excerpt"] and "ts" in h for h in found)
            assert len([hit async for hit in store.search("parser", limit=1)]) == 1
            assert [h["entry_id"] async for h in store.search("Zürich")] == ["e1"]
            assert [h async for h in store.search("elephant")] == []

        self.within(make_store, body)

    @pytest.mark.parametrize("query", ['"', "'", "%", "*", "(", "a AND", "NEAR(", "\\", "--", ":"])
    def test_no_query_is_a_syntax_error(self, make_store: Callable[[], SessionStore], query: str) -> None:
        """People search for punctuation."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.append(said(1, f"before {query} after"))
            await handle.close()
            assert isinstance([hit async for hit in store.search(query)], list)

        self.within(make_store, body)

    # -- with a second process

    @pytest.fixture
    def writer(self, make_store: Callable[[], SessionStore], tmp_path: Path) -> Any:
        """Another process that has created the session ``theirs``, written one entry and still holds it."""
        if self.opener is None or not self.durable:
            pytest.skip("needs 'opener', so that another process can open the same store")
        argv = [sys.executable, "-c", _WRITER, self.opener, str(tmp_path / "sessions")]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield process
            process.kill()

    def test_a_session_of_another_process_is_locked(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """Edge case 40: refused for writing, open for reading, free when the other is done."""

        async def body(store: SessionStore) -> None:
            with pytest.raises(SessionLocked):
                await store.open("theirs")
            reader = await store.open("theirs", read_only=True)
            assert [e.id for e in reader.entries()] == ["e1"]
            await reader.close()
            assert writer.stdin
            writer.stdin.write("done\n")
            writer.stdin.flush()
            assert writer.wait(30) == 0
            mine = await store.open("theirs")
            await mine.append(entry(2))
            await mine.close()

        self.within(make_store, body)

    def test_the_lock_of_a_dead_process_is_taken_over(
        self, make_store: Callable[[], SessionStore], writer: subprocess.Popen[str]
    ) -> None:
        """Edge case 38 and 40: kill -9 loses no entry and locks nobody out."""
        writer.send_signal(signal.SIGKILL)
        writer.wait(30)

        async def body(store: SessionStore) -> None:
            mine = await store.open("theirs")
            assert [e.id for e in mine.entries()] == ["e1"]
            await mine.append(entry(2))
            assert len(mine.entries()) == 2
            await mine.close()

        self.within(make_store, body)
