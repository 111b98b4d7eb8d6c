"""Messages, tools and system prompt as the JSON of the Messages API, with the handover rules of spec section 11.

Source of the shapes: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from skillkit_core.messages import (
    AgentMessage,
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    ProviderBlock,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)
from skillkit_core.models import ModelDefinition
from skillkit_core.tools import Tool

from .thinking import is_unknown

__all__ = ["API", "Target", "assistant_blocks", "strict_allowed", "tool_entries", "user_blocks", "wire_id"]

API = "anthropic-messages"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_BAD = re.compile(r"[^A-Za-z0-9_-]")
_PARTIAL = frozenset({StopReason.aborted, StopReason.error})
_MIMES = {
    "image": frozenset(("image/jpeg", "image/png", "image/gif", "image/webp")),
    "document": frozenset(("application/pdf",)),
}
_MIME_ALIASES = {"image/jpg": "image/jpeg"}


class Target(NamedTuple):
    """Whom a history is encoded for: thinking replays to exactly this; ``images`` and ``pdfs`` are what the model takes.

    ``signs``: the server signs all thinking, and refuses any that is not.
    """

    provider: str
    model: str
    images: bool = True
    pdfs: bool = True
    signs: bool = True

    @classmethod
    def of(cls, provider: str, model: ModelDefinition, *, signs: bool = True) -> Target:
        """The target of a request; a model that nobody described is expected to see."""
        unknown = is_unknown(model)
        able = model.capabilities
        return cls(provider, model.id, unknown or "image" in able, unknown or "pdf" in able, signs)


def wire_id(call_id: str) -> str:
    """The id of a tool call as this wire takes it: unchanged where it fits, else shortened and made unique by a hash.

    A function of the id alone, so calls and their results always agree.
    """
    if _ID.match(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_BAD.sub('_', call_id)[:47]}_{digest}"


def wire_name(name: str) -> str:
    """The name of a tool as this wire takes it; a model may have written anything."""
    return name if _ID.match(name) else (_BAD.sub("_", name)[:64] or "_")


# ---------------------------------------------------------------- what the user and the tools said


def _media(block: ImageBlock | DocumentBlock, target: Target) -> dict[str, Any] | None:
    """An image or document block, or ``None`` when it holds nothing."""
    kind = block.type
    mime = _MIME_ALIASES.get(block.mime_type, block.mime_type)
    source: dict[str, Any]
    if mime.startswith("audio/"):
        return {"type": "text", "text": "[audio left out: the Messages API takes none]"}
    if not (target.images if kind == "image" else target.pdfs):
        return {"type": "text", "text": f"[{kind} left out: this model does not take it]"}
    if block.data:
        if kind == "document" and mime.startswith("text/"):
            text = _text_of_base64(block.data)
            source = {"type": "text", "media_type": "text/plain", "data": text}
            if not text.strip():
                return None
        elif mime in _MIMES[kind]:
            source = {"type": "base64", "media_type": mime, "data": block.data}
        else:
            return {"type": "text", "text": f"[{kind} left out: {mime} is not taken]"}
    elif block.url:
        source = {"type": "url", "url": block.url}
    else:
        return None
    entry: dict[str, Any] = {"type": kind, "source": source}
    if isinstance(block, DocumentBlock) and block.title:
        entry["title"] = block.title
    return entry


def _text_of_base64(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data


def _plain(blocks: Iterable[Block], target: Target) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, (TextBlock, RefusalBlock)):
            if block.text.strip():
                out.append({"type": "text", "text": block.text})
        elif isinstance(block, ThinkingBlock):
            if block.thinking.strip():
                out.append({"type": "text", "text": block.thinking})
        elif isinstance(block, (ImageBlock, DocumentBlock)):
            entry = _media(block, target)
            if entry is not None:
                out.append(entry)
    return out


def user_blocks(message: AgentMessage, target: Target) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """``(tool results, other blocks)`` of a user or tool result message; results stand first in a user message.

    The wire wants text, and text alone, in a result with ``is_error``: images of a failed tool follow after the results.
    """
    blocks = _plain(message.content, target)
    if not isinstance(message, ToolResultMessage):
        return [], blocks
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(message.tool_call_id)}
    aside: list[dict[str, Any]] = []
    if message.is_error:
        aside = [b for b in blocks if b["type"] != "text"]
        blocks = [b for b in blocks if b["type"] == "text"] or [{"type": "text", "text": "(no output)"}]
    if blocks:
        result["content"] = blocks
    if message.is_error:
        result["is_error"] = True
    return [result], aside


# ---------------------------------------------------------------- what a model said


def assistant_blocks(message: AssistantMessage, target: Target, asked: set[str]) -> list[dict[str, Any]]:
    """The blocks of an assistant message.

    Same provider, api and model: thinking, citations and extra fields replay as they came; without a signature only to a
    server that signs none, of an answer that was not cut off (DeepSeek and Kimi refuse a tool loop without its thinking).
    Any other: thinking becomes text, opaque thinking is left out. Server-side tools and their results replay to the same
    provider and api only; ``asked`` collects the ids of their calls over a history.
    """
    home = message.api == API and message.provider == target.provider
    same = home and message.model == target.model
    unsigned = not target.signs and message.stop_reason not in _PARTIAL
    out: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, TextBlock):
            if block.text.strip():
                entry: dict[str, Any] = {"type": "text", "text": block.text}
                if block.citations and home:
                    entry["citations"] = block.citations
                out.append(entry)
        elif isinstance(block, ThinkingBlock):
            thought = _thinking(block, same, unsigned)
            if thought is not None:
                out.append(thought)
        elif isinstance(block, ToolCall):
            out.append(_tool_use(block, same))
        elif isinstance(block, ProviderBlock):
            if home:
                out.append(_provider_block(block))
        elif isinstance(block, RefusalBlock) and block.text.strip():
            out.append({"type": "text", "text": block.text})
    return _ending(_paired(out, message, asked))


def _provider_block(block: ProviderBlock) -> dict[str, Any]:
    """The block as it came; the input of a call has to be an object, whatever the model wrote."""
    entry = {**block.data, "type": block.kind}
    if isinstance(entry.get("input"), str):
        entry["input"] = {"invalid_arguments": entry["input"]}
    return entry


def _thinking(block: ThinkingBlock, same: bool, unsigned: bool) -> dict[str, Any] | None:
    if same and block.redacted:
        return {"type": "redacted_thinking", "data": block.data} if block.data else None
    if same and (block.signature or (unsigned and block.thinking.strip())):
        return {"type": "thinking", "thinking": block.thinking, "signature": block.signature or ""}
    return {"type": "text", "text": block.thinking} if block.thinking.strip() else None


def _tool_use(call: ToolCall, same: bool) -> dict[str, Any]:
    """A call; arguments that are no JSON object (their result says so) are shown to the model as the text that it wrote."""
    args: Any = call.args if call.args is not None else {"invalid_arguments": call.raw_args}
    entry = {"type": "tool_use", "id": wire_id(call.id), "name": wire_name(call.name), "input": args}
    if same and call.provider_data:
        entry |= {k: v for k, v in call.provider_data.items() if k not in entry}
    return entry


def _paired(blocks: list[dict[str, Any]], message: AssistantMessage, asked: set[str]) -> list[dict[str, Any]]:
    """Without server-side results whose call is missing, and server-side calls that were never answered (a cut stream).

    A paused turn ends in such a call on purpose: the provider goes on with it, and the result opens the next message. So
    does a turn with client calls: code that runs at the provider waits for their results. ``asked`` holds the calls of
    the history so far; this message's are added.
    """
    answered = {b.get("tool_use_id") for b in blocks if str(b["type"]).endswith("_tool_result")}
    waiting = message.raw_stop_reason in ("pause_turn", "tool_use")
    out: list[dict[str, Any]] = []
    for block in blocks:
        kind = str(block["type"])
        if kind.endswith("_tool_use"):
            if not waiting and block.get("id") not in answered:
                continue
            asked.add(str(block.get("id")))
        if kind.endswith("_tool_result") and "tool_use_id" in block and block["tool_use_id"] not in asked:
            continue
        out.append(block)
    return out


def _ending(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The wire refuses a message that ends in thinking (an answer cut there): what can be read of it becomes text."""
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        last = blocks.pop()
        if last.get("thinking", "").strip():
            blocks.append({"type": "text", "text": last["thinking"]})
    return blocks


# ---------------------------------------------------------------- tools


_STRICT_KEYWORDS = frozenset(
    (
        *(
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minItems",
            "enum",
            "const",
            "anyOf",
            "allOf",
        ),
        *("description", "title", "default", "format", "$defs", "definitions"),
    )
)
_STRICT_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
)


def strict_allowed(schema: Any) -> bool:
    """Whether the provider can enforce ``schema``: closed objects and the keywords it knows, nothing recursive.

    Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs (JSON Schema limitations).
    """
    if not isinstance(schema, Mapping) or any(k not in _STRICT_KEYWORDS for k in schema):
        return False  # also "$ref", which may be recursive
    if schema.get("format", "date") not in _STRICT_FORMATS or schema.get("minItems", 0) not in (0, 1):
        return False
    kind = schema.get("type")
    if (kind == "object" or "properties" in schema) and schema.get("additionalProperties") is not False:
        return False
    inner: list[Any] = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("allOf", ())]
    if "items" in schema:
        inner.append(schema["items"])
    for name in ("$defs", "definitions"):
        inner += schema.get(name, {}).values()
    return all(strict_allowed(s) for s in inner)


def tool_entries(tools: Sequence[Tool], *, strict: bool) -> list[dict[str, Any]]:
    """The tools sorted by name, so that the same set gives the same bytes."""
    out: list[dict[str, Any]] = []
    for tool in sorted(tools, key=lambda t: t.name):
        schema: Mapping[str, Any] = tool.parameters
        if "type" not in schema:
            schema = {"type": "object", **schema}
        entry: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": schema}
        if not tool.description:
            del entry["description"]
        if tool.strict and strict and strict_allowed(schema):
            entry["strict"] = True
        out.append(entry)
    return out
