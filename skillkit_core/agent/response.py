"""What a run gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..messages import AgentMessage, StopReason
from ..models import TokenUsage

__all__ = ["AgentResponse", "RunOutcome"]

RunOutcome: TypeAlias = Literal["completed", "aborted", "failed", "limit", "suspended"]


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """The answer of a run, whole or as far as it got.

    Attributes:
        content: the text of the run's last answer.
        usage: tokens of the run, every attempt included.
        messages: what the run added to the conversation.
        outcome: how it ended. stop_reason: why the last answer ended.
        cost: US dollars, ``None`` when a price is unknown.
    """

    content: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    messages: Sequence[AgentMessage] = ()
    outcome: RunOutcome = "completed"
    session_id: str | None = None
    run_id: str | None = None
    stop_reason: StopReason | None = None
    cost: float | None = None
    reason: str = ""

    def __str__(self) -> str:
        return self.content

    def to_dict(self) -> dict[str, Any]:
        """The response as JSON output shows it (without the messages)."""
        return {
            "content": self.content,
            "outcome": self.outcome,
            "stop_reason": None if self.stop_reason is None else str(self.stop_reason),
            "usage": self.usage.to_dict(),
            "cost": self.cost,
            "session_id": self.session_id,
            "run_id": self.run_id,
        }
