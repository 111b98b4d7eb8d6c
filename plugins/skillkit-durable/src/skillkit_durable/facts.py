"""Facts of the plugin ``memory-tools`` in the database of jobs, so that workers on several machines remember the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from .config import settings_of
from .database import Database

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SharedFacts"]

Row: TypeAlias = tuple[str, str, str, float, float | None]
FIELDS = ("topic", "key", "value", "stored", "ends")
ENDED = "DELETE FROM skillkit_fact WHERE ends <= ?"
OLDEST = (
    "DELETE FROM skillkit_fact WHERE (topic, key) NOT IN"
    " (SELECT topic, key FROM skillkit_fact ORDER BY stored DESC, topic, key LIMIT ?)"
)


class SharedFacts:
    """The facts of the person whose database it is."""

    def __init__(self, host: Host) -> None:
        self._database = Database(settings_of(host).url)

    def store(self, fact: Row, most: int, now: float) -> bool:
        """Store a fact, and return whether one of that topic and key was there; above ``most`` the oldest are forgotten."""
        with self._database.transaction() as transaction:
            transaction.change(ENDED, now)
            known = transaction.rows("SELECT 1 AS n FROM skillkit_fact WHERE topic=? AND key=?", *fact[:2])
            transaction.change(
                "INSERT INTO skillkit_fact(topic, key, value, stored, ends) VALUES(?, ?, ?, ?, ?)"
                " ON CONFLICT (topic, key) DO UPDATE SET value=excluded.value, stored=excluded.stored, ends=excluded.ends",
                *fact,
            )
            transaction.change(OLDEST, most)
        return bool(known)

    def forget(self, topic: str, key: str, now: float) -> bool:
        """Forget a fact, and return whether it was there."""
        with self._database.transaction() as transaction:
            transaction.change(ENDED, now)
            return bool(transaction.change("DELETE FROM skillkit_fact WHERE topic=? AND key=?", topic, key))

    def facts(self, now: float) -> Sequence[Row]:
        """Return all facts, the newest first."""
        with self._database.reading() as transaction:
            rows = transaction.rows(
                "SELECT * FROM skillkit_fact WHERE ends IS NULL OR ends > ? ORDER BY stored DESC, topic, key", now
            )
        return [tuple(row[name] for name in FIELDS) for row in rows]
