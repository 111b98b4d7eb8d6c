"""The tree of a session as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skillkit_core.contracts.session_store import SessionEntry

from .branches import Branches

__all__ = ["Node", "walk"]

_DEEPEST = 12  # branches inside branches that are drawn; deeper ones share the last column


@dataclass(frozen=True, slots=True)
class Node:
    """An entry in the drawing.

    Attributes:
        lines: what stands left of it (``"│  ├─ "``). depth: how many branchings lead to it.
        on_path: whether it leads to the leaf. children: ids of what follows it.
    """

    entry: SessionEntry
    lines: str
    depth: int
    on_path: bool
    children: tuple[str, ...]


def walk(branches: Branches) -> Iterator[Node]:
    """Every entry, parents first, in the order they were written.

    What follows without a choice stands below, at the same depth; only where several entries follow one, they are
    indented. No recursion: sessions are long.
    """
    on_path = {entry.id for entry in branches.path()}
    stack: list[tuple[SessionEntry, str, str, int]] = []  # entry, its own lines, the lines below it, depth

    def push(follow: list[SessionEntry], below: str, depth: int) -> None:
        if len(follow) == 1:
            stack.append((follow[0], below, below, depth))
            return
        shown = below if depth < _DEEPEST else below[: -len("│  ")]
        for entry in reversed(follow):
            last = entry is follow[-1]
            stack.append((entry, shown + ("└─ " if last else "├─ "), shown + ("   " if last else "│  "), depth + 1))

    push(branches.children.get(None, []), "", 0)
    while stack:
        entry, lines, below, depth = stack.pop()
        follow = branches.children.get(entry.id, [])
        yield Node(entry, lines, depth, entry.id in on_path, tuple(e.id for e in follow))
        if follow:
            push(follow, below, depth)
