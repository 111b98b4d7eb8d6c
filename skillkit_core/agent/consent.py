"""Whether a call may run when a guard asks: who is asked, what was decided before, and what follows from the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..containment import await_contained, call_contained, in_words
from ..contracts.approver import ApprovalDecision, ApprovalRequest, Approver, Question
from ..events.tool_call import same_json
from ..events.types import ApprovalRequestEvent, ApprovalResolvedEvent
from .nesting import chain

if TYPE_CHECKING:
    from .call import Prepared
    from .run import Run

__all__ = ["agreement", "tell_decision"]


async def agreement(run: Run, item: Prepared, questions: Sequence[Question]) -> ApprovalDecision:
    """What everybody who must be asked says about exactly these arguments; the decision is told and remembered."""
    stored, decided = item.stored, item.decision
    if stored is not None:  # a suspended call
        fresh = tuple(q for q in questions if q not in stored.questions)
        if decided is not None and decided.decision == "deny":
            await tell_decision(run, item, decided)
            return decided
        if decided is not None and same_json(item.args, stored.args):
            await tell_decision(run, item, decided)
            _remember(run, item, stored.questions, decided)
            questions = fresh
        else:  # nobody decided about what would run now: what was asked is asked again, also if its guard is gone
            questions = (*stored.questions, *fresh)
    sticky = run.outermost.agent.sticky_approvals
    if all(q.key is not None and (item.call.name, q.plugin, q.key) in sticky for q in questions):
        return ApprovalDecision("allow")
    bus = run.agent.events
    if bus.has("approval_request"):
        texts = tuple(q.text for q in questions)
        about = {"tool_name": item.call.name, "tool_call_id": item.call.id}
        await bus.emit(bus.make(ApprovalRequestEvent, args=item.args, questions=texts, **about))
    answer = await _ask(run, item, questions)
    await tell_decision(run, item, answer)
    _remember(run, item, questions, answer)
    if answer.decision == "defer":
        item.deferred = tuple(questions)
    return answer


async def tell_decision(run: Run, item: Prepared, answer: ApprovalDecision) -> None:
    """Emit ``approval_resolved``."""
    bus = run.agent.events
    if bus.has("approval_resolved"):
        about = {"tool_name": item.call.name, "tool_call_id": item.call.id}
        await bus.emit(bus.make(ApprovalResolvedEvent, decision=answer.decision, reason=answer.reason, **about))


def _remember(run: Run, item: Prepared, questions: Sequence[Question], answer: ApprovalDecision) -> None:
    if answer.decision == "allow" and answer.remember:
        keys = {(item.call.name, q.plugin, q.key) for q in questions if q.key is not None}
        run.outermost.agent.sticky_approvals.update(keys)


async def _ask(run: Run, item: Prepared, questions: Sequence[Question]) -> ApprovalDecision:
    """What the approvers say: the run's, and those of the runs above it, each of whom must agree."""
    about = ApprovalRequest(item.call.name, item.call.id, item.args, questions, run.agent.agent_path)
    answer = unasked = ApprovalDecision("deny", "nobody can be asked: " + "; ".join(q.text for q in questions))
    for asking in chain(run):
        approver = asking.agent.config.approver
        if approver is None and asking.above is not None:
            continue  # whoever is above is asked
        if approver is None:
            return unasked
        answer = await _answer_of(approver, about)
        if answer.decision != "allow":
            break
    if answer.decision == "defer" and run.above is not None:
        return ApprovalDecision("deny", "an agent inside another run cannot wait for a decision")
    return answer


async def _answer_of(approver: Approver, about: ApprovalRequest) -> ApprovalDecision:
    try:
        answer = await await_contained(call_contained(approver.approve, about))
        if not isinstance(answer, ApprovalDecision) or answer.decision not in ("allow", "deny", "defer"):
            raise TypeError(f"it answered {answer!r} instead of an ApprovalDecision of allow, deny or defer")
    except Exception as error:  # noqa: BLE001 - fails closed: who cannot answer has not agreed
        return ApprovalDecision("deny", f"the approver failed: {in_words(error)}")
    return answer
