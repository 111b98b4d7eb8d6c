"""Checks of finding: the list of sessions, and the search in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, SessionStore
from skillkit_core.errors import UnknownSession, UsageError

from .session_case import StoreCase, said

__all__ = ["FindingChecks"]


class FindingChecks(StoreCase):
    """How people find a session again."""

    def test_the_list_is_newest_first_and_says_what_people_need(self, make_store: Callable[[], SessionStore]) -> None:
        """By the last change; ``limit`` cuts the end."""

        async def body(store: SessionStore) -> None:
            for n, name in enumerate(("a", "b", "c")):
                handle = await store.create(SessionHeader(name, 1000.0 + n, f"/srv/{name}"))
                await handle.append(said(1, f"hello from {name}"))
                await handle.close()
            listed = await store.list()
            assert {s["id"] for s in listed} == {"a", "b", "c"}
            assert [s["updated"] for s in listed] == sorted((s["updated"] for s in listed), reverse=True)
            wanted = {"id", "created", "updated", "cwd", "title", "messages", "suspended", "location", "parent_session"}
            assert {*wanted, "nested"} <= set(listed[0])
            by_id = {s["id"]: s for s in listed}
            assert (by_id["b"]["created"], by_id["b"]["cwd"], by_id["b"]["messages"]) == (1001.0, "/srv/b", 1)
            assert [s["id"] for s in await store.list(limit=2)] == [s["id"] for s in listed][:2]

        self.within(make_store, body)

    def test_the_list_tells_sessions_of_agents_from_copies(self, make_store: Callable[[], SessionStore]) -> None:
        """Both name a parent; a copy of an agent's session is nobody's agent."""

        async def body(store: SessionStore) -> None:
            await (await store.create(SessionHeader("asks", 1000.0))).close()
            agent = SessionHeader("agent", 1001.0, parent_session="asks", nested=True)
            await (await store.create(agent)).close()
            await (await store.fork("agent", None, new_id="copy")).close()
            rows = {row["id"]: (row["parent_session"], row["nested"]) for row in await store.list()}
            assert rows == {"asks": (None, False), "agent": ("asks", True), "copy": ("agent", False)}
            handle = await store.open("agent", read_only=True)
            assert handle.header == agent
            await handle.close()

        self.within(make_store, body)

    def test_a_session_is_found_by_the_start_of_its_id(self, make_store: Callable[[], SessionStore]) -> None:
        """Where only one starts so; its whole id is always enough."""

        async def body(store: SessionStore) -> None:
            for name in ("ab", "abc", "b1"):
                await (await store.create(SessionHeader(name, 1000.0))).close()
            assert sorted(await store.ids()) == ["ab", "abc", "b1"]
            assert [await store.find(name) for name in ("ab", "abc", "b")] == ["ab", "abc", "b1"]
            with pytest.raises(UsageError, match="2 sessions start with 'a'"):
                await store.find("a")
            for unknown in ("x", ""):
                with pytest.raises(UnknownSession):
                    await store.find(unknown)

        self.within(make_store, body)

    def test_a_stamp_differs_after_its_session_has_changed(self, make_store: Callable[[], SessionStore]) -> None:
        """And only then, so that an index reads what is new."""

        async def body(store: SessionStore) -> None:
            assert dict(await store.stamps()) == {}
            handles = [await store.create(SessionHeader(name, 1000.0)) for name in ("a", "b")]
            before = dict(await store.stamps())
            assert set(before) == {"a", "b"}
            for n in (1, 2):
                await handles[1].append(said(n, f"hello {n}"))
                after = dict(await store.stamps())
                assert (after["a"], after["b"] != before["b"]) == (before["a"], True)
                before = after
            for handle in handles:
                await handle.close()
            assert dict(await store.stamps()) == before

        self.within(make_store, body)

    def test_the_list_marks_what_waits_for_a_decision(self, make_store: Callable[[], SessionStore]) -> None:
        """Where the session stands counts: its leaf, and what was said or decided since."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            steps = (
                (said(1, "go"), False),
                (SessionEntry(2, "e2", "e1", "suspension", 1002.0, {"calls": []}), True),
                (SessionEntry(3, "e3", "e2", "label", 1003.0, {"entry_id": "e1", "label": "here"}), True),
                (SessionEntry(4, "e4", "e2", "custom", 1004.0, {"custom_type": "a plugin's"}), True),
                (SessionEntry(5, "e5", "e4", "leaf", 1005.0, {"entry_id": "e1"}), False),
                (SessionEntry(6, "e6", "e1", "leaf", 1006.0, {"entry_id": "e4"}), True),
                (SessionEntry(7, "e7", "e4", "custom", 1007.0, {"custom_type": "suspension_decisions"}), False),
            )
            for entry, suspended in steps:
                await handle.append(entry)
                assert [row["suspended"] for row in await store.list()] == [suspended], entry
            await handle.close()

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
            assert [h["entry_id"] async for h in store.search("zürich")] == ["e1"]
            assert [h["entry_id"] async for h in store.search("ARSER IS MEND")] == ["e3"]
            assert [h async for h in store.search("elephant")] == []
            assert [h async for h in store.search("")] == []

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

    def test_a_search_looks_at_what_is_being_written(self, make_store: Callable[[], SessionStore]) -> None:
        """In open sessions, and again after more was said."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0))
            for n, text in enumerate(("red fox", "red hen", "blue fox"), 1):
                await handle.append(said(n, text))
                assert {h["entry_id"] async for h in store.search(text)} == {f"e{n}"}
            assert {h["entry_id"] async for h in store.search("fox")} == {"e1", "e3"}
            assert [row["messages"] for row in await store.list()] == [3]
            await handle.close()
            assert {h["entry_id"] async for h in store.search("fox")} == {"e1", "e3"}
            assert [row["messages"] for row in await store.list()] == [3]

        self.within(make_store, body)

    def test_the_last_title_counts(self, make_store: Callable[[], SessionStore]) -> None:
        """The header's, until a ``session_info`` entry gives another."""

        async def body(store: SessionStore) -> None:
            handle = await store.create(SessionHeader("s1", 1000.0, title="zero"))
            assert [row["title"] for row in await store.list()] == ["zero"]
            for n, title in enumerate(("one", "two"), 1):
                await handle.append(SessionEntry(n, f"e{n}", None, "session_info", 1000.0 + n, {"title": title}))
                assert [row["title"] for row in await store.list()] == [title]
            await handle.close()
            assert [row["title"] for row in await store.list()] == ["two"]

        self.within(make_store, body)
