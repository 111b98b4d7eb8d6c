"""The approver contract: who answers when a guard asks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["ApprovalDecision", "ApprovalRequest", "Approver", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """What one guard wants to know; ``key`` makes an answer sticky for (tool, key), ``None`` for this call alone."""

    text: str
    plugin: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One call and everything the guards ask about it. ``args`` are what will run."""

    tool_name: str
    tool_call_id: str
    args: Mapping[str, Any]
    questions: Sequence[Question]
    agent_path: tuple[str, ...] = ("main",)


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """The answer: allow runs exactly the arguments that were shown; defer suspends the run."""

    decision: Literal["allow", "deny", "defer"]
    reason: str = ""
    remember: bool = False


class Approver(ABC):
    """Answers approvals. A run without one denies whatever would be asked."""

    @abstractmethod
    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide one call. It is cancelled when the run is aborted."""
