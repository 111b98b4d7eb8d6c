"""Takes changes back: gives files the content that they had at an entry of the session.

The newest note of all branches says where the files are. A file that has another content than that note expects was changed
by somebody else, and stays as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skillkit_core import SessionError

from .change_notes import NOTE, kept_of, state_of, write_down
from .changes import Change, Changes
from .folder import FileError, Folder, shown
from .kept_contents import Kept

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Session
    from skillkit_core.contracts.session_store import SessionEntry

__all__ = ["Report", "plan", "rewind"]

REWIND = "rewind"
_HARMLESS = frozenset({"none", "files"})
_SHOWN = 5


@dataclass(slots=True)
class Report:
    """What a rewind did, or would do.

    Attributes:
        restored: the files that got another content.
        refused: pairs of a file and why it stays as it is.
        same: how many files had the content already.
        commands: calls of tools in between that may have changed files, which nobody records.
        moved: the conversation goes on from this entry; ``None``: it was not moved.
    """

    restored: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    same: int = 0
    commands: list[str] = field(default_factory=list)
    moved: str | None = None

    @property
    def lines(self) -> list[str]:
        """The report for a person."""
        out = [f"Now at {self.moved}. What followed is kept as a branch."] if self.moved is not None else []
        out += [f"Restored {shown(path)}" for path in self.restored]
        out += [f"Not restored {shown(path)}: {why}" for path, why in self.refused]
        if self.commands:
            more = f", and {len(self.commands) - _SHOWN} more" if len(self.commands) > _SHOWN else ""
            out.append(f"What these calls changed is not restored: {', '.join(self.commands[:_SHOWN])}{more}")
        return out or ["No file had to be changed."]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        refused = [{"path": path, "why": why} for path, why in self.refused]
        return {"moved": self.moved, "restored": self.restored, "refused": refused, "not_recorded": self.commands}


State = Mapping[str, Any]


def _line(by_id: Mapping[str, SessionEntry], entry_id: str | None) -> list[SessionEntry]:
    """Return the entries from the root to an entry."""
    out = []
    while entry_id is not None:
        entry = by_id[entry_id]
        out.append(entry)
        entry_id = entry.parent_id
    out.reverse()
    return out


def _states(
    path: Sequence[SessionEntry], root: str, behind: int
) -> tuple[dict[str, State], dict[str, State], dict[str, State]]:
    """Return for each file its last state on a path, its last state before the fork, and its first one behind it."""
    last: dict[str, State] = {}
    common: dict[str, State] = {}
    first: dict[str, State] = {}
    for n, entry in enumerate(path):
        if entry.type != "custom" or entry.data.get("custom_type") != NOTE or entry.data.get("root") != root:
            continue
        for fact in entry.data["files"]:
            last[fact["path"]] = fact["after"]
            if n < behind:
                common[fact["path"]] = fact["after"]
            else:
                # a rewind comes from another place; what it restored is what this branch had all along
                first.setdefault(fact["path"], fact["after" if entry.data.get("tool") == REWIND else "before"])
    return last, common, first


def plan(session: Session, root: str, target: str | None) -> tuple[dict[str, tuple[State, State]], list[SessionEntry]]:
    """Return for each file that must change the state it should be in and the one wanted, and the entries that are undone."""
    session.require(target)
    by_id = {entry.id: entry for entry in session.entries}
    notes = [
        e
        for e in by_id.values()
        if e.type == "custom" and e.data.get("custom_type") == NOTE and e.data.get("root") == root
    ]
    now = _line(by_id, notes[-1].id if notes else session.leaf_id)
    then = _line(by_id, target)
    behind = 0
    while behind < min(len(now), len(then)) and now[behind].id == then[behind].id:
        behind += 1
    is_last, is_common, is_first = _states(now, root, behind)
    want_last, _, want_first = _states(then, root, behind)
    found: dict[str, tuple[State, State]] = {}
    for path in {**is_first, **want_first}:
        expected = is_last.get(path) or want_first[path]
        wanted = want_last.get(path) or is_common.get(path) or is_first[path]
        if not _same(expected, wanted):
            found[path] = (expected, wanted)
    leaf = _line(by_id, session.leaf_id)
    undone = leaf if len(leaf) > len(now) and leaf[: len(now)] == now else now
    return found, undone[behind:]


def _same(one: State, other: State) -> bool:
    keys = ("digest", "link", "absent")
    modes = one.get("mode"), other.get("mode")
    return all(one.get(k) == other.get(k) for k in keys) and (None in modes or modes[0] == modes[1])


async def rewind(
    agent: AgentRunner, target: str | None, *, files: bool = True, conversation: bool = True, to: str | None = None
) -> Report:
    """Go back to an entry of the session.

    Args:
        agent: whose session and files.
        target: the entry; ``None``: before the first.
        files: give files the content that they had there.
        conversation: let the conversation go on from there.
        to: what the report calls the entry.

    Raises:
        SessionError: the session has no such entry.
        AgentBusy: a run is active.
    """
    session = await agent.open()
    folder = Folder(agent.cwd)
    report = Report()
    wanted, undone = plan(session, folder.root, target)
    if conversation:
        state = agent.state("files")
        state["rewinding"] = True
        try:
            await agent.move_to(target)
        finally:
            state.pop("rewinding", None)
        report.moved = to or target or "the start"
    if not files:
        return report
    report.commands = _commands(agent, undone)
    if agent.running:
        raise SessionError("files are not restored while a run is active", hint="abort it, or wait")
    changes = await asyncio.to_thread(
        _prepare, folder, agent.state("files").setdefault("seen", {}), wanted, kept_of(agent.host), report
    )
    if changes.made:
        await write_down(agent, folder.root, REWIND, None, changes.made)
        await asyncio.to_thread(changes.commit)
    return report


def _prepare(
    folder: Folder, seen: dict[str, str | None], wanted: Mapping[str, tuple[State, State]], kept: Kept, report: Report
) -> Restoring:
    changes = Restoring(folder, seen)
    for path, (expected, state) in sorted(wanted.items()):
        try:
            changes.restore(path, expected, state, kept, report)
        except FileError as error:
            report.refused.append((path, error.text))
    return changes


class Restoring(Changes):
    """Changes that give files an earlier state."""

    def restore(self, path: str, expected: State, wanted: State, kept: Kept, report: Report) -> None:
        """Plan the change of one file, or say in ``report`` why it stays."""
        if self.folder.locate(path, last=False) != path:
            raise FileError("outside_root", "it is behind a link now")
        found = self._found[path] = self.folder.snapshot(path, link=True)
        now = state_of(found)
        if _same(now, wanted):
            report.same += 1
            return
        if not _same(now, expected) or (found is not None and found.digest is None and found.link is None):
            report.refused.append((path, "it was changed since by somebody else"))
            return
        change = Change(path, found, gone=True)
        if not wanted.get("absent"):
            data = None
            if wanted.get("link") is None:
                data = (
                    found.data
                    if found is not None and found.digest == wanted["digest"]
                    else kept.get(str(wanted["digest"]))
                )
                if data is None:
                    why = (
                        "its content was removed to save room"
                        if wanted.get("kept")
                        else "its content was too large to be kept"
                    )
                    report.refused.append((path, why))
                    return
            change = Change(path, found, data, wanted.get("mode"), link=wanted.get("link"))
        if found is not None and found.link is None:
            self._writable(path, found)
        self._changes[path] = change
        report.restored.append(path)


def _commands(agent: AgentRunner, undone: Sequence[SessionEntry]) -> list[str]:
    """Return the calls among entries whose changes nobody recorded: those of tools that change more than files."""
    harmless = {tool.name for tool in agent.tools if tool.annotations.get("mutates") in _HARMLESS}
    out = []
    for entry in undone:
        message = entry.data.get("message") if entry.type == "message" else None
        if not isinstance(message, Mapping) or message.get("role") != "assistant":
            continue
        for block in message.get("content", ()):
            if block.get("type") == "tool_call" and block["name"] not in harmless and block["name"] not in _OWN:
                args = block.get("args") or {}
                text = str(args.get("command") or "") if isinstance(args, Mapping) else ""
                out.append(f"{block['name']} ({' '.join(text.split())[:60]})" if text else str(block["name"]))
    return out


_OWN = frozenset({"read", "write", "edit", "apply_patch", "grep", "glob", "ls"})
