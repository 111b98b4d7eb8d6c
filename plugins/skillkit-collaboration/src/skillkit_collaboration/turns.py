"""One turn: what a participant is told, and the message that its answer is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core.messages import clean

from .checking import fold, prompt_of
from .desk import object_in
from .protocol import STATUS_OF, SUPERVISOR

if TYPE_CHECKING:
    from .desk import Desk
    from .models import Refusal
    from .record import Record

__all__ = ["instructions", "message_in", "request"]

MEANINGS: Mapping[str, str] = {
    "proposal": "your whole text, to be judged",
    "critique": "what has to change in the newest text, and why",
    "revision": "the whole text again, with what was asked for",
    "approval": "the newest text is good as it is; this ends the session",
    "rejection": "the newest text will not do, and why",
    "request_info": "a question to another participant",
    "info_response": "the answer to a question to you",
    "delegation": "a task for a participant",
}
_TEXTS = ("proposal", "revision")


def instructions(record: Record, desk: Desk, called: str, refused: Refusal | None) -> str:
    """Return what a participant is told in front of the thread: who it is, and what its message may be."""
    role = record.roles.get(called)
    others = [f"{name} ({record.roles[name]})" if record.roles.get(name) else name for name in record.names]
    lines = [
        f"You are {called}{f', the {role},' if role else ''} in a session in which {', '.join(others)} work on one thing by "
        "messages. Below stands the thread so far.",
    ]
    if own := prompt_of(record.config, called):
        lines.append(own.strip())
    kinds = desk.allowed(called)
    lines.append("Your answer is one message, as a JSON object and nothing else:")
    shown = {"message_type": " | ".join(kinds), "recipient": "NAME", "content": "...", "structured_data": {}}
    lines.append(json.dumps({**shown, "references": []}))
    lines += [f"- {kind}: {MEANINGS[kind]}" for kind in kinds]
    names = [name for name in (*record.names, SUPERVISOR) if name != called]
    lines.append(f"recipient is one of: {', '.join(names)}.")
    lines.append('Put "no_further_changes": true into structured_data if you want nothing changed any more.')
    if refused is not None:
        lines.append(
            f"Your last message was refused. {refused.rule}: {refused.text}. You may send now: "
            f"{', '.join(refused.allowed) or 'nothing'}."
        )
    return "\n".join(lines)


def request(record: Record, desk: Desk, called: str) -> str:
    """Return the request of a turn: that of the session, and what is wanted of it now."""
    kinds = [kind for kind in desk.allowed(called) if kind not in ("request_info", "info_response")]
    return f"{record.query}\n\n[{called}: your message now, as the JSON object: {', '.join(kinds) or 'request_info'}]"


async def message_in(text: str, record: Record, desk: Desk, called: str) -> dict[str, Any] | None:
    """Return the message that an answer is, not yet judged; ``None``: it is none.

    An answer that is no object is a text of somebody who may write and not judge; else a model is asked once what it is.
    """
    found = object_in(text, "message_type")
    if found is None:
        kinds = desk.allowed(called)
        kind = _text_type(kinds)
        if kind is None:
            found = await _asked(text, desk, called, kinds)
        else:
            found = {"message_type": kind}
        if found is None:
            return None
        found = {**found, "content": text}
    return _whole(found, record, called)


def _text_type(kinds: Sequence[str]) -> str | None:
    if not {"critique", "approval", "rejection"}.isdisjoint(kinds):
        return None
    return next((kind for kind in ("revision", "proposal") if kind in kinds), None)


async def _asked(text: str, desk: Desk, called: str, kinds: Sequence[str]) -> Mapping[str, Any] | None:
    schema = {
        "type": "object",
        "properties": {"message_type": {"type": "string", "enum": list(kinds)}},
        "required": ["message_type"],
        "additionalProperties": False,
    }
    about = "\n".join(f"- {kind}: {MEANINGS[kind]}" for kind in kinds)
    words = (
        f"{called} has answered, and did not say what its message is. What it wrote:\n<answer>\n{text}\n</answer>\n"
        f'Which type of message is it?\n{about}\nAnswer {{"message_type": "TYPE"}}.'
    )
    found = await desk.ask(words, schema=schema, purpose="form")
    return found if found is not None and str(found.get("message_type")) in kinds else None


def _whole(found: Mapping[str, Any], record: Record, called: str) -> dict[str, Any]:
    """Return a message with what its answer leaves out: the recipient, and the status of its type."""
    kind = str(found.get("message_type")).strip().casefold().replace("-", "_").replace(" ", "_")
    content = found.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False) if content else ""
    data, references = found.get("structured_data"), found.get("references")
    return {
        "sender": called,
        "recipient": _recipient(found.get("recipient"), record, called),
        "message_type": kind,
        "content": clean(text),
        "structured_data": data if isinstance(data, Mapping) else {},
        "references": [str(one) for one in references] if isinstance(references, list) else [],
        "status": found.get("status") or STATUS_OF.get(kind, "pending"),
    }


def _recipient(given: Any, record: Record, called: str) -> str:
    """Return the recipient as the session calls it; who spoke last, or the supervisor, where the answer names none."""
    if isinstance(given, str) and given.strip():
        folded = {fold(name): name for name in (*record.names, SUPERVISOR)}
        return folded.get(fold(given), given)
    last = record.messages[-1].sender if record.messages else SUPERVISOR
    return last if last != called else SUPERVISOR
