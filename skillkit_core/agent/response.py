"""The response of a run."""

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
    """The response of a run, also of one that was aborted or failed.

    Attributes:
        content: the text of the run's last answer.
        usage: the tokens of the run, with retries and nested runs.
        messages: the messages that the run added to the conversation.
        outcome: how the run ended.
        session_id: the session of the run.
        run_id: the id of the run.
        stop_reason: why the last answer ended.
        cost: US dollars; ``None`` when a price is unknown.
        reason: why the run has its outcome; empty for most completed runs.
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
        """Return the response as JSON values, without ``messages`` and ``reason``."""
        return {
            "content": self.content, "outcome": self.outcome,
            "stop_reason": None if self.stop_reason is None else str(self.stop_reason), "usage": self.usage.to_dict(),
            "cost": self.cost, "session_id": self.session_id, "run_id": self.run_id,
        }  # fmt: skip
