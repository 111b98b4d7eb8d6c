"""What the checks of a session store share: the place of the store, and entries to write."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

import pytest

from skillkit_core.contracts.session_store import SessionEntry, SessionStore
from skillkit_core.descriptors import load_object

from .running import run

__all__ = ["StoreCase", "entry", "said"]

Body = Callable[[SessionStore], Coroutine[Any, Any, None]]


def entry(seq: int, **data: Any) -> SessionEntry:
    """The ``seq``-th entry of a chain."""
    return SessionEntry(seq, f"e{seq}", f"e{seq - 1}" if seq > 1 else None, "custom", 1000.0 + seq, data)


def said(seq: int, text: str, *, parent: str | None = None) -> SessionEntry:
    """A user message; it follows the one before unless ``parent`` says otherwise."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    after = parent or (f"e{seq - 1}" if seq > 1 else None)
    return SessionEntry(seq, f"e{seq}", after, "message", 1000.0 + seq, {"message": message})


class StoreCase:
    """The store under test; see :class:`~skillkit_testkit.conformance.SessionStoreConformance`."""

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
