"""The rules by which the Messages API refuses a request, checked here so that a test or ``--debug`` can say which.

Source: https://platform.claude.com/docs/en/api/messages and the pages on tool use, thinking and prompt caching.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["problems_of"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_MOST_MARKS = 4


def problems_of(body: Mapping[str, Any], *, signs: bool = True) -> list[str]:
    """Why the wire would refuse ``body``, one line each; empty when it is fine. ``signs``: thinking needs a signature."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is needed"]
    out = [*_top(body), *_order(messages)]
    for i, message in enumerate(messages):
        out += _content(f"messages.{i}", message, signs)
    out += _calls(messages)
    marks = sum(_marks(part) for part in (body.get("tools"), body.get("system"), messages))
    if marks > _MOST_MARKS:
        out.append(f"cache_control: {marks} breakpoints, at most {_MOST_MARKS} are allowed")
    return out


def _top(body: Mapping[str, Any]) -> Iterator[str]:
    most = body.get("max_tokens")
    if not isinstance(most, int) or most < 1:
        yield "max_tokens: must be at least 1"
    thinking = body.get("thinking")
    if isinstance(thinking, Mapping) and thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1_024:
            yield "thinking.budget_tokens: must be at least 1024"
        elif isinstance(most, int) and budget >= most:
            yield "thinking.budget_tokens: must be less than max_tokens"
        if body.get("temperature", 1) != 1:
            yield "temperature: may only be 1 while thinking has a budget"
    forces = isinstance(choice := body.get("tool_choice"), Mapping) and choice.get("type") in ("any", "tool")
    if forces and isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive"):
        yield "tool_choice: may not force a tool beside thinking"
    names = [t.get("name") for t in body.get("tools") or ()]
    for name in sorted({str(n) for n in names if names.count(n) > 1}):
        yield f"tools: the name {name!r} is there twice"
    for i, tool in enumerate(body.get("tools") or ()):
        if "input_schema" not in tool:
            continue  # a tool of the provider
        if not _NAME.match(str(tool.get("name"))):
            yield f"tools.{i}.name: {tool.get('name')!r} does not match [A-Za-z0-9_-]{{1,128}}"
        if tool["input_schema"].get("type") != "object":
            yield f"tools.{i}.input_schema.type: must be 'object'"
    if isinstance(choice, Mapping) and choice.get("type") == "tool" and choice.get("name") not in names:
        yield f"tool_choice.name: there is no tool {choice.get('name')!r}"


def _order(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if messages[0].get("role") != "user":
        yield "messages.0: the first message must be the user's"
    last = messages[-1]
    if last.get("role") == "assistant" and isinstance(last.get("content"), list) and last["content"]:
        block = last["content"][-1]
        if block.get("type") == "text" and block["text"] != block["text"].rstrip():
            yield f"messages.{len(messages) - 1}: a last message of the assistant may not end in whitespace"


def _content(where: str, message: Mapping[str, Any], signs: bool) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        yield f"{where}.role: {role!r} is neither 'user' nor 'assistant'"
    if not content:
        yield f"{where}.content: must not be empty"
    if not content or not isinstance(content, list):
        return
    others = False
    for j, block in enumerate(content):
        yield from _block(f"{where}.content.{j}", block, str(role))
        if block.get("type") == "thinking" and signs and not block.get("signature"):
            yield f"{where}.content.{j}: thinking needs its signature"
        if block.get("type") == "tool_result":
            if others:
                yield f"{where}.content.{j}: tool results come before everything else"
        else:
            others = True
    if role == "assistant" and content[-1].get("type") in ("thinking", "redacted_thinking"):
        yield f"{where}: the last block of an assistant message may not be thinking"


def _block(where: str, block: Mapping[str, Any], role: str) -> Iterator[str]:
    kind = block.get("type")
    home = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant"}
    home |= {"tool_result": "user", "image": "user", "document": "user"}
    if home.get(str(kind), role) != role:
        yield f"{where}: a {kind} block cannot be the {role}'s"
    if kind == "text" and not str(block.get("text", "")).strip():
        yield f"{where}: text must not be empty"
    elif kind == "redacted_thinking" and not block.get("data"):
        yield f"{where}: redacted thinking needs its data"
    elif kind == "tool_use":
        if not _ID.match(str(block.get("id"))):
            yield f"{where}.id: {block.get('id')!r} does not match [A-Za-z0-9_-]{{1,64}}"
        if not isinstance(block.get("input"), Mapping):
            yield f"{where}.input: must be an object"
    elif kind == "tool_result":
        content = block.get("content")
        if block.get("is_error") and not content:
            yield f"{where}: a result that is an error must say something"
        for k, inner in enumerate(content if isinstance(content, list) else ()):
            if block.get("is_error") and inner.get("type") != "text":
                yield f"{where}.content.{k}: only text may stand in a result that is an error"
            yield from _block(f"{where}.content.{k}", inner, role)
    elif kind == "image":
        source = block.get("source") or {}
        if source.get("type") == "base64" and source.get("media_type") not in _IMAGES:
            yield f"{where}: images are JPEG, PNG, GIF or WebP, not {source.get('media_type')!r}"
    if "cache_control" in block and kind in ("thinking", "redacted_thinking"):
        yield f"{where}: thinking cannot be a cache breakpoint"


def _calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Every call has its one result in the next message, and no result is without its call."""
    ids: set[str] = set()
    for i in range(len(messages)):
        blocks = _blocks(messages, i)
        calls = [str(b.get("id")) for b in blocks if b.get("type") == "tool_use"]
        for call in calls:
            if call in ids:
                yield f"messages.{i}: the tool call id {call!r} is used twice"
            ids.add(call)
        if calls:
            following = _blocks(messages, i + 1)
            answered = [b.get("tool_use_id") for b in following if b.get("type") == "tool_result"]
            for call in calls:
                if call not in answered:
                    yield f"messages.{i}: tool call {call!r} has no result in the next message"
        results = [str(b.get("tool_use_id")) for b in blocks if b.get("type") == "tool_result"]
        asked = [b.get("id") for b in _blocks(messages, i - 1) if b.get("type") == "tool_use"]
        for result in results:
            if result not in asked:
                yield f"messages.{i}: the result for {result!r} has no call in the message before"
            if results.count(result) > 1:
                yield f"messages.{i}: tool call {result!r} has more than one result"


def _blocks(messages: Sequence[Mapping[str, Any]], i: int) -> Sequence[Mapping[str, Any]]:
    content = messages[i].get("content") if 0 <= i < len(messages) else None
    return content if isinstance(content, list) else ()


def _marks(part: Any) -> int:
    if isinstance(part, Mapping):
        return ("cache_control" in part) + sum(_marks(v) for k, v in part.items() if k in ("content",))
    if isinstance(part, list):
        return sum(_marks(v) for v in part)
    return 0
