"""The compactor contract: how a history becomes shorter. The core decides when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..abort import AbortSignal
from ..messages import AgentMessage
from ..models import ModelDefinition, TokenUsage

__all__ = ["CompactionRequest", "CompactionResult", "Compactor"]


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """What a compactor is given.

    Attributes:
        messages: the whole context, oldest first, legal.
        reason: why now.
        tokens: estimate of the next request; ``window``: the model's; ``budget``: what should be left at most.
        estimate: tokens of any messages.
        complete: asks the run's model with a prompt behind some of the messages, made legal first, and gives its text (the
            usage goes to the books).
    """

    messages: Sequence[AgentMessage]
    model: ModelDefinition
    reason: Literal["threshold", "overflow", "manual"]
    tokens: int
    window: int
    budget: int
    signal: AbortSignal
    estimate: Callable[[Sequence[AgentMessage]], int]
    complete: Callable[[str, Sequence[AgentMessage]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """A shorter context: ``summary`` stands for everything before ``keep_from`` (an index into the messages).

    ``keep_from`` never lies between a tool call and its result; the core moves it back where it does.
    """

    summary: str
    keep_from: int
    usage: TokenUsage | None = None
    details: Any = None


class Compactor(ABC):
    """Shortens a history. Brought in by ``register_compactors``, chosen by ``select_compactor`` or the configuration."""

    @abstractmethod
    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """The shorter history, or ``None`` when nothing can be left out. Never an empty history."""
