"""Session stores of the tests: one that says what it keeps, one of files that a crash can tear."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillkit_core.contracts.session_store import SessionEntry, SessionHandle, SessionHeader
from skillkit_core.frozen import freeze, thaw
from skillkit_core.host.memory import MemorySession, MemoryStore


class RecordingStore(MemoryStore):
    """Keeps sessions in memory and says when an entry is kept; ``before`` may wait or raise before that."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []
        self.before: Callable[[SessionEntry], Any] | None = None

    def _watch(self, handle: SessionHandle) -> SessionHandle:
        append = handle.append

        async def watched(entry: SessionEntry, *, sync: bool = False) -> None:
            if self.before is not None:
                waiting = self.before(entry)
                if asyncio.iscoroutine(waiting):
                    await waiting
            await append(entry, sync=sync)
            message = entry.data.get("message", {})
            self.log.append(f"kept {message.get('role') or entry.type}")

        handle.append = watched  # type: ignore[method-assign]
        return handle

    async def create(self, header: SessionHeader) -> Any:
        return self._watch(await super().create(header))

    async def open(self, session_id: str, *, read_only: bool = False) -> Any:
        return self._watch(await super().open(session_id, read_only=read_only))


class FileHandle(MemorySession):
    """A session in a file of JSON lines; each entry is written in two halves, so that a crash can tear it."""

    def __init__(self, path: Path, header: SessionHeader, entries: list[SessionEntry], between: Any) -> None:
        super().__init__(header, entries)
        self.location = str(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        self._between = between

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        fields = {f: thaw(getattr(entry, f)) for f in ("seq", "id", "parent_id", "type", "ts", "data")}
        line = json.dumps(fields).encode() + b"\n"
        half = len(line) // 2
        os.write(self._file, line[:half])
        self._between()
        os.write(self._file, line[half:])
        await super().append(entry, sync=sync)

    async def close(self) -> None:
        if not self.closed:
            os.close(self._file)
        await super().close()


class FileStore(MemoryStore):
    """Sessions as files, for tests that end the process. ``between()`` is called in the middle of each line."""

    def __init__(self, folder: Path, between: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.folder, self.between = folder, between

    async def create(self, header: SessionHeader) -> Any:
        path = self.folder / f"{header.id}.jsonl"
        path.write_text(json.dumps({"id": header.id, "created": header.created}) + "\n")
        return FileHandle(path, header, [], self.between)

    async def open(self, session_id: str, *, read_only: bool = False) -> Any:
        path = self.folder / f"{session_id}.jsonl"
        data = path.read_bytes()
        path.write_bytes(data[: data.rfind(b"\n") + 1])  # a torn line goes
        first, *rest = path.read_text().splitlines()
        entries = [SessionEntry(**{**(e := json.loads(line)), "data": freeze(e["data"])}) for line in rest]
        return FileHandle(path, SessionHeader(**json.loads(first)), entries, self.between)
