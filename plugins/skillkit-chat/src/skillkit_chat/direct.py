"""A stand-in for a model that makes one given call: how ``--skill NAME ACTION`` takes the road of every other call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from skillkit_core import (
    LLMAdapter,
    LLMRequest,
    Outcome,
    StopReason,
    StreamEvent,
    TokenUsage,
    ToolResultMessage,
)

__all__ = ["DirectCall"]


class DirectCall(LLMAdapter):
    """Calls one tool with the given arguments and repeats its result as the answer.

    The call passes the same guards, runtime, events and session log as one that a model makes.
    """

    api = "direct"
    provider = "direct"

    def __init__(self, tool_name: str, args: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._args = dict(args)

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """First the call, then its result."""
        last = request.messages[-1] if request.messages else None
        if isinstance(last, ToolResultMessage):
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", _answer(last), index=0)
            yield StreamEvent("text_end", index=0)
            stop = StopReason.stop if last.outcome is Outcome.ok else StopReason.refusal
            yield StreamEvent("done", usage=TokenUsage(), stop_reason=stop)
            return
        name, call_id = self._tool_name, f"direct_{len(request.messages)}"
        yield StreamEvent("tool_call_start", index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("tool_call_delta", json.dumps(self._args), index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("tool_call_end", index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("done", usage=TokenUsage(), stop_reason=StopReason.tool_calls)


def _answer(result: ToolResultMessage) -> str:
    """What a person wants to read of a result: the action's own answer where it gives one, else the text."""
    details = result.details
    answer = details.get("answer") if isinstance(details, Mapping) and not result.is_error else None
    return answer if isinstance(answer, str) else result.text
