"""The compactor contract: a compactor decides how a history becomes shorter, the core when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..abort import AbortSignal
from ..messages import AgentMessage
from ..models import ModelDefinition, TokenUsage

__all__ = ["CompactionRequest", "CompactionResult", "Compactor"]


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """One compaction, as a compactor gets it.

    Attributes:
        messages: the whole context, oldest first, legal.
        model: the model that answers next.
        reason: the cause of the compaction.
        tokens: estimate of the next request.
        window: tokens of the model's window.
        budget: most tokens that the shorter context should have.
        signal: set when the run is aborted.
        estimate: returns the tokens of any messages.
        complete: asks the run's model with a prompt behind some of the messages, made legal first, and returns the text of the
            answer, an empty one where the model refuses. The usage ledger counts the request.
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
    """A shorter context: the summary, the pinned messages from before ``keep_from``, and the kept messages.

    Moving the leaf to an entry before the compaction undoes all of it.

    Attributes:
        summary: text that replaces everything before ``keep_from``; may be empty.
        keep_from: index of the first message that is kept. The core moves an index between a tool call and its result back.
        replacements: messages that take the place of kept ones, by index: of the same role, with the same calls, thinking and
            call id, for example a long result cut short. A pinned message is not replaced.
        usage: tokens that were spent without ``complete``.
        details: JSON for people and programs, kept in the session.
    """

    summary: str
    keep_from: int
    replacements: Mapping[int, AgentMessage] = field(default_factory=dict)
    usage: TokenUsage | None = None
    details: Any = None


class Compactor(ABC):
    """Makes a history shorter. Registered by ``register_compactors``, chosen by ``select_compactor`` or the configuration."""

    @abstractmethod
    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """Return the shorter history, never an empty one, or ``None`` when nothing can be left out."""
