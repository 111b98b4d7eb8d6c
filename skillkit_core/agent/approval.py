"""Questions about tool calls: kept in the sessions before a person is asked, asked, and resolved (spec, section 7).

A question about a call of a nested run is kept on the whole path: in the session of the run, and in the session of each run above
with the call in which that run waits. So a process that dies while a person thinks leaves the outermost session suspended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..contracts.approver import ApprovalDecision, ApprovalRequest, Approver
from ..errors import in_words
from .suspension import SuspendedCall, asked_entry, resolved_entry

if TYPE_CHECKING:
    from .run import Run
    from .session import Session

__all__ = ["KeptQuestion", "approvers_of", "ask_approvers", "call_name", "can_wait"]

NOT_LATER = "an agent inside another run cannot wait for a decision"


def call_name(run: Run, call_id: str) -> str:
    """Return the name of a call in the outermost session: its id, for a nested run with the id of its session in front."""
    return call_id if run.parent is None else f"{run.session.id}/{call_id}"


def can_wait(run: Run) -> bool:
    """Return whether a decision about a call of ``run`` can be put off: each tool on the path to the outermost run can wait."""
    while run.parent is not None:
        call = run.parent.call
        if call is None or call.settled or not call.call.suspends or run.session.location is None:
            return False
        run = run.parent.run
    return True


class KeptQuestion:
    """A question about a call, in the sessions of the run and of the runs above.

    Attributes:
        id: the name of the question: that of the call, and of the entry in the session of the run, so that each asking of the
            same call has a name of its own, and an answer that comes late counts for no other.
        deferrable: the decision can be put off.
    """

    def __init__(self, run: Run, call: SuspendedCall, asked: str = "") -> None:
        self._entry = run.session.announce()
        self.id = asked or f"{call_name(run, call.id)}#{self._entry}"
        self.deferrable = can_wait(run)
        self._run = run
        self._call = call
        self._kept: list[tuple[Session, str]] = [(run.session, call.id)]

    async def keep(self, unstarted: Sequence[str]) -> None:
        """Write the question into the sessions, the outermost first, and begin a sync of each.

        A process that dies between two entries leaves no session inside a call that waits while that above it does not.

        Args:
            unstarted: the ids of the other calls of the answer that have not started.
        """
        if not self.deferrable:
            return
        run, call = self._run, self._call
        inner = (replace(call, id=call_name(run, call.id), question=self.id),)
        path = [(run, asked_entry(self.id, call, unstarted, str(run.cwd)), self._entry)]
        while run.parent is not None and run.parent.call is not None:
            call = run.parent.call.call.waits((run.session.id, *call.below), inner)
            run = run.parent.run
            path.append((run, asked_entry(self.id, call, (), str(run.cwd)), run.session.announce()))
            self._kept.append((run.session, call.id))
        for run, entry, entry_id in reversed(path):
            await run.session.append("custom", entry, entry_id=entry_id)
            run.session.handle.begin_sync()

    async def resolve(self, decision: ApprovalDecision) -> None:
        """Write the decision beside the question, in the session of the run first."""
        for session, call_id in self._kept:
            await session.append("custom", resolved_entry(self.id, call_id, decision))


async def approvers_of(run: Run) -> list[Approver]:
    """Return the approvers of the run and its ancestors, who must all agree; none when nobody can be asked."""
    found = []
    for asking in run.ancestors():
        approver = asking.config.approver
        if approver is None and asking.parent is not None:
            continue
        if approver is None:
            approver = await asking.agent.host.find_approver(asking.config)
        if approver is None:
            return []
        found.append(approver)
    return found


async def ask_approvers(approvers: Sequence[Approver], request: ApprovalRequest) -> ApprovalDecision:
    """Ask one approver after the other until one does not agree; return the decision."""
    answer = ApprovalDecision("deny", "nobody can be asked: " + "; ".join(q.text for q in request.questions))
    for approver in approvers:
        answer = await _answer_of(approver, request)
        if answer.decision != "allow":
            break
    if answer.decision == "defer" and not request.deferrable:
        return ApprovalDecision("deny", NOT_LATER, origin=answer.origin)
    return answer


async def _answer_of(approver: Approver, request: ApprovalRequest) -> ApprovalDecision:
    try:
        answer = await approver.approve(request)
        if not isinstance(answer, ApprovalDecision) or answer.decision not in ("allow", "deny", "defer"):
            raise TypeError(f"it answered {answer!r} instead of an ApprovalDecision of allow, deny or defer")
    except Exception as error:  # noqa: BLE001 - fails closed: the failure of an approver is a denial
        return ApprovalDecision("deny", f"the approver failed: {in_words(error)}")
    return answer
