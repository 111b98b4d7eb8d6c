"""The guard: what rules and mode say of a tool call, and what is learned from answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from skillkit_core.events.results import ToolCallEventResult

from .decide import decide_request
from .memory import Scope
from .policy import mode_of, policy_of, request_for, rules_of
from .request import Decision
from .rules import Kind

if TYPE_CHECKING:
    from skillkit_core import HandlerContext
    from skillkit_core.events.types import ApprovalResolvedEvent, ToolCallEvent

__all__ = ["before_tool_call", "learn", "sentence"]


async def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Block a call, ask about it, or let it run."""
    agent = ctx.agent
    if agent is None:
        return ToolCallEventResult(block=True, reason="permissions: the call belongs to no agent")
    policy = policy_of(agent.host)
    # what the application itself hands to the agent is as good as installed by a person
    given = any(tool.name == event.tool_name for tool in agent.toolbox.own)
    request = request_for(
        agent.host, event.tool_name, event.args, event.annotations, mode_of(agent, policy), agent.cwd, given=given
    )
    rules = rules_of(agent, policy)
    # links are followed on the disk, and the parser of shell lines is a process; a name and a host are just looked at
    looked = asyncio.to_thread(decide_request, rules, request) if request.on_disk else None
    decision = decide_request(rules, request) if looked is None else await looked
    if decision.outcome == "allow":
        return None
    if decision.outcome == "deny":
        return ToolCallEventResult(block=True, reason=sentence(decision))
    agent.state("permissions").setdefault("asked", {})[event.tool_call_id] = decision.offer, request.definition
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
