"""Where the session of a drive is kept: in memory, or in the files of the sessions plugin."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

from skillkit_core import MemoryStore
from skillkit_core.contracts.session_store import SessionEntry, SessionStore


class MemoryPlace:
    """In memory."""

    def __init__(self, left: tuple[Any, list[SessionEntry]] | None = None) -> None:
        self.store: MemoryStore = MemoryStore()
        if left is not None:
            self.store._sessions["s"] = left

    def reader(self) -> SessionStore:
        """The store as somebody else sees it."""
        return self.store

    def snapshot(self) -> MemoryPlace:
        """What a crash would leave right now, for another process."""
        header, entries = self.store._sessions["s"]
        return MemoryPlace((header, list(entries)))


class FilePlace:
    """In a file of JSON lines."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.copies = folder, itertools.count(1)
        self.store = self.reader()

    def reader(self) -> SessionStore:
        """The store as another process sees it. I18: it never finds a broken line that is not the last."""
        from skillkit_sessions import JsonlStore

        for file in self.folder.glob("*.jsonl"):
            for line in file.read_bytes().split(b"\n")[:-1]:
                json.loads(line)
        return JsonlStore(directory=self.folder, fsync="never")

    def snapshot(self) -> FilePlace:
        """What a crash would leave right now, for another process."""
        copy = self.folder.with_name(f"{self.folder.name}, {next(self.copies)}")
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("*.lock"))
        return FilePlace(copy)
