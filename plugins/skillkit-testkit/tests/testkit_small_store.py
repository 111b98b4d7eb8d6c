"""A small complete session store: one JSON Lines file per session, one lock per writer."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skillkit_core import Owner, SessionEntry, SessionHandle, SessionHeader, SessionStore
from skillkit_core.contracts.session_store import foreign_to, suspended_at_end
from skillkit_core.errors import SessionError, SessionLocked


class Handle(SessionHandle):
    def __init__(self, path: Path, header: SessionHeader, entries: list[SessionEntry], lock: Any) -> None:
        self.header = header
        self.location = str(path)
        self.read_only = lock is None
        self._entries = entries
        self._lock = lock
        self._file = path.stat()
        self._closed = False

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        if self._closed or self.read_only:
            raise SessionError(f"session {self.header.id!r} is closed or read-only")
        path = Path(self.location or "")
        if not (path.exists() and os.path.samestat(path.stat(), self._file)):
            raise SessionError("the file of the session was taken away", where=self.location)
        with path.open("a") as file:
            file.write(json.dumps(asdict(entry), default=dict) + "\n")
            file.flush()
            if sync:
                os.fsync(file.fileno())
        self._entries.append(entry)

    def entries(self) -> Sequence[SessionEntry]:
        return tuple(self._entries)

    async def close(self) -> None:
        self._closed = True
        if self._lock is not None:
            self._lock.close()


class SmallStore(SessionStore):
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(exist_ok=True)

    def file(self, session_id: str) -> Path:
        if not re.fullmatch(r"[\w-]+", session_id):
            raise SessionError(f"{session_id!r} is no session id")
        return self.path / f"{session_id}.jsonl"

    def lock(self, session_id: str, endpoint: str | None = None) -> Any:
        lock = (self.path / f"{session_id}.lock").open("a+")
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

    def read(self, session_id: str) -> tuple[SessionHeader, list[SessionEntry]]:
        head, *rest = self.file(session_id).read_text().split("\n")[:-1]
        return SessionHeader(**json.loads(head)), [SessionEntry(**json.loads(line)) for line in rest]

    async def create(self, header: SessionHeader) -> SessionHandle:
        path = self.file(header.id)
        if path.exists():
            raise SessionError(f"session {header.id!r} exists")
        lock = self.lock(header.id)
        path.write_text(json.dumps(asdict(header)) + "\n")
        return Handle(path, header, [], lock)

    async def open(self, session_id: str, *, read_only: bool = False, endpoint: str | None = None) -> SessionHandle:
        path = self.file(session_id)
        if not path.exists():
            raise SessionError(f"there is no session {session_id!r}")
        read_only = read_only or foreign_to(*self.read(session_id)) is not None
        lock = None if read_only else self.lock(session_id, endpoint)
        return Handle(path, *self.read(session_id), lock)

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        out = []
        for path in self.path.glob("*.jsonl"):
            header, entries = self.read(path.stem)
            titles = [e.data["title"] for e in entries if e.type == "session_info"]
            title = titles[-1] if titles else header.title
            shown = {"id": header.id, "created": header.created, "cwd": header.cwd, "title": title}
            shown |= {"parent_session": header.parent_session, "nested": header.nested}
            said = sum(e.type == "message" for e in entries)
            waits = suspended_at_end(reversed(entries))
            about = {"updated": path.stat().st_mtime, "messages": said, "suspended": waits, "location": str(path)}
            out.append({**shown, **about})
        return sorted(out, key=lambda s: -s["updated"])[:limit]

    async def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        for session in await self.list():
            for entry in self.read(session["id"])[1]:
                text = json.dumps(dict(entry.data), ensure_ascii=False)
                if query and query.casefold() in text.casefold() and limit > 0:
                    limit -= 1
                    yield {"session_id": session["id"], "entry_id": entry.id, "ts": entry.ts, "excerpt": text}
