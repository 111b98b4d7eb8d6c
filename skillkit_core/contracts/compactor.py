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
        model: the model that answers next.
        reason: why now.
        tokens: estimate of the next request.
        window: tokens of the model's window.
        budget: most tokens that the shorter context should have.
        signal: set when the run is aborted.
        estimate: returns the tokens of any messages.
        complete: asks the run's model with a prompt behind some of the messages, made legal first, and returns its text. The
            usage is counted.
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
    """A shorter context.

    Attributes:
        summary: stands for everything before ``keep_from``.
        keep_from: index of the first message that is kept. Where the index lies between a tool call and its result, the core
            moves it back.
        usage: tokens that were spent without ``complete``.
        details: for people and programs (JSON), kept in the session.
    """

    summary: str
    keep_from: int
    usage: TokenUsage | None = None
    details: Any = None


class Compactor(ABC):
    """Shortens a history. Brought in by ``register_compactors``, chosen by ``select_compactor`` or the configuration."""

    @abstractmethod
    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """Return the shorter history, never an empty one, or ``None`` when nothing can be left out."""
