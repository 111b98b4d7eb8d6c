"""The three wire protocols that the scripted server speaks, one module each."""

from __future__ import annotations

from .anthropic import AnthropicMessages
from .base import Wire
from .chat import OpenAIChat
from .responses import OpenAIResponses

__all__ = ["BY_API", "BY_PATH", "Wire"]

_WIRES: tuple[Wire, ...] = (AnthropicMessages(), OpenAIChat(), OpenAIResponses())
BY_API: dict[str, Wire] = {wire.api: wire for wire in _WIRES}
BY_PATH: dict[str, Wire] = {wire.path: wire for wire in _WIRES}
