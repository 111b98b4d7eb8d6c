"""The approver that hooks answer first: ``PermissionRequest``, and an ``allow`` of ``PreToolUse`` where only the mode asks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from skillkit_core import AgentRunner, ApprovalDecision, ApprovalRequest, Approver, Origin
from skillkit_core.frozen import same_json

from .answers import UNSAID
from .naming import theirs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from .running import Outcome

__all__ = ["HookApprover"]

_GUARD = "permissions"


class HookApprover(Approver):
    """Asks hooks, then the approver behind it.

    A hook answers a question as a person would: of one call, never for good. It never answers in the place of a rule that asks or
    another guard: an ``allow`` of ``PreToolUse`` counts only where the mode of ``permissions`` alone asks.

    Args:
        agent: whose calls.
        inner: who is asked where no hook decides; ``None``: whoever the host finds.
        fire: runs the hooks of an event of an agent.
    """

    def __init__(self, agent: AgentRunner, inner: Approver | None, fire: Callable[..., Awaitable[Outcome]]) -> None:
        self._agent = ref(agent)
        self._inner = inner
        self._fire = fire

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide one call."""
        agent = self._agent()
        decided = await self._by_hooks(agent, request) if agent is not None else None
        if decided is not None:
            return decided
        inner = self._inner
        if inner is None and agent is not None:
            inner = await agent.host.find_approver(agent.config)
        if inner is None:
            questions = "; ".join(question.text for question in request.questions)
            return ApprovalDecision("deny", f"nobody can be asked: {questions}")
        return await inner.approve(request)

    async def _by_hooks(self, agent: AgentRunner, request: ApprovalRequest) -> ApprovalDecision | None:
        allowed = agent.state("shell-hooks").get("allowed", {}).pop(request.tool_call_id, None)
        if allowed is not None and same_json(allowed, request.args) and _only_the_mode_asks(request):
            return ApprovalDecision("allow", "a PreToolUse hook allows it", origin=_ORIGIN)
        name, args = theirs(request.tool_name, dict(request.args), agent.cwd)
        fields = {"tool_name": name, "tool_input": args, "permission_suggestions": _suggestions(request)}
        outcome = await self._fire(agent, "PermissionRequest", fields)
        if outcome.decision == "deny" or outcome.stop is not None:
            return ApprovalDecision("deny", outcome.reason or outcome.stop or "a hook denies it", origin=_ORIGIN)
        if outcome.decision != "allow":
            return None
        if outcome.input is not UNSAID and not same_json(outcome.input, args):
            # what was approved is what was shown: other arguments are another call, which every guard sees
            return ApprovalDecision(
                "deny", f"a hook wants other arguments, call it with {outcome.input!r}", origin=_ORIGIN
            )
        return ApprovalDecision("allow", outcome.reason or "a PermissionRequest hook allows it", origin=_ORIGIN)


_ORIGIN = Origin("shell-hooks")


def _only_the_mode_asks(request: ApprovalRequest) -> bool:
    return all(question.plugin == _GUARD and question.rule is not None for question in request.questions)


def _suggestions(request: ApprovalRequest) -> Sequence[dict[str, str]]:
    return [{"type": "addRules", "rule": question.rule} for question in request.questions if question.rule]
