"""Approvals: what a person may answer, how long an answer holds, which rules it makes, and what a call would do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver, ToolError, UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner
    from skillkit_core.contracts.approver import Question

    from .questions import Fragments, Question as Asked

__all__ = ["Defers", "Remember", "all_edits", "decide", "in_vain", "preview_of", "question_text"]

Remember = Literal["session", "project", "ever"]
LATER = "later"
_EDITS = "all edits of the session"
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
    edits: Callable[[], Awaitable[object]] | None = None,
) -> ApprovalDecision:
    """Ask a person about a call until the answer is clear. Who declines the question says no.

    Args:
        put: puts a question, and returns its answer; a text that is none of the answers is a no, with this reason.
        ask: the question: ``Run bash?``
        questions: what guards ask; where they keep answers, an answer may hold for later calls, too.
        later: the decision can be put off.
        show: shows the call, the second time all of it; returns whether something is hidden.
        edits: lets all edits of the session run (:func:`all_edits`).
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
        elif (always := await _how_long(put, questions, edits is not None)) == _EDITS and edits is not None:
            await edits()
            return ApprovalDecision("allow", "a person agreed to all edits of the session")
        elif always in _SCOPES:
            return ApprovalDecision("allow", "a person agreed", remember=_SCOPES[always])
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


async def _how_long(put: Callable[[Asked], Awaitable[Any]], questions: Sequence[Question], edits: bool) -> str:
    """Return how long, or for what else, an answer is to hold; ``back``: the person would rather not say."""
    from .questions import KeyQuestion

    rules = [question.rule for question in questions if question.rule is not None]
    if not rules and not edits:
        return "session"
    choices = {word[0]: word for word in (*_SCOPES, *((_EDITS,) if edits else ()), "back")}
    what = f"{' and '.join(rules)}, where?" if rules else "it, where?"
    return str(await put(KeyQuestion(f"Always allow {what}", choices)))


def all_edits(agent: AgentRunner, tool_name: str) -> Callable[[], Awaitable[object]] | None:
    """Return what lets edits in the project run for this session; ``None``: the tool is no edit, or no plugin has such a mode."""
    tool = agent.offered(tool_name)
    if tool is None or tool.annotations.get("mutates") != "files":
        return None
    from skillkit_commands import SlashCommands

    commands = SlashCommands(agent)
    try:
        invocation = commands.match("/mode accept-edits")
    except UsageError:
        return None
    return partial(commands.run, invocation) if invocation is not None else None


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
