"""The subscriptions and the items that were seen, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .parsing import Feed, Item

__all__ = ["FeedStore", "Kept", "Known"]

_TABLES = """
CREATE TABLE IF NOT EXISTS feeds (url TEXT PRIMARY KEY, title TEXT NOT NULL, subscribed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS items (
    number INTEGER PRIMARY KEY AUTOINCREMENT, feed TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, link TEXT NOT NULL,
    published TEXT NOT NULL, summary TEXT NOT NULL, UNIQUE (feed, id)
);
"""


class Known(NamedTuple):
    """A subscribed feed, and how many of its items are kept."""

    url: str
    title: str
    items: int


class Kept(NamedTuple):
    """An item that is kept, and the title of its feed."""

    feed: str
    item: Item


class FeedStore:
    """What is known of feeds. Each call opens the file, so that several processes may use it."""

    def __init__(self, file: Path, kept_items: int) -> None:
        self._file, self._kept = file, kept_items

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(self._file, timeout=10)
        try:
            with base:
                base.executescript(_TABLES)
                yield base
        finally:
            base.close()

    def take_in(self, url: str, feed: Feed) -> Sequence[Item]:
        """Keep what a feed says now, and return the items that were not there before, in the order of the feed."""
        with self._opened() as base:
            base.execute(
                "INSERT INTO feeds VALUES (?, ?, 0) ON CONFLICT (url) DO UPDATE SET title = excluded.title",
                (url, feed.title),
            )
            known = {row[0] for row in base.execute("SELECT id FROM items WHERE feed = ?", (url,))}
            new = list({item.id: item for item in feed.items if item.id not in known}.values())
            rows = [(url, i.id, i.title, i.link, i.published, i.summary) for i in reversed(new)]
            base.executemany(
                "INSERT INTO items (feed, id, title, link, published, summary) VALUES (?, ?, ?, ?, ?, ?)", rows
            )
            # what the feed still has must stay known, or it would be new again
            most = max(self._kept, len(feed.items))
            base.execute(
                "DELETE FROM items WHERE feed = ? AND number NOT IN "
                "(SELECT number FROM items WHERE feed = ? ORDER BY number DESC LIMIT ?)",
                (url, url, most),
            )
            return new

    def subscribe(self, url: str) -> bool:
        """Mark a feed that was taken in as subscribed, and return whether it was not yet."""
        with self._opened() as base:
            return base.execute("UPDATE feeds SET subscribed = 1 WHERE url = ? AND subscribed = 0", (url,)).rowcount > 0

    def remove(self, url: str) -> bool:
        """Forget a feed with its items, and return whether it was there."""
        with self._opened() as base:
            base.execute("DELETE FROM items WHERE feed = ?", (url,))
            return base.execute("DELETE FROM feeds WHERE url = ?", (url,)).rowcount > 0

    def feeds(self) -> Sequence[Known]:
        """Return the subscribed feeds by title."""
        with self._opened() as base:
            rows = base.execute(
                "SELECT url, title, (SELECT count(*) FROM items WHERE feed = url) FROM feeds WHERE subscribed = 1 ORDER BY title"
            )
            return [Known(*row) for row in rows]

    def items(self, words: Sequence[str], limit: int, url: str | None = None) -> Sequence[Kept]:
        """Return the newest kept items that hold all words in title or summary."""
        where, values = ["1"], []
        if url is not None:
            where.append("i.feed = ?")
            values.append(url)
        with self._opened() as base:
            rows = base.execute(
                "SELECT f.title, i.id, i.title, i.link, i.published, i.summary FROM items i JOIN feeds f ON f.url = i.feed "  # noqa: S608 - the texts are fixed
                f"WHERE {' AND '.join(where)} ORDER BY i.published DESC, i.number DESC",
                values,
            )
            found = (Kept(row[0], Item(*row[1:])) for row in rows)
            hits = (one for one in found if all(w in f"{one.item.title} {one.item.summary}".casefold() for w in words))
            return [one for one, _ in zip(hits, range(limit), strict=False)]
