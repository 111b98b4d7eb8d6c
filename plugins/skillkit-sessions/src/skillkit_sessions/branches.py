"""A session as people see it: the tree of its entries, the labels on them, the way to the leaf, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillkit_core.contracts.session_store import OFF_PATH, SessionEntry, find_suspension
from skillkit_core.errors import SessionCorrupt, UnknownName, UsageError

__all__ = ["START", "Branches", "is_note", "role_of"]

START = "start"  # stands for the place before the first entry


def role_of(entry: SessionEntry) -> str:
    """Who speaks in a message; the type of any other entry."""
    message = entry.data.get("message")
    role = message.get("role") if isinstance(message, Mapping) else None
    return str(role or entry.type)


def is_note(entry: SessionEntry) -> bool:
    """Return whether an entry is a note of a plugin, which says nothing in the conversation."""
    return entry.type == "custom" and "." in str(entry.data.get("custom_type", ""))


class Branches:
    """The tree of a session. Building it and every walk through it take time linear in its size.

    Attributes:
        entries: all of them, in the order they were written. by_id: the same by id.
        children: the entries that follow an entry, by its id; below ``None`` the first ones. Notes (labels, usage, ...) are
            not in it; what follows an entry off the path follows the entry that this one was written after.
        labels: text by the id of the entry that it is on; the last one counts.
        title: what the last ``session_info`` calls the session, if any does.
        leaf: the entry that the next one will follow; ``None``: none yet.
    """

    def __init__(self, entries: Iterable[SessionEntry], where: str) -> None:
        self.entries = list(entries)
        self.where = where
        self.by_id = {entry.id: entry for entry in self.entries}
        self.children: dict[str | None, list[SessionEntry]] = {}
        self.labels: dict[str, str] = {}
        self._above: dict[str, str | None] = {}
        self.title: str | None = None
        leaf: str | None = None
        for entry in self.entries:
            parent = entry.parent_id
            above = self._above.get(parent, parent) if parent is not None else None
            if entry.type not in OFF_PATH:
                self.children.setdefault(above, []).append(entry)
                leaf = entry.id
                continue
            named = entry.data.get("entry_id")
            self._above[entry.id] = named if entry.type == "leaf" else above
            if entry.type == "leaf":
                leaf = named
            elif entry.type == "session_info" and isinstance(entry.data.get("title"), str):
                self.title = entry.data["title"]
            elif entry.type == "label" and isinstance(named, str):
                text = entry.data.get("label")
                if text:
                    self.labels[named] = str(text)
                else:
                    self.labels.pop(named, None)
        self.leaf = self.above(leaf)

    def above(self, entry_id: str | None) -> str | None:
        """``entry_id``, or for an entry off the path the one that it was written after."""
        return self._above.get(entry_id, entry_id) if entry_id is not None else None

    def path(self, entry_id: str | None = None) -> list[SessionEntry]:
        """The entries from the root to ``entry_id`` (default: the leaf), without those off the path.

        Raises:
            SessionCorrupt: a parent is missing, or the way is a circle.
        """
        out: list[SessionEntry] = []
        current = self.above(entry_id) if entry_id is not None else self.leaf
        while current is not None:
            entry = self.by_id.get(current)
            if entry is None:
                raise SessionCorrupt(f"entry {current!r} is missing", where=self.where)
            out.append(entry)
            current = self.above(entry.parent_id)
            if len(out) > len(self.entries):
                raise SessionCorrupt("the entries form a circle", where=self.where)
        out.reverse()
        return out

    def find(self, name: str) -> str | None:
        """The id of the entry called ``name``: an id, the only one that starts so, or a label; ``None`` for ``start``.

        Raises:
            UnknownName: there is none; close matches are named. UsageError: there are several.
        """
        if name in self.by_id:
            return name
        if name == START:
            return None
        labelled = [entry_id for entry_id, text in self.labels.items() if text == name]
        found = labelled or [entry_id for entry_id in self.by_id if entry_id.startswith(name)]
        if len(found) > 1:
            how = "have the label" if labelled else "start with"
            raise UsageError(f"{len(found)} entries {how} {name!r}", hint=f"write the id: {', '.join(found[:5])}")
        if not found:
            last = (
                f"ids go from {self.entries[0].id} to {self.entries[-1].id}" if self.entries else "there are none yet"
            )
            known = [*self.labels.values(), *(self.by_id if len(self.by_id) < 1000 else ())]
            unknown = UnknownName("entry", name, known)
            hint = unknown.hint if unknown.hint and unknown.hint.startswith("did you") else f"{last}"
            raise UnknownName("entry", name, hint=f"{hint}; 'skillkit sessions tree' draws them")
        return found[0]

    # --- where it stands --------------------------------------------------------------------------------------

    def workspace(self) -> str | None:
        """The folder in which the calls that wait at the leaf would run; ``None``: none do, or nobody says."""
        path = self.path()
        found = self._suspension(path[-1]) if path else None
        cwd = found.data.get("cwd") if found is not None else None
        return cwd if isinstance(cwd, str) else None

    def _suspension(self, leaf: SessionEntry) -> SessionEntry | None:
        return find_suspension(leaf, lambda entry: self.by_id.get(entry.parent_id or ""))

    def state(self, entry_id: str | None = None) -> dict[str, Any]:
        """Where the branch of ``entry_id`` (default: the leaf) ended.

        ``leaf, state, last, open_calls``: ``state`` is ``empty``, ``suspended`` (calls wait for a decision), ``interrupted``
        (calls have no result), ``cut`` (the answer was aborted or failed), ``waiting`` (the last word has no answer yet) or
        ``complete``; ``last`` is who spoke last; ``open_calls`` are ``{id, name}``.
        """
        path = self.path(entry_id)
        leaf = path[-1].id if path else None
        calls = _open_calls(path)
        spoken = [entry for entry in path if entry.type == "message"]
        last = spoken[-1] if spoken else None
        message: Mapping[str, Any] = last.data.get("message", {}) if last is not None else {}
        role = message.get("role")
        if not path:
            state = "empty"
        elif self._suspension(path[-1]) is not None:
            state = "suspended"
        elif calls:
            state = "interrupted"
        elif role == "assistant":
            state = "cut" if message.get("stop_reason") in ("aborted", "error") else "complete"
        else:
            state = "waiting" if last is not None else "empty"
        return {"leaf": leaf, "state": state, "last": role, "open_calls": calls}


def _open_calls(path: Sequence[SessionEntry]) -> list[dict[str, Any]]:
    """The calls of the last answer that have no result."""
    answered: set[Any] = set()
    for entry in reversed(path):
        message = entry.data.get("message")
        if entry.type != "message" or not isinstance(message, Mapping):
            continue
        if message.get("role") == "tool_result":
            answered.add(message.get("tool_call_id"))
        elif message.get("role") == "assistant":
            blocks = [b for b in message.get("content") or () if isinstance(b, Mapping)]
            return [
                {"id": b.get("id"), "name": b.get("name")}
                for b in blocks
                if b.get("type") == "tool_call" and not b.get("incomplete") and b.get("id") not in answered
            ]
        else:
            return []
    return []
