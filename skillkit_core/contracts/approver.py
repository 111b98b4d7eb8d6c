"""The approver contract: the answers to guards that ask whether a tool call may run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UsageError
from ..messages import Origin

__all__ = ["ApprovalDecision", "ApprovalRequest", "Approver", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """The question of one guard.

    Attributes:
        text: text that a person reads.
        plugin: plugin that asks.
        key: the answer may be remembered for the tool and this key; ``None``: the answer holds for this call alone.
        rule: what the plugin keeps of a remembered answer, as a person reads it; ``None``: nothing beyond the session.
    """

    text: str
    plugin: str | None = None
    key: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One tool call and all questions of the guards about it.

    Attributes:
        tool_name: the tool that was called.
        tool_call_id: the call.
        args: arguments that will run.
        questions: questions of the guards, in the order of the guards.
        agent_path: ``("main",)``, or deeper for a call of a nested run.
        id: the name of the request, which events, sessions and ``resume`` of the outermost session know too.
        deferrable: the decision can be put off. Otherwise ``defer`` is a denial, so a front end does not offer it.
    """

    tool_name: str
    tool_call_id: str
    args: Mapping[str, Any]
    questions: Sequence[Question]
    agent_path: tuple[str, ...] = ("main",)
    id: str = ""
    deferrable: bool = True

    @property
    def rememberable(self) -> bool:
        """True when a decision can hold for later calls: every question has a key."""
        return all(question.key is not None for question in self.questions)


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """The decision about a tool call.

    Attributes:
        decision: ``allow`` runs exactly the arguments that were shown, ``deny`` gives the model a result that says so,
            ``defer`` suspends the run.
        reason: reason for the model and the session.
        remember: the decision also holds for later calls whose questions have the same key; beyond the session, with a rule.
        answer: further answers of a person by id of the question: :class:`~skillkit_core.Answers`, or other JSON.
        origin: who decided, and from where, as far as the program says so.

    Raises:
        UsageError: ``answer`` is no mapping.
    """

    decision: Literal["allow", "deny", "defer"]
    reason: str = ""
    remember: bool | Literal["session", "project", "ever"] = False
    answer: Mapping[str, Any] | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if self.answer is not None and not isinstance(self.answer, Mapping):
            raise UsageError(f"decision: answer is of type {type(self.answer).__name__}; it must be a mapping")


class Approver(ABC):
    """Decides tool calls that guards ask about, and asks a person through a ``UserInterface``. With none, all are denied."""

    @abstractmethod
    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide one call. The decision is cancelled when the run is aborted, and an exception is a denial."""
