"""Requests as the Messages API gets them, and what the tests say in them."""

from __future__ import annotations

import json
from typing import Any

from skillkit_anthropic.request import RequestEncoder
from skillkit_anthropic.validate import problems_of

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from skillkit_core.models import ModelDefinition
from skillkit_core.tools import Tool

MODEL = ModelDefinition("claude-sonnet-4-5", "anthropic")
SIGHTLESS = ModelDefinition("claude-sonnet-4-5", "anthropic", context_window=200_000, max_output_tokens=64_000)
HERE = {"provider": "anthropic", "api": "anthropic-messages", "model": MODEL.id}


async def nothing(args: Any, ctx: Any) -> str:
    return ""


def tool(name: str, **fields: Any) -> Tool:
    return Tool(name, f"Does {name}.", nothing, **fields)


def encode(
    messages: list[Any], *, encoder: RequestEncoder | None = None, model: ModelDefinition = MODEL, **fields: Any
) -> bytes:
    request = LLMRequest(model, messages, **fields)
    return (encoder or RequestEncoder("anthropic")).encode(request).content


def body(messages: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    return json.loads(encode(messages or [UserMessage(content="hi")], **fields))


def valid(messages: list[Any], **fields: Any) -> dict[str, Any]:
    sent = body(messages, **fields)
    assert problems_of(sent) == []
    return sent


def call(call_id: str, name: str = "look", **args: Any) -> ToolCall:
    return ToolCall(call_id, name, args, json.dumps(args))


def said(*blocks: Any, **fields: Any) -> AssistantMessage:
    return AssistantMessage(content=blocks, **{**HERE, **fields})


def result(call_id: str, content: Any = "done", **fields: Any) -> ToolResultMessage:
    return ToolResultMessage(content=content, tool_call_id=call_id, tool_name="look", **fields)


def marks(value: Any, path: str = "") -> list[str]:
    """Where the cache breakpoints are."""
    out = []
    if isinstance(value, dict):
        if "cache_control" in value:
            out.append(path)
        for k, v in value.items():
            out += marks(v, f"{path}.{k}" if path else k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            out += marks(v, f"{path}.{i}")
    return out


def unmarked(content: bytes) -> bytes:
    return content.replace(b',"cache_control":{"type":"ephemeral"}', b"")
