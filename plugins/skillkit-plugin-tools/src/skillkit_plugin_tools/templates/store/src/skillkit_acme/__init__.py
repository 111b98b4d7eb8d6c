"""The session store "acme": a file of JSON lines for each session, and a lock for its one writer."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from skillkit_core import (
    Factory,
    Host,
    Owner,
    SessionEntry,
    SessionError,
    SessionHandle,
    SessionHeader,
    SessionLocked,
    SessionStore,
    hookimpl,
)
from skillkit_core.contracts.session_store import foreign_to, suspended_at_end, title_of


@hookimpl
def register_session_stores(register: Callable[[Factory], None]) -> None:
    """Offer the store; ``session.store: acme`` in the configuration chooses it."""
    register(Factory("acme", "skillkit_acme:in_data_folder", "a file of JSON lines for each session"))


def in_data_folder(host: Host) -> AcmeStore:
    """Return the store in SkillKit's data folder."""
    return AcmeStore(host.data_dir / "acme")


class AcmeHandle(SessionHandle):
    """One open session. Without a lock it is read-only."""

    def __init__(self, path: Path, header: SessionHeader, entries: list[SessionEntry], lock: IO[str] | None) -> None:
        self.header, self.location, self.read_only = header, str(path), lock is None
        self._path, self._entries, self._lock, self._file = path, entries, lock, path.stat()

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        """Write one line, which survives the process."""
        if self._lock is None:
            raise SessionError(f"session {self.header.id!r} is closed or read-only")
        if not (self._path.exists() and os.path.samestat(self._path.stat(), self._file)):
            raise SessionError("the file of the session was taken away", where=self.location)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry), default=dict) + "\n")
            file.flush()
            if sync:
                os.fsync(file.fileno())
        self._entries.append(entry)

    def entries(self) -> Sequence[SessionEntry]:
        """Return all entries in the order in which they were written."""
        return tuple(self._entries)

    async def close(self) -> None:
        """Let others write."""
        if self._lock is not None:
            self._lock.close()
            self._lock, self.read_only = None, True


class AcmeStore(SessionStore):
    """Keeps the sessions of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    async def create(self, header: SessionHeader) -> SessionHandle:
        """Start a session, which exists on the disk before its first entry."""
        path = self._path(header.id)
        if path.exists():
            raise SessionError(f"session {header.id!r} exists")
        lock = self._lock(header.id)
        path.write_text(json.dumps(asdict(header)) + "\n", encoding="utf-8")
        return AcmeHandle(path, header, [], lock)

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> SessionHandle:
        """Open a session, for writing if this version knows all that is in it."""
        path = self._path(session_id)
        if not path.exists():
            raise SessionError(f"there is no session {session_id!r}")
        read_only = read_only or foreign_to(*self._read(path)) is not None
        lock = None if read_only else self._lock(session_id, endpoint)
        return AcmeHandle(path, *self._read(path), lock)  # read again: now nobody else writes

    async def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the entries that contain a text."""
        for row in await self.list():
            for entry in self._read(self._path(row["id"]))[1]:
                text = json.dumps(dict(entry.data), ensure_ascii=False)
                if query and query.casefold() in text.casefold() and limit > 0:
                    limit -= 1
                    yield {"session_id": row["id"], "entry_id": entry.id, "ts": entry.ts, "excerpt": text}

    def _path(self, session_id: str) -> Path:
        if not re.fullmatch(r"[\w-]+", session_id):
            raise SessionError(f"{session_id!r} is no session id")
        return self._folder / f"{session_id}.jsonl"

    def _read(self, path: Path) -> tuple[SessionHeader, list[SessionEntry]]:
        """Read all whole lines: a process that died while it wrote leaves half of one."""
        head, *rest = path.read_text(encoding="utf-8").split("\n")[:-1]
        return SessionHeader(**json.loads(head)), [SessionEntry(**json.loads(line)) for line in rest]

    def _row(self, path: Path) -> Mapping[str, Any]:
        header, entries = self._read(path)
        return {
            "id": header.id,
            "created": header.created,
            "updated": path.stat().st_mtime,
            "cwd": header.cwd,
            "title": title_of(header, entries),
            "messages": sum(entry.type == "message" for entry in entries),
            "suspended": suspended_at_end(reversed(entries)),
            "location": str(path),
            "parent_session": header.parent_session,
            "nested": header.nested,
        }

    def _lock(self, session_id: str, endpoint: str | None = None) -> IO[str]:
        """Return the locked file that says who writes; the lock ends with the process."""
        lock = (self._folder / f"{session_id}.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = Owner(*json.load(lock))
            lock.close()
            raise SessionLocked(f"session {session_id!r} is being written", owner=owner) from None
        lock.truncate(0)
        lock.write(json.dumps([os.getpid(), os.uname().nodename, endpoint]))
        lock.flush()
        return lock

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the sessions, newest first. The function stands last: below it ``list`` is no longer the type."""
        rows = [self._row(path) for path in self._folder.glob("*.jsonl")]
        return sorted(rows, key=lambda row: -float(row["updated"]))[:limit]
