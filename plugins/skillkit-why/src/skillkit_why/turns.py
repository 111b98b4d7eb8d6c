"""The turns of a session, and what is known of each: from its note where there is one, from the session itself in any case."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillkit_core import MemorySession, Session, repair
from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, fork_entries
from skillkit_core.errors import UsageError
from skillkit_core.estimates import estimate_message

from .recorder import NOTE
from .texts import Texts

__all__ = ["BUCKETS", "History", "Turn"]

BUCKETS = ("input", "output", "cache_read", "cache_write")
_STOPPED = ("blocked", "denied")


@dataclass(slots=True)
class Turn:
    """The entries of one turn.

    Attributes:
        number: from 1, on the way from the root to the leaf.
        before: the entry after which the request was made; ``None``: none.
        asked: the last words of a person before it.
        answer: the entry of the answer; ``None``: there was none.
        note: what was recorded; ``None``: nothing was.
        results: the results of the calls of the answer.
        usage: the usage entries of its requests, of compactions before it, and of its tools.
        compactions: the compactions between the turn before and this one.
        summary: the last compaction before the request, which stands for older messages.
        switched: the change of model before it.
    """

    number: int
    before: str | None = None
    asked: str = ""
    answer: SessionEntry | None = None
    note: Mapping[str, Any] | None = None
    results: list[Mapping[str, Any]] = field(default_factory=list)
    usage: list[Mapping[str, Any]] = field(default_factory=list)
    compactions: list[SessionEntry] = field(default_factory=list)
    summary: SessionEntry | None = None
    switched: Mapping[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """Whether no answer is kept."""
        return self.answer is None


class History:
    """The turns of one branch of a session.

    Args:
        header: of the session.
        entries: all entries, in the order in which they were written.
        texts: the texts that notes name.
        leaf: the end of the branch; default: where the session goes on.

    Attributes:
        turns: the turns of the branch, oldest first.
    """

    def __init__(
        self, header: SessionHeader, entries: Iterable[SessionEntry], texts: Texts, leaf: str | None = None
    ) -> None:
        self.header = header
        self.texts = texts
        self._entries = list(entries)
        whole = Session(MemorySession(header, self._entries), time.time)
        self._path = whole.path(leaf)
        self.turns = self._turns()

    def _turns(self) -> list[Turn]:
        found: list[Turn] = []
        following, asked = Turn(0), ""
        summary: SessionEntry | None = None
        for entry in self._path:
            message = entry.data.get("message") or {}
            role = message.get("role")
            if role == "user":
                asked = _text(message)
            elif entry.type == "compaction":
                following.compactions.append(entry)
                summary = entry
            elif entry.type == "model_change":
                following.switched = entry.data
            elif role == "tool_result" and found:
                found[-1].results.append(message)
            is_note = entry.type == "custom" and entry.data.get("custom_type") == NOTE
            if is_note and not entry.data.get("failed") and found and found[-1].note is None:
                found[-1].note = entry.data
            elif role == "assistant" or (is_note and entry.data.get("failed")):
                following.number, following.asked, following.summary = len(found) + 1, asked, summary
                following.before = entry.parent_id
                following.answer = entry if role == "assistant" else None
                following.note = entry.data if is_note else None
                found.append(following)
                following = Turn(0)
        self._give_usage(found)
        return found

    def _give_usage(self, turns: Sequence[Turn]) -> None:
        """Give each usage entry to its turn: a request to the next answer, a tool's to the answer before."""
        on_path = {entry.id for entry in self._path} | {None}
        ends = [(turn.answer.seq if turn.answer is not None else -1, turn) for turn in turns]
        seq = {entry.id: entry.seq for entry in self._path}
        ends = [(end if end >= 0 else seq.get(turn.before or "", 0) + 1, turn) for end, turn in ends]
        i = 0
        for entry in self._entries:
            if entry.type != "usage" or entry.parent_id not in on_path or not ends:
                continue
            while i < len(ends) - 1 and entry.seq > ends[i][0]:
                i += 1
            late = entry.data.get("purpose") in ("tool", "nested") and entry.seq < ends[i][0] and i > 0
            ends[i - 1 if late else i][1].usage.append(entry.data)

    def turn(self, number: int | None = None) -> Turn:
        """Return a turn by its number; negative ones count from the end, ``None`` is the last one.

        Raises:
            UsageError: there is no such turn.
        """
        if not self.turns:
            raise UsageError(f"session {self.header.id} has no turn yet", hint="ask a model something first")
        wanted = len(self.turns) if number is None else number if number >= 0 else len(self.turns) + 1 + number
        if not 1 <= wanted <= len(self.turns):
            raise UsageError(
                f"there is no turn {number}", hint=f"session {self.header.id} has turns 1 to {len(self.turns)}"
            )
        return self.turns[wanted - 1]

    def explain(self, turn: Turn) -> dict[str, Any]:
        """Return what is known of a turn, as JSON. Values are ``None`` where nothing is known."""
        note = turn.note or {}
        answer = turn.answer.data["message"] if turn.answer is not None else {}
        provider, _, model = str(note.get("model", "")).partition("/")
        tools = self.texts.get_json(note.get("tools"))
        return {
            "session": self.header.id,
            "cwd": self.header.cwd,
            "turn": turn.number,
            "turns": len(self.turns),
            "recorded": turn.note is not None,
            "driven": bool(note.get("driven")) or (turn.answer is not None and not answer.get("model")),
            "explained": self.texts.get_json(note.get("explained")),
            "asked": turn.asked,
            "entry": turn.answer.id if turn.answer is not None else None,
            "model": {
                "provider": answer.get("provider") or provider or None,
                "id": answer.get("model") or model or None,
                "api": answer.get("api") or note.get("api") or None,
                "chosen_by": note.get("by"),
                "switched": dict(turn.switched) if turn.switched is not None else None,
                "fallbacks": list(note.get("fallbacks", ())),
            },
            "request": {
                "tokens": note.get("tokens"),
                "window": note.get("window") or None,
                "attempts": note.get("attempts", 1),
                "retries": [dict(row) for row in note.get("retries", ())],
            },
            "sections": self.texts.get_json(note.get("sections")),
            "skills": self.texts.get_json(note.get("skills")),
            "tools": tools,
            "messages": self._messages(turn, note),
            "compactions": [_compaction(entry) for entry in turn.compactions],
            "guards": _guards(turn, note),
            "usage": _usage(turn.usage),
            "answer": {
                "text": _text(answer)[:200],
                "stop_reason": answer.get("stop_reason"),
                "error": answer.get("error") or next((u["error"] for u in reversed(turn.usage) if "error" in u), None),
                "calls": [b["name"] for b in answer.get("content", ()) if b.get("type") == "tool_call"],
            },
        }

    def _messages(self, turn: Turn, note: Mapping[str, Any]) -> dict[str, Any]:
        """Return the messages of the request by role, and those of the branch that were not in it, with the reason."""
        entries = fork_entries(self._entries, turn.before, where=self.header.id) if turn.before is not None else []
        view = Session(MemorySession(self.header, entries), time.time)
        context, ids = view.context, view.context_ids
        sent = repair(tuple(context))
        there, held = {id(message) for message in sent}, set(ids)
        out: list[tuple[str, str]] = []
        summary = turn.summary
        replaced = set((summary.data.get("replaced") or {}) if summary is not None else ())
        for entry in view.path():
            if entry.type in ("message", "custom_message", "branch_summary") and entry.id not in held:
                out.append((entry.id, _summarised(summary)))
        for entry_id, message in zip(ids, context, strict=True):
            if message.role == "custom" and not getattr(message, "in_context", True):
                out.append((entry_id, "a note for people, not for models"))
            elif message.role != "custom" and id(message) not in there:
                out.append((entry_id, "repaired: a provider would have refused it as it was"))
        made_up = sum(m.role == "tool_result" and id(m) not in {id(c) for c in context} for m in sent)
        changed = note.get("changed") or {}
        left_out = [
            *_ranges(out),
            *({"from": a, "to": b, "count": n, "reason": changed["by"]} for a, b, n in changed.get("left_out", ())),
        ]
        return {
            "sent": note.get("messages", len(sent)),
            "tokens": sum(estimate_message(message) for message in sent),
            "by_role": dict(Counter(message.role for message in sent)),
            "left_out": left_out,
            "replaced": [
                {"entry": e, "reason": f"shortened by compaction {summary.id}"}
                for e in ids
                if e in replaced and summary
            ],
            "made_up": made_up,
            "new": changed.get("new", 0),
            "new_by": changed.get("by"),
        }


def _text(message: Mapping[str, Any]) -> str:
    return " ".join(str(b.get("text", "")) for b in message.get("content", ()) if b.get("type") == "text").strip()


def _summarised(compaction: SessionEntry | None) -> str:
    if compaction is None:
        return "left behind"
    return (
        f"summarised by compaction {compaction.id}"
        if compaction.data.get("summary")
        else f"dropped by compaction {compaction.id}"
    )


def _ranges(rows: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return neighbours with the same reason as one row."""
    found: list[dict[str, Any]] = []
    for entry_id, reason in rows:
        if found and found[-1]["reason"] == reason:
            found[-1]["to"] = entry_id
            found[-1]["count"] += 1
        else:
            found.append({"from": entry_id, "to": entry_id, "count": 1, "reason": reason})
    return found


def _compaction(entry: SessionEntry) -> dict[str, Any]:
    data = entry.data
    return {
        "entry": entry.id,
        "tokens_before": data.get("tokens_before"),
        "summary": str(data.get("summary") or ""),
        "pinned": len(data.get("pinned") or ()),
        "replaced": len(data.get("replaced") or {}),
    }


def _guards(turn: Turn, note: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls about which guards spoke; without a note those that the results say were stopped."""
    results = {r.get("tool_call_id"): r for r in turn.results}
    found = []
    for row in note.get("guards", ()):
        result = results.pop(row.get("call"), {})
        stopped = result.get("outcome") in _STOPPED
        reason = row.get("reason") or (_text(result) if stopped else "")
        found.append({
            "tool": row["tool"], "call": row["call"], "said": dict(row["said"]), "reason": reason.removeprefix("Blocked: "),
            "decision": row.get("decision"), "answer": row.get("answer"), "outcome": result.get("outcome"),
        })  # fmt: skip
    for call, result in results.items():
        if result.get("outcome") in _STOPPED:
            said = {"a guard": "block"} if result["outcome"] == "blocked" else {"a guard": "ask"}
            reason = _text(result).removeprefix("Blocked: ")
            found.append({
                "tool": result.get("tool_name", ""), "call": call, "said": said, "reason": reason,
                "decision": None, "answer": None, "outcome": result["outcome"],
            })  # fmt: skip
    return found


def _usage(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of usage entries, and a row for each."""
    rows = []
    for data in entries:
        row = {name: data.get(name, 0) for name in BUCKETS}
        rows.append({"purpose": data.get("purpose"), "model": f"{data.get('provider', '')}/{data.get('model', '')}", **row,
                     "cost": data.get("cost"), "error": data.get("error")})  # fmt: skip
    known = [row["cost"] for row in rows if row["cost"] is not None]
    spent = [row for row in rows if any(row[name] for name in BUCKETS)]
    return {
        **{name: sum(row[name] for row in rows) for name in BUCKETS},
        "cost": sum(known) if known else None,
        "unpriced": sum(row["cost"] is None for row in spent),
        "requests": rows,
    }
