"""The facts about a person, in SQLite: topic, key, value, and when they end."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["PREFERENCES", "Fact", "FactStore"]

PREFERENCES = "preferences"
"""The topic of preferences is this, and of those for a domain ``preferences/DOMAIN``."""
_TABLE = """
CREATE TABLE IF NOT EXISTS facts (
    topic TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, stored REAL NOT NULL, ends REAL, PRIMARY KEY (topic, key)
)
"""


class Fact(NamedTuple):
    """A fact.

    Attributes:
        topic, key, value: what it is about, what it is called, and what it says.
        stored: when it was stored, seconds since 1970.
        ends: when it is forgotten; ``None``: never.
    """

    topic: str
    key: str
    value: str
    stored: float
    ends: float | None


class FactStore:
    """The facts of one person. Each call opens the file, so that several processes may use it.

    Args:
        file: the SQLite file; it is made with mode 0600.
        now: the time, seconds since 1970; what has ended by then is not there.
    """

    def __init__(self, file: Path, now: float) -> None:
        self._file, self._now = file, now

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if not self._file.exists():
            self._file.touch(mode=0o600)
        base = sqlite3.connect(self._file, timeout=10)
        try:
            with base:
                base.execute(_TABLE)
                base.execute("DELETE FROM facts WHERE ends IS NOT NULL AND ends <= ?", (self._now,))
                yield base
        finally:
            base.close()

    def store(self, topic: str, key: str, value: str, ends: float | None, most: int) -> bool:
        """Store a fact, and return whether one of that topic and key was there."""
        with self._opened() as base:
            there = base.execute("SELECT 1 FROM facts WHERE topic = ? AND key = ?", (topic, key)).fetchone() is not None
            base.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", (topic, key, value, self._now, ends))
            base.execute(
                "DELETE FROM facts WHERE rowid NOT IN (SELECT rowid FROM facts ORDER BY stored DESC, rowid DESC LIMIT ?)",
                (most,),
            )
            return there

    def forget(self, topic: str, key: str) -> bool:
        """Forget a fact, and return whether it was there."""
        with self._opened() as base:
            return base.execute("DELETE FROM facts WHERE topic = ? AND key = ?", (topic, key)).rowcount > 0

    def facts(self, topic: str | None = None, words: Sequence[str] = ()) -> list[Fact]:
        """Return facts, the newest first.

        Args:
            topic: of this topic, and those below it (``preferences`` has ``preferences/writing``).
            words: all of them occur in the fact, in whatever case.
        """
        with self._opened() as base:
            rows = base.execute("SELECT topic, key, value, stored, ends FROM facts ORDER BY stored DESC, rowid DESC")
            found = [Fact(*row) for row in rows]
        if topic is not None:
            folded = topic.casefold()
            found = [f for f in found if f.topic.casefold() == folded or f.topic.casefold().startswith(f"{folded}/")]
        return [f for f in found if all(word in f"{f.topic} {f.key} {f.value}".casefold() for word in words)]
