"""The session store contract: a store keeps the entries of sessions (spec, section 12)."""

from __future__ import annotations

import gc
import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..errors import SessionCorrupt, SessionError, UnknownSession, UsageError
from ..frozen import EMPTY

SESSION_VERSION = 1
DRIVEN = "driven"  # the ``custom_type`` of the entry at which a driver begins with an input, and of one at its end
DECISIONS = "suspension_decisions"  # the ``custom_type`` of the entry that ends a suspension
ASKED, RESOLVED = "approval_asked", "approval_resolved"  # of the entries before and after somebody is asked
OFF_PATH = frozenset({"label", "leaf", "partial", "session_info", "usage"})  # types of entries that no entry follows
ENTRY_TYPES = OFF_PATH | {
    "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom", "custom_message", "suspension",
}  # fmt: skip


def new_session_id(now: float) -> str:
    """Return a session id that sorts by time: seconds in hex, then 40 random bits."""
    return f"{int(now):08x}-{os.urandom(5).hex()}"


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """The first line of a session, which is a copy of ``parent_session``, or if ``nested`` that of an agent that works for it."""

    id: str
    created: float
    cwd: str = ""
    version: int = SESSION_VERSION
    parent_session: str | None = None
    title: str | None = None
    nested: bool = False


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One entry of a session's tree.

    Attributes:
        seq: position in the session, counted from 1.
        id: unique in the session.
        parent_id: the entry that this entry follows; ``None`` for the root.
        type: one of ``ENTRY_TYPES``. A session with other types, or of a newer format, opens read-only (:func:`foreign_to`).
        ts: seconds since the epoch.
        data: the rest of the entry, JSON values only, in any mapping: ``dict(entry.data)`` is one that JSON takes.
    """

    seq: int
    id: str
    parent_id: str | None
    type: str
    ts: float
    data: Mapping[str, Any] = EMPTY


class SessionNote(NamedTuple):
    """A note of a plugin in a session: a ``custom`` entry that :meth:`Session.note` wrote.

    Attributes:
        type: ``<plugin>.<kind>``.
        data: JSON values only.
        entry_id: the entry that holds the note.
        ts: seconds since the epoch.
    """

    type: str
    data: Mapping[str, Any]
    entry_id: str
    ts: float


class SessionHandle(ABC):
    """One open session.

    Attributes:
        header: header of the session.
        location: place of the session, such as a path, if there is one.
        read_only: ``append`` refuses entries.
        flush_interval: seconds between two ``partial`` entries of an answer that arrives; 0: never.
    """

    header: SessionHeader
    location: str | None = None
    read_only: bool = False
    flush_interval: float = 1.0

    @abstractmethod
    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write ``entry``, of a type in ``ENTRY_TYPES``, so that it survives the process. With ``sync``, wait for the disk.

        Raises:
            SessionError: the session is read-only or closed, or the disk refuses the entry.
            SessionTaken: another writer has taken the session over, while this process was paused for example.
        """

    async def sync(self) -> None:
        """Put all entries on the disk, as the store's policy is. Called before the body of a tool with effects runs.

        A caller that is cancelled loses no entry. The default does nothing.

        Raises:
            SessionError: the disk refuses the entries, now or in a sync that was begun, or the session was taken away.
        """

    def begin_sync(self) -> None:
        """Begin what :meth:`sync` does, or raise what an earlier one raised. Called after a user's message and a turn's end.

        The default does nothing, and leaves all to the next :meth:`sync`.
        """

    @abstractmethod
    def entries(self) -> Sequence[SessionEntry]:
        """Return all entries in the order in which they were written."""

    @abstractmethod
    async def close(self) -> None:
        """Flush, and release the writer's lock. Idempotent."""


class SessionStore(ABC):
    """Keeps sessions. Registered by ``register_session_stores``. The core has a store in memory."""

    @abstractmethod
    async def create(self, header: SessionHeader) -> SessionHandle:
        """Start a session, which exists on the disk before its first entry, and return it open for writing.

        Raises:
            SessionError: the id exists, or the store cannot write.
        """

    @abstractmethod
    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> SessionHandle:
        """Open an existing session for writing, one writer at a time. A session foreign to this version is read-only.

        Args:
            session_id: the session.
            read_only: open it for reading, also while another writer has it open.
            endpoint: the address under which this process takes clients of the session, for who meets the lock. The core passes
                it only where a program gives one.

        Raises:
            SessionError: there is no such session.
            SessionLocked: another writer has the session open; ``owner`` says who, and the writer's endpoint.
            SessionCorrupt: a line in the middle is broken.
        """

    async def restore(self, header: SessionHeader, entries: Sequence[SessionEntry]) -> SessionHandle:
        """Write a whole new session, a fork or an imported one, and return the session open for writing.

        Stores on a disk write the session whole or not at all. This default appends one entry after the other.

        Raises:
            SessionError: the id exists, or the store cannot write.
        """
        handle = await self.create(header)
        for place, entry in enumerate(entries, 1):
            await handle.append(entry, sync=place == len(entries))
        return handle

    async def fork(self, session_id: str, entry_id: str | None, *, new_id: str | None = None) -> SessionHandle:
        """Return a new session, open for writing, with the entries from the root to ``entry_id`` (:func:`fork_entries`).

        Args:
            session_id: the session to fork, which may be open elsewhere.
            entry_id: the last entry that is kept; ``None``: no entry is kept.
            new_id: id of the new session; default: a generated one.

        Raises:
            SessionError: there is no such session or entry, the new id exists, or the store cannot write.
            SessionCorrupt: the path to the root is broken.
        """
        source = await self.open(session_id, read_only=True)
        old = source.header
        try:
            every = source.entries()
            kept = fork_entries(every, entry_id, where=source.location or session_id)
            title = title_of(old, every)
        finally:
            await source.close()
        now = time.time()
        header = replace(
            old, id=new_id or new_session_id(now), created=now, parent_session=old.id, title=title, nested=False
        )
        return await self.restore(header, kept)

    @abstractmethod
    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the known sessions, newest first.

        Each has ``id, created, updated, cwd, title, messages, suspended, location, parent_session, nested``; broken: ``error``.
        ``suspended``: tool calls wait for a decision (:func:`suspended_at_end`).
        """

    async def ids(self) -> Sequence[str]:
        """Return the ids of all sessions, in no certain order. This default lists the sessions."""
        return [str(row["id"]) for row in await self.list()]

    async def stamps(self) -> Mapping[str, str]:
        """Return, by id, what differs after a session has changed. An index compares them. This default lists the sessions."""
        return {str(row["id"]): repr(dict(row)) for row in await self.list()}

    async def find(self, name: str) -> str:
        """Return the id of the session called ``name``, or of the only one whose id starts with ``name``.

        Raises:
            UnknownSession: there is no such session. The hint names close matches.
            UsageError: several ids start with ``name``.
        """
        ids = await self.ids()
        if name in ids:
            return name
        found = sorted(known for known in ids if name and known.startswith(name))
        if len(found) > 1:
            shown = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
            raise UsageError(f"{len(found)} sessions start with {name!r}", hint=f"write more of it: {shown}")
        if not found:
            raise UnknownSession(name, ids)
        return found[0]

    @abstractmethod
    def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the entries whose text contains ``query``, in any case: ``session_id, entry_id, ts, excerpt``.

        Newest session first, or best hit first where the store ranks. An empty query finds nothing. Sessions that could not
        be searched, or only in part, come last and beyond the limit: ``session_id`` and ``error``, the rest is ``None``.
        """

    async def close(self) -> None:
        """Release connections and files, and wait for the disk, or raise :class:`SessionError`. Called when the host closes."""


def foreign_to(header: SessionHeader, entries: Iterable[SessionEntry]) -> str | None:
    """Return why this version of the program must not write to a session, or ``None``."""
    if header.version > SESSION_VERSION:
        return f"it has format version {header.version}, and this program knows {SESSION_VERSION}"
    unknown = {entry.type for entry in entries} - ENTRY_TYPES
    if unknown:
        return f"it holds entries of the unknown type {min(unknown)!r}"
    return None


def title_of(header: SessionHeader, entries: Sequence[SessionEntry]) -> str | None:
    """Return the title of a session: the last one that it was given, else that of its header."""
    titles = (entry.data.get("title") for entry in reversed(entries) if entry.type == "session_info")
    return next((title for title in titles if isinstance(title, str)), header.title)


def fork_entries(entries: Iterable[SessionEntry], entry_id: str | None, *, where: str) -> list[SessionEntry]:
    """Return the entries from the root to ``entry_id`` and the labels on them, in the order in which they were written.

    Entries keep ``id`` and ``seq``, so that references among them hold. The usage ledger stays with the old session, which has
    paid. A label that was written on another branch follows the entry that the label names. If ``entry_id`` names an entry off
    the path (a usage entry, a label, ...), the path ends at the entry before it, and for a leaf at the entry that it points to.

    Raises:
        SessionError: there is no such entry.
        SessionCorrupt: a parent is missing, or the path is a circle.
    """
    every = list(entries)
    by_id = {entry.id: entry for entry in every}
    if entry_id is not None and entry_id not in by_id:
        raise SessionError(
            f"the session has no entry {entry_id!r}", where=where, hint="'skillkit sessions tree' draws them"
        )
    way = _way_to(by_id, entry_id, where)
    kept: dict[str, SessionEntry] = {}
    above: str | None = None
    for entry in way:
        kept[entry.id] = entry if entry.parent_id == above else replace(entry, parent_id=above)
        above = entry.id
    out: list[SessionEntry] = []
    for entry in every:
        named = entry.data.get("entry_id") if entry.type == "label" else None
        if entry.id in kept:
            out.append(kept[entry.id])
        elif named in kept:
            out.append(entry if entry.parent_id in kept else replace(entry, parent_id=named))
    return out


def _way_to(by_id: Mapping[str, SessionEntry], entry_id: str | None, where: str) -> list[SessionEntry]:
    """Return the entries on the path from the root to ``entry_id``."""
    way: list[SessionEntry] = []
    seen: set[str] = set()
    current = entry_id
    while current is not None:
        if current in seen:
            raise SessionCorrupt(f"the way from entry {entry_id!r} to the root is a circle", where=where)
        seen.add(current)
        entry = by_id.get(current)
        if entry is None:
            raise SessionCorrupt(f"entry {current!r}, which another one follows, is missing", where=where)
        current = entry.data.get("entry_id") if entry.type == "leaf" else entry.parent_id
        if entry.type not in OFF_PATH:
            way.append(entry)
    way.reverse()
    return way


@contextmanager
def no_collection() -> Iterator[None]:
    """Stop the garbage collector while many objects are made: it would look through all of them and find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def find_suspension(
    entry: SessionEntry | None, parent: Callable[[SessionEntry], SessionEntry | None]
) -> SessionEntry | None:
    """Return the entry by which calls wait at the leaf ``entry``, or ``None`` if the conversation went on since.

    It is a ``suspension``, or the newest ``approval_asked`` that no ``approval_resolved`` follows.
    """
    resolved: set[Any] = set()
    return next((found for found in since_last_word(entry, parent) if _waits(found, resolved)), None)


def since_last_word(
    entry: SessionEntry | None, parent: Callable[[SessionEntry], SessionEntry | None]
) -> Iterator[SessionEntry]:
    """Yield the entries from the leaf ``entry`` back to the one with which the conversation went on last."""
    while entry is not None and not _goes_on(entry):
        yield entry
        entry = parent(entry)


def suspended_at_end(newest_first: Iterable[SessionEntry]) -> bool:
    """Return whether tool calls of a session wait for a decision, reading as few entries as possible.

    Args:
        newest_first: all entries, beginning with the one that was written last.
    """
    wanted: str | None = None  # the next entry of the walk from the leaf; ``None``: the leaf itself
    resolved: set[Any] = set()
    for entry in newest_first:
        if wanted is not None and entry.id != wanted:
            continue
        if _waits(entry, resolved):
            return True
        if wanted is None and entry.type in OFF_PATH and entry.type != "leaf":
            continue
        wanted = entry.data.get("entry_id") if entry.type == "leaf" else entry.parent_id
        if wanted is None or _goes_on(entry):
            return False
    return False


def custom_type(entry: SessionEntry) -> str | None:
    """Return the ``custom_type`` of a ``custom`` entry; ``None``: the entry is of another type."""
    found = entry.data.get("custom_type") if entry.type == "custom" else None
    return found if isinstance(found, str) else None


def is_decision(entry: SessionEntry) -> bool:
    """Return whether an entry holds the decision about calls that waited."""
    return custom_type(entry) == DECISIONS


def _waits(entry: SessionEntry, resolved: set[Any]) -> bool:
    """Return whether calls wait because of an entry; add the question that the entry resolves to ``resolved``."""
    if entry.type == "suspension":
        return True
    kind = custom_type(entry)
    if kind == RESOLVED and entry.data.get("decision") != "defer":
        resolved.add(entry.data.get("id"))
    return kind == ASKED and entry.data.get("id") not in resolved


def _goes_on(entry: SessionEntry) -> bool:
    """Return whether the conversation goes on with an entry, so that no call before the entry waits."""
    return entry.type in ("message", "compaction", "branch_summary") or is_decision(entry)
