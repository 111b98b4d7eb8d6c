"""Checks of writing: what was appended is there, in order, once, and nothing else is (spec, section 12)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skillkit_core.contracts.session_store import SESSION_VERSION, SessionEntry, SessionHeader, SessionStore
from skillkit_core.errors import SessionError, SessionLocked
from skillkit_core.frozen import freeze

from .session_case import StoreCase, entry, said

__all__ = ["WritingChecks"]

DATA = {
    "text": 'Zürich 🌨 "quoted"\nnext line\u2028and more',
    "nested": {"list": [1, 2.5, None, True, {"deep": []}]},
    "number": 2**53,
}
TEXTS = [
    "e\u0301 is not \u00e9",
    "\u202eright to left",
    "a\x00b",
    "\x7f\x85\u2028\u2029",
    "\U0001f469\u200d\U0001f467 \U0001d518",
    "\ufeff\uffff",
    "\r\n\t\\n",
]


async def written(store: SessionStore, name: str, count: int) -> None:
    """Write a session of ``count`` entries and read it."""
    handle = await store.create(SessionHeader(name, 1000.0))
    for n in range(1, count + 1):
        await handle.append(entry(n, n=n))
    await handle.close()
    reader = await store.open(name, read_only=True)
    assert [e.seq for e in reader.entries()] == list(range(1, count + 1))
    assert reader.entries()[-1] == entry(count, n=count)
    await reader.close()


def calls_of(work: Callable[[], None]) -> int:
    """How many calls of functions ``work`` makes, in threads too: a measure that no busy machine disturbs."""
    count = 0

    def step(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        if event == "call" or event == "c_call":
            count += 1

    threading.setprofile(step)
    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


class MadeAnew(Mapping[str, Any]):
    """Data of an entry as the core gives that of messages: a mapping, and no dict."""

    def __getitem__(self, key: str) -> Any:
        return freeze(DATA)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(DATA)

    def __len__(self) -> int:
        return len(DATA)


class WritingChecks(StoreCase):
    """What becomes of what is written."""

    def test_the_data_of_an_entry_may_be_any_mapping(self, make_store: Callable[[], SessionStore]) -> None:
        """That of a message is made from the message when somebody reads it."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("mappings", 1000.0))
            await handle.append(SessionEntry(1, "e1", None, "custom", 1001.0, MadeAnew()), sync=True)
            await handle.close()
            reader = await store.open("mappings", read_only=True)
            assert reader.entries()[0].data == DATA
            await reader.close()

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

    @pytest.mark.parametrize("text", TEXTS)
    def test_any_text_comes_back_as_it_was(self, make_store: Callable[[], SessionStore], text: str) -> None:
        """Character by character; as a key, too."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0, cwd=text, title=text))
            await handle.append(said(1, text))
            await handle.append(entry(2, **{text: text}))
            await handle.close()
            reader = await store.open("s1", read_only=True)
            assert list(reader.entries()) == [said(1, text), entry(2, **{text: text})]
            assert (reader.header.cwd, reader.header.title) == (text, text)
            await reader.close()
            assert [row["title"] for row in await store.list()] == [text]

        self.within(make_store, body)

    def test_ten_times_the_entries_are_ten_times_the_work(self, make_store: Callable[[], SessionStore]) -> None:
        """Edge case 53: 10,000 entries are written and read in linear time."""

        def work(name: str, count: int) -> int:
            async def body() -> None:
                store = make_store()
                await written(store, name, count)
                await store.close()

            return calls_of(lambda: asyncio.run(body()))

        work("warm", 1)
        small, big = work("small", 1_000), work("big", 10_000)
        assert big < 15 * small

    def test_an_entry_of_an_unknown_type_makes_the_session_read_only(
        self, make_store: Callable[[], SessionStore]
    ) -> None:
        """Edge case 39: it is refused when it is written, or the next one who opens the session only reads."""
        unknown = SessionEntry(2, "e2", "e1", "hologram", 1002.0, {"x": 1})

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.append(entry(1))
            try:
                await handle.append(unknown)
            except SessionError:
                await handle.close()
                return
            await handle.close()
            again = await store.open("s1")
            assert again.read_only
            assert list(again.entries()) == [entry(1), unknown]
            with pytest.raises(SessionError):
                await again.append(entry(3))
            await again.close()

        self.within(make_store, body)

    def test_a_session_of_a_newer_format_is_only_read(self, make_store: Callable[[], SessionStore]) -> None:
        """Edge case 39: what a later version wrote is not spoilt by this one."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0, version=SESSION_VERSION + 1))
            await handle.append(entry(1))
            await handle.close()
            for _ in range(2):  # a refused writer leaves no lock behind
                again = await store.open("s1")
                assert again.read_only
                assert (again.header.version, list(again.entries())) == (SESSION_VERSION + 1, [entry(1)])
                with pytest.raises(SessionError):
                    await again.append(entry(2))
                await again.close()

        self.within(make_store, body)

    @pytest.mark.parametrize("harm", ["removed", "replaced"])
    def test_a_session_whose_file_is_taken_away_says_so_and_keeps_everything(
        self, make_store: Callable[[], SessionStore], harm: str
    ) -> None:
        """Spec, section 12: the next sync notices it; skipped where sessions are in no file.

        What is appended afterwards is taken or refused, never lost in silence.
        """

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            await handle.append(entry(1), sync=True)
            place = Path(handle.location or "")
            if not place.is_file():
                pytest.skip("the session is in no file")
            if harm == "replaced":
                other = place.with_name("another")
                other.touch()
                other.replace(place)
            else:
                place.unlink()
            with pytest.raises(SessionError):
                await handle.append(entry(2), sync=True)
            assert handle.entries()[0] == entry(1)
            with contextlib.suppress(SessionError):
                await handle.append(entry(3), sync=True)
                assert handle.entries()[-1] == entry(3)
            await handle.close()

        self.within(make_store, body)

    def test_a_store_says_how_often_an_answer_that_still_arrives_is_written(
        self, make_store: Callable[[], SessionStore]
    ) -> None:
        """``flush_interval`` is a number of seconds, 0 for never; its entries come back like any other."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            assert isinstance(handle.flush_interval, (int, float)) and 0 <= handle.flush_interval < float("inf")
            pieces = [
                said(1, "Tell me."),
                *(SessionEntry(n, f"e{n}", "e1", "partial", 1000.0 + n, {"text": f"piece {n}"}) for n in (2, 3)),
            ]
            for one in pieces:
                await handle.append(one)
            assert [row["messages"] for row in await store.list()] == [1]
            await handle.close()
            reader = await store.open("s1", read_only=True)
            assert list(reader.entries()) == pieces
            await reader.close()

        self.within(make_store, body)
