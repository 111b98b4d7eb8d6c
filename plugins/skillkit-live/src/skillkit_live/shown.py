"""What a session holds, as clients see it: entries, questions that wait, and names in place of images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from skillkit_core import Block, thaw

if TYPE_CHECKING:
    from skillkit_core import Question, QueueItem, SessionEntry, SuspendedCall

__all__ = [
    "APPROVAL", "SURVEY", "Waiting", "approval", "blob_name", "entry_json", "lean_entry", "name_of", "queued",
    "waiting_question",
]  # fmt: skip

APPROVAL, SURVEY = "approval", "survey"  # the kinds of questions


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question of a session that waits for an answer.

    Attributes:
        session: the id of the session.
        title: the title of the session, if it has one.
        folder: the workspace of the session.
        question: the question as clients see it.
        live: the session is open in this process.
    """

    session: str
    title: str | None
    folder: str
    question: Mapping[str, Any]
    live: bool


def blob_name(block: Block) -> str:
    """Return what stands for the data of an image or a document: ``blob:SHA256``."""
    return _blob(block.data)  # type: ignore[union-attr]


def _blob(data: Any) -> str:
    return f"blob:{sha256(str(data).encode()).hexdigest()}"


def entry_json(entry: SessionEntry) -> dict[str, Any]:
    """Return an entry of a session as JSON."""
    told = {"id": entry.id, "parent_id": entry.parent_id, "type": entry.type, "ts": entry.ts}
    return {**told, "data": json.loads(json.dumps(entry.data, default=dict))}


def lean_entry(entry: SessionEntry) -> dict[str, Any]:
    """Return an entry as JSON, with names in place of the data of images and documents."""
    told = entry_json(entry)
    for block in told["data"].get("message", {}).get("content", ()) if entry.type == "message" else ():
        if block.get("type") in ("image", "document") and block.get("data") is not None:
            block["blob"] = _blob(block.pop("data"))
    return told


def queued(item: QueueItem) -> dict[str, str]:
    """Return a queued message as JSON."""
    return {"id": item.id, "kind": item.kind, "text": item.text}


def approval(
    question: str, tool: str, call: str, args: Mapping[str, Any], questions: tuple[Question, ...], path: tuple[str, ...]
) -> dict[str, Any]:
    """Return the question about a tool call."""
    return {
        "id": question,
        "kind": APPROVAL,
        "tool": tool,
        "tool_call_id": call,
        "args": thaw(args),
        "questions": [{"text": q.text, "plugin": q.plugin, "rule": q.rule} for q in questions],
        "agent_path": list(path),
        "rememberable": bool(questions) and all(q.key is not None for q in questions),
        "preview": None,
    }


def waiting_question(call: SuspendedCall) -> dict[str, Any]:
    """Return the question about a call that waits in a session, or the survey of its tool."""
    name = name_of(call)
    if call.survey is not None:
        return {"id": name, "kind": SURVEY, "survey": call.survey.to_dict(), "suspended": True}
    return {**approval(name, call.name, call.id, call.args, call.questions, ("main",)), "suspended": True}


def name_of(call: SuspendedCall) -> str:
    """Return the name of the question about a call that waits; of old sessions that of the call."""
    return call.question or call.id
