"""The three wire protocols that the scripted server speaks, one module each, and what a wire of one's own is made of."""

from __future__ import annotations

from ..decoder import Item, OfferedTool, RequestDecoder, calls_problem, text_of
from .anthropic import AnthropicMessages
from .base import Answer, Wire, WireEvent, line, sse
from .chat import OpenAIChat
from .responses import OpenAIResponses

__all__ = [
    "WIRES", "Answer", "Item", "OfferedTool", "RequestDecoder", "Wire", "WireEvent", "calls_problem", "line",
    "sse", "text_of",
]  # fmt: skip

WIRES: tuple[Wire, ...] = (AnthropicMessages(), OpenAIChat(), OpenAIResponses())
