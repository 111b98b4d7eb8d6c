"""The facts about a person: topic, key, value, and when they end; in SQLite, unless a plugin keeps them elsewhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

__all__ = ["PREFERENCES", "Fact", "FactStore", "Facts", "matching"]

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


class Facts(Protocol):
    """What keeps facts. What has ended by ``now``, seconds since 1970, is not there any more."""

    def store(self, fact: Fact, most: int, now: float) -> bool:
        """Store a fact, and return whether one of that topic and key was there; above ``most`` the oldest are forgotten."""

    def forget(self, topic: str, key: str, now: float) -> bool:
        """Forget a fact, and return whether it was there."""

    def facts(self, now: float) -> Sequence[tuple[str, str, str, float, float | None]]:
        """Return all facts, the newest first, each with the fields of a :class:`Fact`."""


class FactStore:
    """Facts in a file. Each call opens the file, so that several processes may use it.

    Args:
        file: the SQLite file; it is made with mode 0600.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    @contextmanager
    def _opened(self, now: float) -> Iterator[sqlite3.Connection]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if not self._file.exists():
            self._file.touch(mode=0o600)
        base = sqlite3.connect(self._file, timeout=10)
        try:
            with base:
                base.execute(_TABLE)
                base.execute("DELETE FROM facts WHERE ends IS NOT NULL AND ends <= ?", (now,))
                yield base
        finally:
            base.close()

    def store(self, fact: Fact, most: int, now: float) -> bool:
        """Store a fact; see :class:`Facts`."""
        with self._opened(now) as base:
            known = base.execute("SELECT 1 FROM facts WHERE topic = ? AND key = ?", (fact.topic, fact.key)).fetchone()
            base.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", fact)
            base.execute(
                "DELETE FROM facts WHERE rowid NOT IN (SELECT rowid FROM facts ORDER BY stored DESC, rowid DESC LIMIT ?)",
                (most,),
            )
            return known is not None

    def forget(self, topic: str, key: str, now: float) -> bool:
        """Forget a fact; see :class:`Facts`."""
        with self._opened(now) as base:
            return base.execute("DELETE FROM facts WHERE topic = ? AND key = ?", (topic, key)).rowcount > 0

    def facts(self, now: float) -> Sequence[tuple[str, str, str, float, float | None]]:
        """Return all facts; see :class:`Facts`."""
        with self._opened(now) as base:
            rows = base.execute("SELECT topic, key, value, stored, ends FROM facts ORDER BY stored DESC, rowid DESC")
            return rows.fetchall()


def matching(facts: Sequence[Fact], topic: str | None = None, words: Sequence[str] = ()) -> list[Fact]:
    """Return those of some facts that are asked for.

    Args:
        topic: of this topic, and those below it (``preferences`` has ``preferences/writing``).
        words: all of them occur in the fact, in whatever case.
    """
    found = list(facts)
    if topic is not None:
        folded = topic.casefold()
        found = [f for f in found if f.topic.casefold() == folded or f.topic.casefold().startswith(f"{folded}/")]
    return [f for f in found if all(word in f"{f.topic} {f.key} {f.value}".casefold() for word in words)]
