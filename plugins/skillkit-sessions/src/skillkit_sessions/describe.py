"""What an entry says, in words: blocks for people, and one line for a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillkit_core.contracts.session_store import (
    ASKED,
    DECISIONS,
    RESOLVED,
    SessionEntry,
    SessionHeader,
    custom_type,
    is_decision,
)

from .branches import role_of

__all__ = ["Part", "line_of", "parts_of", "relation", "title_of"]

_TITLES = {
    "user": "user",
    "assistant": "assistant",
    "tool_result": "result",
    "branch_summary": "summary of a branch",
    "compaction": "compaction",
    "model_change": "model",
    "thinking_level_change": "thinking",
    "custom_message": "note",
    "suspension": "waits for a decision",
}


def relation(header: SessionHeader) -> str:
    """What a session is to its ``parent_session``, in words that the parent's id follows."""
    return "by an agent of" if header.nested else "forked from"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an entry.

    Attributes:
        kind: text, thinking, call, result, media or data.
        text: what it says; of a call the arguments. name: the tool, or what the media is.
    """

    kind: str
    text: str
    name: str = ""


def title_of(entry: SessionEntry) -> str:
    """Who or what an entry is, in a word or two."""
    role = role_of(entry)
    kind = custom_type(entry)
    return "question" if kind == ASKED else "decision" if kind in (DECISIONS, RESOLVED) else _TITLES.get(role, role)


def parts_of(entry: SessionEntry) -> Iterator[Part]:
    """The pieces of an entry in their order."""
    message = entry.data.get("message")
    if isinstance(message, Mapping):
        if message.get("role") == "tool_result":
            yield Part("result", "failed" if message.get("is_error") else "", str(message.get("tool_name", "")))
        for block in message.get("content") or ():
            if isinstance(block, Mapping):
                yield _part(block)
        stop = message.get("stop_reason")
        if stop in ("aborted", "error", "length", "refusal"):
            yield Part("data", str(message.get("error") or f"stopped: {stop}"))
    elif entry.type in ("compaction", "branch_summary"):
        yield Part("text", str(entry.data.get("summary", "")))
    elif entry.type == "partial":
        yield Part("text", str(entry.data.get("text", "")))
    elif entry.type == "model_change":
        yield Part("text", _model(entry.data))
    elif entry.type == "thinking_level_change":
        yield Part("text", str(entry.data.get("thinking_level", "")))
    elif entry.type == "suspension":
        yield from _waiting(entry.data)
    elif custom_type(entry) == ASKED:
        yield from _waiting({"calls": [{**entry.data, "id": entry.data.get("call")}]})
    elif custom_type(entry) == RESOLVED:
        yield from _decided({"decisions": {str(entry.data.get("call")): entry.data}})
    elif is_decision(entry):
        yield from _decided(entry.data)
    elif entry.type == "label":
        label = entry.data.get("label")
        yield Part("data", f"{label!r} on {entry.data.get('entry_id')}" if label else "removed")
    elif entry.type == "leaf":
        yield Part("data", f"moved to {entry.data.get('entry_id') or 'the start'}")
    elif entry.data:
        yield Part("data", _json(entry.data))


def _part(block: Mapping[str, Any]) -> Part:
    kind = block.get("type")
    if kind == "tool_call":
        args = block.get("args")
        return Part("call", _json(args) if args is not None else str(block.get("raw_args", "")), str(block.get("name")))
    if kind == "thinking":
        return Part("thinking", str(block.get("thinking") or "(not readable)"))
    if kind in ("image", "document"):
        return Part("media", str(block.get("title") or block.get("url") or ""), str(kind))
    text = block.get("text")
    return Part("text", text) if isinstance(text, str) else Part("data", _json(block))


def _model(data: Mapping[str, Any]) -> str:
    """A model with its provider, and the wire protocol where that says more than the provider does."""
    provider, api = str(data.get("provider", "")), str(data.get("api", ""))
    name = "/".join(word for word in (provider, str(data.get("model", ""))) if word)
    return f"{name} ({api})" if api and api != provider else name


def _waiting(data: Mapping[str, Any]) -> Iterator[Part]:
    """The calls that wait, and what is asked about each."""
    for call in _mappings(data.get("calls")):
        yield Part("call", _json(call.get("args", {})), str(call.get("name")))
        asked = [
            f"{q.get('text')} ({q['plugin']})" if q.get("plugin") else str(q.get("text"))
            for q in _mappings(call.get("questions"))
        ]
        yield Part("text", f"call {call.get('id')}: {'; '.join(asked) or 'waits for the one before it'}")


def _decided(data: Mapping[str, Any]) -> Iterator[Part]:
    """What was decided about calls that waited."""
    decisions = data.get("decisions")
    for call_id, told in (decisions if isinstance(decisions, Mapping) else {}).items():
        reason = f": {told['reason']}" if isinstance(told, Mapping) and told.get("reason") else ""
        yield Part("text", f"{told.get('decision') if isinstance(told, Mapping) else told} {call_id}{reason}")


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in value or () if isinstance(item, Mapping))


def line_of(entry: SessionEntry) -> str:
    """An entry on one line."""
    words: list[str] = []
    for part in parts_of(entry):
        if part.kind == "call":
            words.append(f"→ {part.name} {part.text}" if part.text != "{}" else f"→ {part.name}")
        elif part.kind == "result":
            words.append(f"{part.name} {part.text}".strip() + ":")
        elif part.kind == "thinking":
            continue
        elif part.kind == "media":
            words.append(f"[{part.name}]")
        else:
            words.append(part.text)
    return " ".join(" ".join(words).split())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
