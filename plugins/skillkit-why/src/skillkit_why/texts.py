"""Texts by their digest: in files of the data folder, or in memory for a session that no file keeps."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

__all__ = ["LIMIT", "Texts"]

LIMIT = 64 * 1024 * 1024  # bytes of all files; the oldest go first
FRESH = 600.0  # seconds in which a text that is used again is not marked as used: to mark it makes the disk work


class Texts:
    """Keeps each text once.

    Args:
        folder: where the files are; ``None``: in memory.
        memory: texts that are in memory already.
    """

    def __init__(self, folder: Path | None, memory: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.memory = dict(memory or {})
        self._known: set[str] = set()

    def keep(self, text: str) -> str:
        """Keep a text; return its digest. A folder that cannot be written is left alone: the digest says enough for a diff."""
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        self.add({digest: text})
        return digest

    def add(self, texts: Mapping[str, str]) -> None:
        """Keep texts by their digests."""
        if self.folder is None:
            self.memory.update(texts)
            return
        for digest, text in texts.items():
            if digest not in self._known:
                with suppress(OSError):
                    self._write(self.folder, digest, text)
                self._known.add(digest)

    def keep_json(self, value: Any) -> str:
        """Keep a JSON value; return its digest."""
        return self.keep(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def get(self, digest: str) -> str | None:
        """Return the text of a digest; ``None`` when it is kept nowhere."""
        if digest in self.memory:
            return self.memory[digest]
        if self.folder is None or not digest.isalnum():
            return None
        try:
            return (self.folder / digest).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def get_json(self, digest: str | None) -> Any:
        """Return the JSON value of a digest; ``None`` when it is kept nowhere."""
        text = self.get(digest) if digest else None
        try:
            return json.loads(text) if text is not None else None
        except ValueError:
            return None

    def _write(self, folder: Path, digest: str, text: str) -> None:
        path = folder / digest
        with suppress(FileNotFoundError):
            if time.time() - os.stat(path).st_mtime > FRESH:  # noqa: PTH116
                os.utime(path)  # what is in use is not old
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._known:
            _prune(folder)
        part = folder / f".{digest}.{os.getpid()}"
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text.encode("utf-8", "replace").decode())
        part.replace(path)


def _prune(folder: Path) -> None:
    files = sorted(((f.stat().st_mtime, f.stat().st_size, f) for f in folder.iterdir()), reverse=True)
    used = 0
    for _, size, file in files:
        used += size
        if used > LIMIT:
            file.unlink(missing_ok=True)
