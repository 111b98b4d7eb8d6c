"""The session store of the core: in memory, for tests and for agents that need no file."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from ..contracts.session_store import (
    SessionEntry,
    SessionHandle,
    SessionHeader,
    SessionStore,
    foreign_to,
    suspended_at_end,
    title_of,
)
from ..errors import Owner, SessionError, SessionLocked, UnknownSession


class MemorySession(SessionHandle):
    """A session in memory."""

    flush_interval = 0.0  # what is in memory does not survive the process

    def __init__(
        self, header: SessionHeader, entries: list[SessionEntry], read_only: bool = False, endpoint: str | None = None
    ) -> None:
        self.header = header
        self.endpoint = endpoint
        self.read_only = read_only
        self._entries = entries
        self.closed = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Keep the entry."""
        if self.closed or self.read_only:
            raise SessionError(f"session {self.header.id!r} is {'closed' if self.closed else 'read-only'}")
        self._entries.append(entry)

    def entries(self) -> Sequence[SessionEntry]:
        """Return all entries, oldest first."""
        return self._entries

    async def close(self) -> None:
        """Close this handle, so that another handle may write."""
        self.closed = True


class MemoryStore(SessionStore):
    """A store that keeps its sessions in memory."""

    def __init__(self, host: Any = None) -> None:
        self._sessions: dict[str, tuple[SessionHeader, list[SessionEntry]]] = {}
        self._writers: dict[str, MemorySession] = {}

    async def create(self, header: SessionHeader) -> MemorySession:
        """Make a session."""
        if header.id in self._sessions:
            raise SessionError(f"session {header.id!r} exists already")
        entries: list[SessionEntry] = []
        self._sessions[header.id] = (header, entries)
        handle = self._writers[header.id] = MemorySession(header, entries)
        return handle

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> MemorySession:
        """Open an existing session."""
        if session_id not in self._sessions:
            raise UnknownSession(session_id, self._sessions)
        header, entries = self._sessions[session_id]
        if read_only or foreign_to(header, entries) is not None:
            return MemorySession(header, entries, True)
        writer = self._writers.get(session_id)
        if writer is not None and not writer.closed:
            from socket import gethostname

            raise SessionLocked(
                f"session {session_id!r} is being written by this process already",
                hint="close the agent or session that has it open, or open it read-only",
                owner=Owner(os.getpid(), gethostname(), writer.endpoint),
            )
        handle = self._writers[session_id] = MemorySession(header, entries, endpoint=endpoint)
        return handle

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the sessions, newest first."""
        rows: list[dict[str, Any]] = [
            {
                "id": header.id,
                "created": header.created,
                "updated": entries[-1].ts if entries else header.created,
                "cwd": header.cwd,
                "title": title_of(header, entries),
                "messages": sum(e.type == "message" for e in entries),
                "suspended": suspended_at_end(reversed(entries)),
                "location": None,
                "parent_session": header.parent_session,
                "nested": header.nested,
            }
            for header, entries in self._sessions.values()
        ]
        rows.sort(key=lambda row: row["updated"], reverse=True)
        return rows[:limit]

    async def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the entries whose data contain the text."""
        wanted, found = query.casefold(), 0
        if not wanted:
            return
        for header, entries in reversed(self._sessions.values()):
            for entry in entries:
                text = next((t for t in _texts(entry.data) if wanted in t.casefold()), None)
                if text is not None and found < limit:
                    found += 1
                    place = text.casefold().find(wanted)
                    excerpt = text[max(0, place - 40) : place + 80]
                    yield {"session_id": header.id, "entry_id": entry.id, "ts": entry.ts, "excerpt": excerpt}


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
