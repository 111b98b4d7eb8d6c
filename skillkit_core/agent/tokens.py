"""Estimating tokens: the plugins' estimators by model, else four characters to a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..descriptors import load_object
from ..messages import AgentMessage, DocumentBlock, ImageBlock, ProviderBlock, ThinkingBlock, ToolCall

if TYPE_CHECKING:
    from ..host.manager import Host

__all__ = ["estimate_message", "estimate_tokens", "estimator_for"]

CHARACTERS = 4
MESSAGE_OVERHEAD = 4
IMAGE_TOKENS = 1_200


def estimate_tokens(text: str) -> int:
    """Four characters to a token, rounded up."""
    return (len(text) + CHARACTERS - 1) // CHARACTERS


def estimate_message(message: AgentMessage, estimate: Callable[[str], int] = estimate_tokens) -> int:
    """Estimated tokens of one message, whatever its blocks."""
    total = MESSAGE_OVERHEAD
    for block in message.content:
        text = getattr(block, "text", None)
        if isinstance(text, str):
            total += estimate(text)
        elif isinstance(block, ToolCall):
            total += estimate(block.raw_args or str(block.args)) + estimate(block.name)
        elif isinstance(block, ThinkingBlock):
            total += estimate(block.thinking) + estimate(block.data or "")
        elif isinstance(block, (ImageBlock, DocumentBlock)):
            total += IMAGE_TOKENS
        elif isinstance(block, ProviderBlock):
            total += estimate(str(block.data))
    return total


def estimator_for(host: Host, model_id: str) -> Callable[[str], int]:
    """The estimator for a model: the first registered one whose pattern fits."""
    from fnmatch import fnmatchcase

    for entry in host.token_estimators.entries():
        if any(fnmatchcase(model_id, pattern) for pattern in entry.item.models):
            found: Callable[[str], int] = load_object(entry.item.estimate)
            return found
    return estimate_tokens
