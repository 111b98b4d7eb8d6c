"""The session store contract: where the entries of a session live (spec, section 12)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..frozen import EMPTY

__all__ = ["SESSION_VERSION", "SessionEntry", "SessionHandle", "SessionHeader", "SessionStore"]

SESSION_VERSION = 1


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """The first line of a session: ``{type: "session", version, id, created, cwd, parent_session?}``."""

    id: str
    created: float
    cwd: str = ""
    version: int = SESSION_VERSION
    parent_session: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One entry of a session's tree.

    Attributes:
        seq: position in the session, counted from 1.
        id: unique in the session. ``parent_id``: the entry it follows; ``None`` for the root.
        type: message, model_change, thinking_level_change, compaction, branch_summary, custom, custom_message,
            suspension, label, session_info, leaf, usage.
        ts: seconds since the epoch.
        data: the rest of the entry, JSON values only.
    """

    seq: int
    id: str
    parent_id: str | None
    type: str
    ts: float
    data: Mapping[str, Any] = EMPTY


class SessionHandle(ABC):
    """One open session. ``read_only`` sessions refuse ``append``."""

    header: SessionHeader
    location: str | None = None
    read_only: bool = False

    @abstractmethod
    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write ``entry`` at the end; with ``sync`` it is on the disk when this returns.

        Raises:
            SessionError: the session is read-only, closed, or the disk refuses.
        """

    @abstractmethod
    def entries(self) -> Sequence[SessionEntry]:
        """All entries in the order they were written."""

    @abstractmethod
    async def close(self) -> None:
        """Flush, give the writer's lock back. Idempotent."""


class SessionStore(ABC):
    """Keeps sessions. Brought in by ``register_session_stores``; the core has one in memory."""

    @abstractmethod
    async def create(self, header: SessionHeader) -> SessionHandle:
        """Start a session; it exists on the disk before the first entry.

        Raises:
            SessionError: the id exists, or the place cannot be written.
        """

    @abstractmethod
    async def open(self, session_id: str, *, read_only: bool = False) -> SessionHandle:
        """Open an existing session for writing (one writer at a time).

        Raises:
            SessionError: there is no such session. SessionLocked: another process writes it. SessionCorrupt: a line in
            its middle is broken.
        """

    @abstractmethod
    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Known sessions, newest first: ``id, created, updated, cwd, title, messages, location``; broken ones have ``error``."""

    @abstractmethod
    def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Entries that contain ``query``, newest session first: ``session_id, entry_id, ts, excerpt``."""

    async def close(self) -> None:
        """Release what the store holds."""
