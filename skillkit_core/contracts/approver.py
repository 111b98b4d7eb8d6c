"""The approver contract: who answers when a guard asks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UsageError

__all__ = ["ApprovalDecision", "ApprovalRequest", "Approver", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """What one guard wants to know.

    Attributes:
        text: what a person reads.
        plugin: who asks.
        key: the answer may be remembered for the tool and this key; ``None``: it holds for this call alone.
    """

    text: str
    plugin: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One call and everything the guards ask about it.

    Attributes:
        tool_name: the tool that was called.
        tool_call_id: the call.
        args: what will run.
        questions: what the guards ask, in their order.
        agent_path: ``("main",)``, or deeper for a call of a nested run.
    """

    tool_name: str
    tool_call_id: str
    args: Mapping[str, Any]
    questions: Sequence[Question]
    agent_path: tuple[str, ...] = ("main",)


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """What was decided about a call.

    Attributes:
        decision: ``allow`` runs exactly the arguments that were shown, ``deny`` gives the model a result that says so,
            ``defer`` suspends the run.
        reason: why, for the model and the session.
        remember: the decision also holds for later calls of the tool whose questions have the same key.
        answer: what a person answered besides, by id of the question: :class:`~skillkit_core.Answers`, or other JSON.

    Raises:
        UsageError: ``answer`` is no mapping.
    """

    decision: Literal["allow", "deny", "defer"]
    reason: str = ""
    remember: bool = False
    answer: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.answer is not None and not isinstance(self.answer, Mapping):
            raise UsageError(f"decision: answer is of type {type(self.answer).__name__}; it must be a mapping")


class Approver(ABC):
    """Answers approvals. A run without one denies whatever would be asked."""

    @abstractmethod
    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide one call. It is cancelled when the run is aborted.

        An approver that asks a person does so through the front end's :class:`~skillkit_core.UserInterface`. An exception is a
        denial.
        """
