"""Blocks from the whole items and parts of the Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_transport import encode

from skillkit_core.frozen import freeze
from skillkit_core.messages import Block, ProviderBlock, RefusalBlock, TextBlock, ThinkingBlock, ToolCall
from skillkit_core.stream import parse_tool_args

__all__ = ["CALLS", "delta_of", "item_block", "part_block", "text_field", "text_of_block", "thought_of", "written"]

CALLS = frozenset({"function_call", "custom_tool_call"})


def delta_of(event: Mapping[str, Any]) -> str:
    """The text of a delta event."""
    delta = event.get("delta")
    if delta is not None and not isinstance(delta, str):
        raise TypeError("a delta is text")
    return delta or ""


def text_field(value: Mapping[str, Any], name: str) -> str:
    """The text field ``name``, empty where it is absent."""
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise TypeError(f"{name} is text")
    return text or ""


def part_block(part: Mapping[str, Any], phase: str = "") -> TextBlock | RefusalBlock | None:
    """The block of a part of a message, which remembers the ``phase`` of its message; ``None``: not text."""
    kind = part.get("type")
    if kind == "refusal":
        return RefusalBlock(text_field(part, "refusal"))
    if kind in ("output_text", "text"):
        citations = tuple(freeze(a) for a in part.get("annotations") or ())
        return TextBlock(text_field(part, "text"), citations, freeze({"phase": phase} if phase else {}))
    return None


def written(item: Mapping[str, Any]) -> str:
    """The arguments of a call, as the model wrote them."""
    value = item.get("input") if item.get("type") == "custom_tool_call" else item.get("arguments")
    if isinstance(value, Mapping):
        return encode(value).decode()
    return value if isinstance(value, str) else ""


def thought_of(item: Mapping[str, Any]) -> str:
    """What a reasoning item lets read: its summaries, or if there are none the reasoning itself."""
    for name in ("summary", "content"):
        text = "".join(text_field(p, "text") for p in item.get(name) or () if isinstance(p, Mapping))
        if text:
            return text
    return ""


def item_block(item: Mapping[str, Any]) -> Block:
    """The block of a whole output item."""
    kind = text_field(item, "type")
    if kind == "reasoning":
        data = text_field(item, "encrypted_content") or None
        return ThinkingBlock(thought_of(item), data=data, provider_data=freeze({"item": item}))
    if kind not in CALLS:
        return ProviderBlock(kind or "unknown", freeze(item))
    raw = written(item)
    custom = kind == "custom_tool_call"
    args = None if custom else parse_tool_args(raw)
    keep = {k: v for k, v in item.items() if k not in ("arguments", "call_id", "input", "name", "status", "type")}
    if custom:
        keep["type"] = kind
    cut = args is None and not custom and item.get("status") in ("in_progress", "incomplete")
    id = text_field(item, "call_id") or text_field(item, "id")
    return ToolCall(id, text_field(item, "name"), args, raw, incomplete=cut, provider_data=freeze(keep))


def text_of_block(block: Block) -> str:
    """What the deltas of a block say."""
    if isinstance(block, ThinkingBlock):
        return block.thinking
    return block.raw_args if isinstance(block, ToolCall) else ""
