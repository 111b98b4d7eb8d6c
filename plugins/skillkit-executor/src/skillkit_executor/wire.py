"""What the two sides say to each other, in the words of MCP: a tool's call, its live output, its questions, its output.

A call is ``tools/call`` with the arguments of the tool and, in ``_meta``, what the tool's context needs. Live output
and questions of the tool are progress notifications, whose ``progress`` numbers them from 1, so that each is taken once and in
order. The answer to a question, and an abort, are calls of two tools that no model sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import mcp_types as types

from skillkit_core import TokenUsage, ToolOutput, ToolResultMessage
from skillkit_core.messages import message_from_dict, message_to_dict
from skillkit_core.tools import plain_details

__all__ = ["ABORT", "ANSWER", "META", "START", "output_of", "result_of"]

META = "skillkit/call"
START, ANSWER, ABORT = "skillkit.start", "skillkit.answer", "skillkit.abort"
_FLAGS = ("is_error", "terminate", "pinned")


def result_of(output: ToolOutput, **more: Any) -> types.CallToolResult:
    """Return the output of a tool as a result of MCP; ``more`` is for the other side's eyes."""
    message = ToolResultMessage(tool_call_id="", tool_name="", content=output.blocks, ts=0.0)
    data: dict[str, Any] = {
        "content": message_to_dict(message)["content"],
        "details": plain_details(output.details),
        "usage": asdict(output.usage) if output.usage is not None else None,
        **{name: getattr(output, name) for name in _FLAGS},
        **more,
    }
    return types.CallToolResult(content=[], structured_content=data, is_error=output.is_error)


def output_of(data: Mapping[str, Any]) -> ToolOutput:
    """Return the output that :func:`result_of` was given."""
    message = message_from_dict(
        {"role": "tool_result", "tool_call_id": "", "tool_name": "", "content": data["content"], "ts": 0.0}
    )
    assert isinstance(message, ToolResultMessage)
    usage = TokenUsage(**data["usage"]) if data.get("usage") else None
    return ToolOutput(message.content, data["details"], usage=usage, **{name: bool(data[name]) for name in _FLAGS})
