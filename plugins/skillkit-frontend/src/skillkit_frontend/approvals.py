"""Approvals: what a person may answer, how long an answer holds, which rules it makes, and what a call would do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver, ToolError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner
    from skillkit_core.contracts.approver import Question

    from .questions import Fragments, Question as Asked

__all__ = ["Defers", "Remember", "decide", "in_vain", "preview_of", "question_text"]

Remember = Literal["session", "project", "ever"]
LATER = "later"
_SCOPES: Mapping[str, Remember] = {"session": "session", "project": "project", "everywhere": "ever"}
"""How long an answer holds, in the words that a person reads."""


def question_text(question: Question) -> str:
    """Return what a guard asks, with the plugin."""
    return question.text + (f" ({question.plugin})" if question.plugin else "")


async def decide(
    put: Callable[[Asked], Awaitable[Any]],
    ask: str,
    questions: Sequence[Question],
    *,
    later: bool,
    show: Callable[[], bool],
) -> ApprovalDecision:
    """Ask a person about a call until the answer is clear. Who declines the question says no.

    Args:
        put: puts a question, and returns its answer; a text that is none of the answers is a no, with this reason.
        ask: the question: ``Run bash?``
        questions: what guards ask; where they keep answers, an answer may hold for later calls, too.
        later: the decision can be put off.
        show: shows the call, the second time all of it; returns whether something is hidden.
    """
    from .questions import KeyQuestion, TextQuestion  # where a person is asked: nowhere else are they needed

    lead: Fragments = [("", question_text(question)) for question in questions]
    hidden = show()
    while True:
        choices = {"y": "yes", "n": "no"}
        choices |= {"a": "always"} if questions and all(question.key is not None for question in questions) else {}
        choices |= {"s": "show all"} if hidden else {}
        choices |= {"l": LATER} if later else {}
        answer = await put(KeyQuestion(ask, {**choices, "w": "why not"}, lead, denies=True))
        if answer == "show all":
            hidden = show()
        elif answer == "why not":
            reason = await put(TextQuestion("Why not? The model reads it.", follows=True))
            if reason is not None:
                return _denial(reason)
        elif answer != "always":
            break
        elif (remember := await _how_long(put, questions)) is not None:
            return ApprovalDecision("allow", "a person agreed", remember=remember)
    if answer == "yes":
        return ApprovalDecision("allow", "a person agreed")
    if answer == LATER:
        return ApprovalDecision("defer", "a person decides later")
    return _denial("" if answer in (None, "no") else str(answer))


def in_vain(error: ToolError) -> ApprovalDecision:
    """Return the answer to a call that is known to fail: a yes could not make it run."""
    return ApprovalDecision("deny", f"nobody was asked, because the call would fail: {error}")


def _denial(reason: str) -> ApprovalDecision:
    """Return a person's no, as the model reads it."""
    return ApprovalDecision("deny", f"a person said no: {reason}" if reason.strip() else "a person said no")


async def _how_long(put: Callable[[Asked], Awaitable[Any]], questions: Sequence[Question]) -> Remember | None:
    """Return how long an answer is to hold; ``None``: the person would rather not say."""
    from .questions import KeyQuestion

    rules = [question.rule for question in questions if question.rule is not None]
    if not rules:
        return "session"
    choices = {word[0]: word for word in (*_SCOPES, "back")}
    return _SCOPES.get(await put(KeyQuestion(f"Always allow {' and '.join(rules)}, where?", choices)))


async def preview_of(agent: AgentRunner, request: ApprovalRequest) -> str | None:
    """Return what the tool itself says a call would do; ``None``: it says nothing. A failure of the tool is raised.

    Raises:
        ToolError: the call is known to fail, so that nobody needs to be asked about it.
    """
    from skillkit_core.descriptors import load_object

    tool = agent.offered(request.tool_name)
    target = tool.annotations.get("preview") if tool is not None else None
    if target is None:
        return None
    text = await load_object(target)(agent, request.tool_name, request.args)
    return str(text) if text else None


class Defers(Approver):
    """Puts decisions off, which suspends the run.

    Args:
        calls: the ids of the calls that it puts off; ``None``: every call. others: who is asked about the other ones;
            ``None``: nobody, so that they are put off too.
    """

    def __init__(self, calls: frozenset[str] | None = None, others: Approver | None = None) -> None:
        self._calls, self._others = calls, others

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Defer."""
        mine = self._calls is None or request.tool_call_id in self._calls
        if mine or self._others is None:
            return ApprovalDecision("defer", "put off")
        return await self._others.approve(request)
