"""What was said, as the conventions write it: JSON with roles and parts, without the secrets that the host knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit_core.frozen import thaw
from skillkit_core.messages import (
    AgentMessage,
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)
from skillkit_core.tools import Tool

__all__ = ["Content"]


class Content:
    """Writes messages, arguments and results for spans.

    Args:
        redact: replaces secrets in a text or in JSON, as :meth:`Host.redact`.
    """

    def __init__(self, redact: Any) -> None:
        self._redact = redact

    def json(self, value: Any) -> str:
        """Return a value as JSON, without secrets."""
        return json.dumps(self._redact(thaw(value)), ensure_ascii=False, default=str)

    def system(self, text: str) -> str:
        """Return a system prompt."""
        return self.json([{"type": "text", "content": text}])

    def messages(self, messages: Sequence[AgentMessage]) -> str:
        """Return what a model was sent."""
        return self.json([_message(message) for message in messages])

    def answer(self, message: AssistantMessage, finish: str) -> str:
        """Return what a model answered."""
        return self.json([{**_message(message), "finish_reason": finish}])

    def tools(self, tools: Sequence[Tool]) -> str:
        """Return the tools that a model was offered."""
        kind = {"type": "function"}
        return self.json(
            [{**kind, "name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
        )

    def blocks(self, blocks: Sequence[Block]) -> str:
        """Return the result of a tool: its text where it is text alone."""
        if all(isinstance(block, TextBlock) for block in blocks):
            return str(self._redact("\n".join(block.text for block in blocks if isinstance(block, TextBlock))))
        return self.json([_part(block) for block in blocks])


def _message(message: AgentMessage) -> dict[str, Any]:
    if isinstance(message, ToolResultMessage):
        parts = [
            {"type": "tool_call_response", "id": message.tool_call_id, "response": [_part(b) for b in message.content]}
        ]
        return {"role": "tool", "parts": parts}
    role = message.role if message.role in ("user", "assistant", "system") else "user"
    return {"role": role, "parts": [_part(block) for block in message.content]}


def _part(block: Block) -> Mapping[str, Any]:
    """Return a block. Of images and documents only what they are: their data would not fit into a span."""
    if isinstance(block, TextBlock | RefusalBlock):
        return {"type": "text", "content": block.text}
    if isinstance(block, ThinkingBlock):
        return {"type": "reasoning", "content": block.thinking}
    if isinstance(block, ToolCall):
        return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": block.args}
    if isinstance(block, ImageBlock | DocumentBlock):
        modality = "image" if isinstance(block, ImageBlock) else "document"
        return {"type": "blob", "modality": modality, "mime_type": block.mime_type}
    return {"type": block.type}
