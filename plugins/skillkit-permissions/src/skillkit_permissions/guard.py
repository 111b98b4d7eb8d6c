"""The guard: what rules and mode say of a tool call, and what is learned from answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillkit_core.events.results import ToolCallEventResult

from .decide import decide_request, on_disk
from .memory import Scope
from .paths import NOWHERE
from .policy import Policy, mode_of, place_of, policy_of, rules_of, said_of
from .request import Decision, Request
from .rules import Kind, Rules

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext
    from skillkit_core.events.types import ApprovalResolvedEvent, ToolCallEvent

__all__ = ["before_tool_call", "learn", "sentence"]


def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> Any:
    """Block a call, ask about it, or let it run; return the answer, or an awaitable of it where the disk is looked at."""
    agent = ctx.agent
    if agent is None:
        return ToolCallEventResult(block=True, reason="permissions: the call belongs to no agent")
    policy = policy_of(agent.host)
    said = said_of(agent, policy)
    mode, rules = mode_of(agent, policy, said=said), rules_of(agent, policy, said)
    # what the application itself hands to the agent is as good as installed by a person
    given = event.tool_name in [tool.name for tool in agent.toolbox.own]
    request = Request(event.tool_name, event.args, NOWHERE, mode, event.annotations, given)
    if on_disk(rules, request):
        return _looked_up(agent, policy, event.tool_call_id, rules, request)
    return _answer(agent, policy, event.tool_call_id, request, decide_request(rules, request))


async def _looked_up(
    agent: AgentRunner, policy: Policy, call_id: str, rules: Rules, request: Request
) -> ToolCallEventResult | None:
    """Answer in a thread: links are followed on the disk, and the parser of shell lines is a process."""
    request = replace(request, place=place_of(agent.host, agent.cwd))
    return _answer(agent, policy, call_id, request, await asyncio.to_thread(decide_request, rules, request))


def _answer(
    agent: AgentRunner, policy: Policy, call_id: str, request: Request, decision: Decision
) -> ToolCallEventResult | None:
    if decision.outcome == "allow":
        return None
    if decision.outcome == "deny":
        return ToolCallEventResult(block=True, reason=sentence(decision))
    agent.state("permissions").setdefault("asked", {})[call_id] = decision.offer, request.definition
    if not decision.offer:
        return ToolCallEventResult(ask=sentence(decision))
    rule = " and ".join(decision.offer)
    key = f"{rule} ({policy.memory.generation}) {request.definition}".rstrip()
    return ToolCallEventResult(ask=sentence(decision), ask_key=key, ask_rule=f"{rule}, for {policy.days:g} days")


def sentence(decision: Decision) -> str:
    """Return in one line why a call is refused or asks, and what would let it run."""
    rule = f": {decision.rule} ({decision.origin or 'a rule'})" if decision.rule else ""
    if decision.outcome == "deny":
        return f"permissions: {decision.reason}{rule}"
    if decision.offer and decision.outcome == "ask":
        return f"{decision.reason}{rule}. What would allow it: {' and '.join(decision.offer)}"
    return f"{decision.reason}{rule}"


async def learn(event: ApprovalResolvedEvent, ctx: HandlerContext) -> None:
    """Remember an answer that is to be remembered, for the session or what ``remember`` says.

    ``answers`` may hold ``days`` (a number; ``0``: no end).
    """
    agent = ctx.agent
    if agent is None:
        return
    offer, definition = agent.state("permissions").get("asked", {}).pop(event.tool_call_id, ((), ""))
    if not offer or not event.remember or event.decision not in ("allow", "deny"):
        return
    scope: Scope = "session" if event.remember is True else event.remember
    policy = policy_of(agent.host)
    days = (event.answers or {}).get("days", policy.days)
    days = None if not isinstance(days, (int, float)) or days <= 0 else float(days)
    where = str(agent.cwd) if scope == "project" else agent.session_id or ""
    if scope == "session" and (not where or agent.session.location is None):
        # a session that is not kept remembers in memory, by the key of the question
        return
    kind: Kind = "allow" if event.decision == "allow" else "deny"
    where = "" if scope == "ever" else where
    await asyncio.to_thread(policy.memory.add, offer, kind, scope, where, days, definition=definition)
    agent.toolbox.changed()
