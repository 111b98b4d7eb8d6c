"""The agents that worked in a session: what their requests used, and the sessions in which they worked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from skillkit_core.contracts.session_store import SessionEntry, SessionStore
from skillkit_core.errors import SessionError

from .branches import Branches

__all__ = ["Child", "children_of"]

_BUCKETS = ("input", "output", "cache_read", "cache_write")


@dataclass(slots=True)
class Child:
    """A nested agent.

    Attributes:
        path: its ``agent_path``: the names of the agents from the outermost to this one.
        session: its session.
        requests, tokens, cost: what it used itself; ``cost`` in US dollars, as far as prices are known.
        title: title of its session.
        kept: the store has its session.
    """

    path: tuple[str, ...]
    session: str
    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    title: str | None = None
    kept: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the agent as JSON."""
        names = ("session", "title", "kept", "requests", "tokens", "cost")
        return {"agent": self.path[-1], "path": list(self.path), **{name: getattr(self, name) for name in names}}


async def children_of(store: SessionStore, entries: Iterable[SessionEntry]) -> list[Child]:
    """Return the nested agents of a session, parents first, from its usage entries and from the store."""
    found: dict[str, Child] = {}
    for data in (entry.data for entry in entries if entry.type == "usage"):
        session = data.get("session")
        if data.get("purpose") != "nested" or not isinstance(session, str):
            continue
        child = found.setdefault(session, Child(tuple(data.get("agent_path") or ("sub",)), session))
        child.requests += 1
        child.tokens += sum(data.get(name, 0) for name in _BUCKETS)
        child.cost += data.get("cost") or 0.0
    for child in found.values():
        try:
            handle = await store.open(child.session, read_only=True)
        except SessionError:
            continue
        try:
            branches = Branches(handle.entries(), handle.location or child.session)
            child.kept, child.title = True, branches.title or handle.header.title
        finally:
            await handle.close()
    return list(_ordered(list(found.values())))


def _ordered(children: list[Child]) -> Iterator[Child]:
    """Yield each agent before those that it asked, else in the order of their first request."""
    waiting = [child for child in reversed(children) if not any(_above(other, child) for other in children)]
    while waiting:
        child = waiting.pop()
        yield child
        below = [other for other in children if _above(child, other) and _nearest(other, children) is child]
        waiting += reversed(below)


def _above(parent: Child, child: Child) -> bool:
    return len(parent.path) < len(child.path) and child.path[: len(parent.path)] == parent.path


def _nearest(child: Child, children: list[Child]) -> Child:
    return max((other for other in children if _above(other, child)), key=lambda other: len(other.path))
