"""The person at a front end: asked about calls and surveys, one question after the other, and told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import (
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    Deferred,
    Survey,
    SurveyQuestion,
    ToolError,
    UserInterface,
)
from skillkit_core.contracts.user_interface import NoticeLevel

from .approvals import LATER, all_edits, decide, in_vain, preview_of
from .blocks import Block, one_line
from .questions import Fragments, KeyQuestion, Question, question_for, shown_answer
from .recorder import Recorder, call_head

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Person"]

_DECLINED = object()
_LEFT = object()
_RESULTS = {"allow": (True, "allowed"), "deny": (False, "denied"), "defer": (None, "put off")}
_ANSWER = 300  # characters of an answer that are shown
_WHERE = {"session": ", in this session", "project": ", in this project", "ever": ", everywhere"}


class Person(Approver, UserInterface):
    """Shows what a call would do as a block, and takes an answer; asks surveys; tells.

    Args:
        agent: the agent that asks.
        record: where blocks go.
        ask: puts one question, and returns its answer; ``None``: the person declined it.
        later: the session is kept, so that a decision can be put off.

    Attributes:
        question: the question that stands now.
    """

    def __init__(
        self, agent: AgentRunner, record: Recorder, ask: Callable[[Question], Awaitable[Any]], *, later: bool
    ) -> None:
        self._agent, self._record, self._ask, self._later = agent, record, ask, later
        self._turn = asyncio.Lock()
        self.question: Question | None = None
        self._left = self._deferred = False
        self._surveyed: set[Question] = set()  # questions of surveys, which can wait where the session is kept

    async def put(self, question: Question) -> Any:
        """Put a question, after those that are put already."""
        async with self._turn:
            self.question = question
            try:
                if self._left:
                    self._put_off(question)
                    return await question.answer
                return await self._ask(question)
            finally:
                self.question = None

    def leave(self) -> bool:
        """Ask nothing more: what is asked about waits in the session where it can; return whether something does.

        Also what was put off a moment ago waits only once the run has stopped for it.
        """
        self._left = True
        return (self.question is not None and self._put_off(self.question)) or self._deferred

    def _put_off(self, question: Question) -> bool:
        if isinstance(question, KeyQuestion) and LATER in question.choices.values():
            question.say(LATER)
            return True
        if self._later and question in self._surveyed:
            question.say(_LEFT)
            return True
        return False

    # --- approvals --------------------------------------------------------------------------------------------

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about one call: yes, no, always where guards allow it, later where the decision can be put off.

        Nobody is asked about a call that is known to fail.
        """
        try:
            block = await self._block(request)
        except ToolError as error:
            return in_vain(error)

        def show() -> bool:
            block.whole, block.cut = block.cut, False
            self._record.put(block)
            return block.cut

        ask, questions = f"Run {request.tool_name}?", request.questions
        later = self._later and request.deferrable
        try:
            edits = all_edits(self._agent, request.tool_name)
            decision = await decide(self.put, ask, questions, later=later, show=show, edits=edits)
        except asyncio.CancelledError as cancelled:
            self._record.end(block, good=False, result=str(cancelled) or "not decided")
            raise
        self._deferred = decision.decision == "defer"
        good, result = _RESULTS[decision.decision]
        self._record.end(block, good=good, result=result + _WHERE.get(str(decision.remember), ""))
        return decision

    async def _block(self, request: ApprovalRequest) -> Block:
        """Add the block of a call: what the tool says that the call would do, else the arguments."""
        tool = self._agent.offered(request.tool_name)
        named = (tool.annotations if tool is not None else {}).get("command")
        command = request.args.get(named) if named is not None else None
        try:
            preview = await preview_of(self._agent, request)
        except ToolError:
            raise
        except Exception as error:  # noqa: BLE001 - a tool's preview: the arguments are shown in its place
            preview = None
            self._record.note(f"no preview: {type(error).__name__}: {' '.join(str(error).split())}", "warning")
        below = len(request.agent_path) > 1
        head = call_head(self._agent, request.tool_name, request.args) if command or preview else request.tool_name
        head = f"{request.agent_path[-1]} › {head}" if below else head
        block = Block("asked", head=head, args=None if preview else request.args, diff=preview or "", done=False)
        block.command = str(named) if isinstance(command, str) else ""
        if not below:  # calls of agents below stand in logs of their own
            self._record.asked[request.tool_call_id] = block
        return block

    # --- surveys, and notices ---------------------------------------------------------------------------------

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask the questions of a survey one after the other; who declines one declines the survey.

        Raises:
            Deferred: the person left before the survey was answered.
        """
        single = len(survey.questions) == 1 and survey.text == survey.questions[0].text
        lead: Fragments = [("question", survey.title)] if survey.title and not single else []
        lead += [("", survey.text)] if survey.text and not single else []
        given: dict[str, Any] = {}
        block = Block("asked", head=survey.title, done=False)
        for number, question in enumerate(survey.questions):
            answer = await self._answer(question, lead if not number else [])
            if answer is _LEFT:
                self._record.end(block, good=None, result="put off")
                raise Deferred("the person left before answering")
            if answer is _DECLINED:
                self._record.end(block, good=False, result="declined")
                self._record.note(f"{survey.title}: declined", "end")
                return None
            if answer != "" or question.required:
                given[question.id] = answer
            block.add(("\n" if number else "") + f"{question.text} {one_line(shown_answer(question, answer), _ANSWER)}")
            self._record.put(block)
        self._record.end(block, good=True, result=block.text if single else "")
        block.open = not single
        return survey.answer(given)

    async def _answer(self, question: SurveyQuestion, lead: Fragments) -> Any:
        """Return an answer that fits the question."""
        while True:
            asked = question_for(question, lead)
            self._surveyed.add(asked)
            try:
                answer = await self.put(asked)
            finally:
                self._surveyed.discard(asked)
            if answer is None or answer is _LEFT:
                return _DECLINED if answer is None else _LEFT
            if question.kind == "confirm":
                answer = answer == "yes"
            if answer in ("", ()) and question.default is not None:
                return question.default
            wrong = question.problem(answer)
            if wrong is None:
                return answer
            lead = [("warning", f"The answer {wrong}.")]

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a note."""
        self._record.note(text, "warning" if level == "warning" else "notice", error=level == "error")
