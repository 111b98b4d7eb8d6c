"""Checks of whole sessions: restoring one, and forking one at any entry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, SessionStore
from skillkit_core.errors import SessionError, SessionLocked

from .session_case import StoreCase, entry, said

__all__ = ["CopyChecks"]

TREE = [
    said(1, "root"),
    said(2, "left"),
    SessionEntry(3, "e3", "e2", "usage", 1003.0, {"input": 5}),
    SessionEntry(4, "e4", "e2", "leaf", 1004.0, {"entry_id": "e1"}),
    said(5, "right", parent="e1"),
    SessionEntry(6, "e6", "e5", "label", 1006.0, {"entry_id": "e1", "label": "start"}),
    SessionEntry(7, "e7", "e5", "label", 1007.0, {"entry_id": "e2", "label": "away"}),
    said(8, "more right", parent="e5"),
]


class CopyChecks(StoreCase):
    """Sessions that are written as a whole."""

    async def planted(self, store: SessionStore) -> None:
        """The session ``s1``: two branches, labels, a ledger."""
        await (await store.restore(SessionHeader("s1", 1000.0, "/work", title="Tree"), TREE)).close()

    def test_a_restored_session_is_whole_and_goes_on(self, make_store: Callable[[], SessionStore]) -> None:
        """Open for writing when it is there."""

        async def body(store: SessionStore) -> None:
            handle = await store.restore(SessionHeader("s1", 1000.0, "/work", parent_session="s0"), TREE)
            assert list(handle.entries()) == TREE and not handle.read_only
            with pytest.raises(SessionLocked):
                await store.open("s1")
            await handle.append(entry(9))
            await handle.close()
            reader = await store.open("s1", read_only=True)
            assert (reader.header.cwd, reader.header.parent_session) == ("/work", "s0")
            assert list(reader.entries()) == [*TREE, entry(9)]
            await reader.close()
            assert [h["entry_id"] async for h in store.search("more right")] == ["e8"]

        self.within(make_store, body)

    def test_restoring_never_overwrites(self, make_store: Callable[[], SessionStore]) -> None:
        """The old session stays as it was; a failed try leaves nothing behind."""

        async def body(store: SessionStore) -> None:
            await self.planted(store)
            with pytest.raises(SessionError):
                await store.restore(SessionHeader("s1", 2000.0), [entry(1)])
            reader = await store.open("s1", read_only=True)
            assert list(reader.entries()) == TREE
            await reader.close()
            assert [row["id"] for row in await store.list()] == ["s1"]
            await (await store.open("s1")).close()

        self.within(make_store, body)

    @pytest.mark.parametrize(
        ("at", "kept"),
        [("e8", ["e1", "e5", "e6", "e8"]), ("e2", ["e1", "e2", "e6", "e7"]), ("e1", ["e1", "e6"]), (None, [])],
    )
    def test_a_fork_has_the_way_to_its_entry_and_the_labels_on_it(
        self, make_store: Callable[[], SessionStore], at: str | None, kept: list[str]
    ) -> None:
        """Edge case 41: at a tip, on another branch, at the root, before the root."""

        async def body(store: SessionStore) -> None:
            await self.planted(store)
            fork = await store.fork("s1", at, new_id="s2")
            assert [e.id for e in fork.entries()] == kept
            known = {e.id for e in fork.entries()}
            assert all(e.parent_id in known for e in fork.entries()[1:])
            assert {e.data["entry_id"] for e in fork.entries() if e.type == "label"} <= known
            header = fork.header
            assert (header.id, header.parent_session, header.cwd, header.title) == ("s2", "s1", "/work", "Tree")
            await fork.append(entry(9))
            await fork.close()
            old = await store.open("s1")
            assert list(old.entries()) == TREE
            await old.close()

        self.within(make_store, body)

    def test_a_note_stands_for_the_entry_before_it(self, make_store: Callable[[], SessionStore]) -> None:
        """A usage entry for the answer it counts, a leaf entry for the place it points to."""

        async def body(store: SessionStore) -> None:
            await self.planted(store)
            for at, last in (("e3", "e2"), ("e4", "e1"), ("e7", "e5")):
                fork = await store.fork("s1", at)
                path = [e for e in fork.entries() if e.type == "message"]
                assert path[-1].id == last
                await fork.close()

        self.within(make_store, body)

    def test_a_session_is_forked_while_it_is_written(self, make_store: Callable[[], SessionStore]) -> None:
        """Its writer keeps the lock and does not notice."""

        async def body(store: SessionStore) -> None:
            writer = await store.restore(SessionHeader("s1", 1000.0), TREE)
            fork = await store.fork("s1", "e8")
            await fork.close()
            await writer.append(entry(9))
            await writer.close()
            assert fork.header.id != "s1"

        self.within(make_store, body)

    def test_a_fork_at_nothing_is_refused_and_leaves_nothing(self, make_store: Callable[[], SessionStore]) -> None:
        """No such entry, no such session, an id that is taken."""

        async def body(store: SessionStore) -> None:
            await self.planted(store)
            with pytest.raises(SessionError, match="e99"):
                await store.fork("s1", "e99", new_id="s2")
            with pytest.raises(SessionError, match="nobody"):
                await store.fork("nobody", "e1", new_id="s2")
            with pytest.raises(SessionError):
                await store.fork("s1", "e1", new_id="s1")
            assert [row["id"] for row in await store.list()] == ["s1"]

        self.within(make_store, body)
