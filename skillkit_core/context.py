"""The context pipeline's public type: a function that changes what one request sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from .messages import AgentMessage

__all__ = ["ContextTransformer"]

ContextTransformer: TypeAlias = Callable[[list[AgentMessage]], Awaitable[list[AgentMessage]]]
