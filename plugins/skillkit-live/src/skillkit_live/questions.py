"""The open questions of a session: every client sees them, and the first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal, TypeAlias

from skillkit_frontend import in_vain

from skillkit_core import (
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    Deferred,
    NoticeLevel,
    Origin,
    Survey,
    SuspendedCall,
    ToolError,
    UsageError,
    UserInterface,
)
from skillkit_core.frozen import same_json

from .shown import APPROVAL, SURVEY, approval

__all__ = ["Given", "Outcome", "Questions", "decided", "narrowed"]

Given: TypeAlias = ApprovalDecision | Answers | Mapping[str, Any] | None
Outcome: TypeAlias = Literal["taken", "late", "unknown"]
Tell: TypeAlias = Callable[[str, Mapping[str, Any]], object]


@dataclass(eq=False, slots=True)
class Open:
    """A question that nobody has answered yet.

    Attributes:
        id: names the question; the first answer with this id counts.
        kind: ``approval`` or ``survey``.
        shown: the question as clients see it.
        answered: gets the decision.
        survey: the survey, to check answers with.
    """

    id: str
    kind: str
    shown: Mapping[str, Any]
    answered: asyncio.Future[ApprovalDecision]
    survey: Survey | None = field(default=None, repr=False)


class Questions(Approver, UserInterface):
    """Asks the clients of a session, whoever they are.

    Args:
        tell: tells all clients something: the type of the message, and what it says.
        who: returns the kinds of questions that each client answers.
        changed: called when a question comes or goes.
        approvers: the principals whose answers count.
        preview: returns what a call would do, such as a diff, as its tool says; ``None``: it says nothing. Nobody is
            asked about a call for which it raises ``ToolError``.
    """

    def __init__(
        self,
        tell: Tell,
        who: Callable[[], list[frozenset[str]]],
        changed: Callable[[], object],
        approvers: Collection[str],
        preview: Callable[[ApprovalRequest], Awaitable[str | None]],
    ) -> None:
        self._tell, self._who, self._changed = tell, who, changed
        self._approvers, self._preview = approvers, preview
        self._open: dict[str, Open] = {}
        self._answered: dict[str, Origin] = {}  # id of the question: who answered
        self._early: dict[str, tuple[SuspendedCall, ApprovalDecision]] = {}
        self._count = count(1)

    def __bool__(self) -> bool:
        return bool(self._open)

    def shown(self) -> list[Mapping[str, Any]]:
        """Return the open questions as clients see them, oldest first."""
        return [question.shown for question in self._open.values()]

    def by(self, question: str) -> Origin | None:
        """Return who answered a question; ``None``: nobody, or it was long ago."""
        return self._answered.get(question)

    def deaf(self, kind: str) -> bool:
        """Return whether there are clients, and none of them answers questions of this kind."""
        clients = self._who()
        return bool(clients) and not any(kind in answers for answers in clients)

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about a tool call."""
        question = request.id or request.tool_call_id
        if (early := self._early.pop(_call_of(question), None)) is not None:
            known, decision = early
            if same_json(known.args, request.args) and set(request.questions) <= set(known.questions):
                return decision
        if self.deaf(APPROVAL):
            return ApprovalDecision("deny", "the client answers no approvals")
        call, path = request.tool_call_id, request.agent_path
        shown = approval(question, request.tool_name, call, request.args, tuple(request.questions), path)
        try:
            shown |= {"deferrable": request.deferrable, "preview": await self._preview(request)}
        except ToolError as error:
            return in_vain(error)
        return await self._ask(Open(question, APPROVAL, shown, _future()))

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask a survey that no tool call waits with."""
        decision = await self.decide(f"survey-{next(self._count)}", survey)
        if decision.decision == "defer":
            raise Deferred(decision.reason)
        return decision.answer if isinstance(decision.answer, Answers) else None

    async def decide(self, question: str, survey: Survey) -> ApprovalDecision:
        """Ask the questions of a survey, under the name that the session and the events know."""
        if (early := self._early.pop(_call_of(question), None)) is not None and early[0].survey == survey:
            return early[1]
        if self.deaf(SURVEY):
            return ApprovalDecision("deny", "the client answers no questions")
        shown = {"id": question, "kind": SURVEY, "survey": survey.to_dict()}
        return await self._ask(Open(question, SURVEY, shown, _future(), survey))

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Show a text to everybody."""
        self._tell("notice", {"text": text, "level": level})

    async def _ask(self, question: Open) -> ApprovalDecision:
        self._open[question.id] = question
        self._answered.pop(question.id, None)
        self._tell("question", {"question": question.shown})
        self._changed()
        try:
            return await question.answered
        except asyncio.CancelledError:
            if not question.answered.done() or question.answered.cancelled():
                self._tell("question_withdrawn", {"question": question.id})
            raise
        finally:
            if self._open.get(question.id) is question:
                del self._open[question.id]
            self._changed()

    def answer(self, question: str, given: Given, origin: Origin) -> Outcome:
        """Give an answer: the first one counts.

        Raises:
            UsageError: the answer does not fit the question, or does not count from there.
        """
        self.check(origin)
        found = self._open.pop(question, None)
        if found is None:
            return "late" if question in self._answered else "unknown"
        try:
            decision = decided(found.survey, given, origin)
        except UsageError:
            self._open[question] = found
            raise
        self.note(question, found.kind, decision, origin)
        found.answered.set_result(decision)
        return "taken"

    def check(self, origin: Origin) -> None:
        """Raise :class:`UsageError` when answers from there do not count."""
        if origin.principal not in self._approvers:
            raise UsageError(
                f"answers of {origin.principal!r} do not count here", hint=f"of: {', '.join(self._approvers)}"
            )

    def note(self, question: str, kind: str, decision: ApprovalDecision, origin: Origin) -> None:
        """Tell everybody what the answer is, and who gave it."""
        self._answered[question] = origin
        told: dict[str, Any] = {"question": question, "by": origin.to_dict()}
        if kind == APPROVAL:
            told |= {"decision": decision.decision, "reason": decision.reason, "remember": decision.remember}
        else:
            told["answers"] = decision.answer.to_dict() if isinstance(decision.answer, Answers) else None
        self._tell("question_answered", told)

    def asks_about(self, call: SuspendedCall) -> bool:
        """Return whether a question about a call is open."""
        return any(_call_of(question) == call.id for question in self._open)

    def keep(self, call: SuspendedCall, decision: ApprovalDecision) -> None:
        """Keep a decision about a call that will be asked about soon; it counts for its arguments and questions alone."""
        self._early[call.id] = call, decision

    def forget(self) -> None:
        """Drop the decisions about calls that nobody has asked about."""
        self._early.clear()

    def defer(self) -> None:
        """Put every open question off: calls and the surveys of tools wait in the session."""
        for question in list(self._open.values()):
            if not question.answered.done():
                question.answered.set_result(ApprovalDecision("defer", "nobody is there to answer"))
                self._open.pop(question.id, None)
        self._changed()


def _future() -> asyncio.Future[ApprovalDecision]:
    return asyncio.get_running_loop().create_future()


def _call_of(question: str) -> str:
    """Return the call that a question is about; each asking has a name of its own, which begins with that of the call."""
    return question.rpartition("#")[0] or question


def decided(survey: Survey | None, given: Given, origin: Origin) -> ApprovalDecision:
    """Return what an answer decides: about the tool call itself, or about the survey of its tool.

    Raises:
        UsageError: the answer does not fit the question.
    """
    if survey is not None:
        answers = _answers(survey, given)
        if answers is None:
            return ApprovalDecision("deny", "declined", origin=origin)
        return ApprovalDecision("allow", answer=answers, origin=origin)
    if not isinstance(given, ApprovalDecision):
        raise UsageError(f"a question about a tool call is answered by a decision, not by {type(given).__name__}")
    return narrowed(given, origin)


def narrowed(given: ApprovalDecision, origin: Origin) -> ApprovalDecision:
    """Return a decision as it counts from there: only the owner lets one hold beyond the session."""
    if origin.principal != "owner" and given.remember in ("project", "ever"):
        given = replace(given, remember="session")
    return replace(given, origin=origin)


def _answers(survey: Survey, given: Given) -> Answers | None:
    if given is None or isinstance(given, Answers):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"a survey is answered by a mapping, or declined by None, not by {type(given).__name__}")
    return survey.answer(given)
