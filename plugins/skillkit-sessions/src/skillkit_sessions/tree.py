"""The way through a session's tree."""

from __future__ import annotations

from collections.abc import Iterable

from skillkit_core.contracts.session_store import SessionEntry
from skillkit_core.errors import SessionCorrupt, SessionError

__all__ = ["path_to"]


def path_to(entries: Iterable[SessionEntry], entry_id: str | None, *, where: str) -> list[SessionEntry]:
    """The entries from the root to ``entry_id``, and the labels on them, in the order they were written.

    Raises:
        SessionError: there is no such entry. SessionCorrupt: a parent is missing, or the way is a circle.
    """
    every = list(entries)
    by_id = {entry.id: entry for entry in every}
    if entry_id is not None and entry_id not in by_id:
        raise SessionError(
            f"the session has no entry {entry_id!r}", where=where, hint="'skillkit sessions show' lists them"
        )
    kept: set[str] = set()
    current = entry_id
    while current is not None:
        if current in kept:
            raise SessionCorrupt(f"the way from entry {entry_id!r} to the root is a circle", where=where)
        entry = by_id.get(current)
        if entry is None:
            raise SessionCorrupt(f"entry {current!r}, which another one follows, is missing", where=where)
        kept.add(current)
        current = entry.parent_id
    return [e for e in every if e.id in kept or (e.type == "label" and e.data.get("entry_id") in kept)]
