"""A session whose writer may be told to stop: nothing is written any more, and whoever goes on finds it as after a crash."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionHeader, SessionStore
from skillkit_core.errors import SessionTaken

__all__ = ["Fence", "FencedStore"]


class Fence(SessionHandle):
    """Passes everything on to a session as long as this worker holds its lease.

    Args:
        handle: the open session.
        held: returns whether the lease is held.
    """

    def __init__(self, handle: SessionHandle, held: Callable[[], bool]) -> None:
        self._handle, self._held = handle, held
        self.header, self.location, self.read_only = handle.header, handle.location, handle.read_only
        self.flush_interval = handle.flush_interval
        self.down = False

    def _check(self) -> None:
        if self.down or not self._held():
            self.down = True
            raise SessionTaken(
                "this worker may not write to the session any more",
                where=self.location,
                hint="another worker goes on with it",
            )

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write an entry, or raise :class:`SessionTaken`."""
        self._check()
        try:
            await self._handle.append(entry, sync=sync)
        except SessionTaken:
            self.down = True
            raise

    async def sync(self) -> None:
        """Wait for the disk; no tool with effects runs behind this where the lease is lost."""
        self._check()
        await self._handle.sync()

    def begin_sync(self) -> None:
        """Begin to wait for the disk."""
        self._check()
        self._handle.begin_sync()

    def entries(self) -> Sequence[SessionEntry]:
        """Return all entries."""
        return self._handle.entries()

    async def close(self) -> None:
        """Release the session."""
        await self._handle.close()


class FencedStore(SessionStore):
    """A store whose sessions are fenced.

    Attributes:
        fence: the session that was opened last.
    """

    fence: Fence | None = None

    def __init__(self, store: SessionStore, held: Callable[[], bool]) -> None:
        self._store, self._held = store, held

    async def create(self, header: SessionHeader) -> SessionHandle:
        """Start a session."""
        self.fence = Fence(await self._store.create(header), self._held)
        return self.fence

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> SessionHandle:
        """Open a session."""
        self.fence = Fence(await self._store.open(session_id, read_only=read_only), self._held)
        return self.fence

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the sessions."""
        return await self._store.list(limit=limit)

    async def stamps(self) -> Mapping[str, str]:
        """Return what differs after a session has changed."""
        return await self._store.stamps()

    def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Search the sessions."""
        return self._store.search(query, limit=limit)
