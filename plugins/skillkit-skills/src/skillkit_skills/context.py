"""What skills add to the system prompt: the list of skills and the instructions of active ones; and why others are hidden."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from .agent_skills import ACTIVATE, SEARCHED, Offer, request_of, skills_of
from .guard import forbidden_by
from .listed import explain

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["forbidden", "skills_prompt", "skills_told"]

INTRODUCTION = (
    "Skills hold instructions and tools for particular tasks. "
    f"When a task fits a description below, call {ACTIVATE} with the name first, unless a tool of the skill does it all."
)


def skills_prompt(agent: AgentRunner) -> str | None:
    """The part of the system prompt, ``None`` when there is nothing to say."""
    state = skills_of(agent)
    parts = []
    plan = state.plan(agent.session)
    if plan.searched:
        from .finding import introduction

        agent.events.arm(SEARCHED)
        parts.append(introduction(len(state.offered(agent.session))))
    elif plan.catalogue:
        parts += [INTRODUCTION, plan.catalogue]
    if not state.from_start:
        return "\n".join(parts) or None
    from .activation import text_of

    session_id = agent.session.id if agent.session is not None else None
    parts += (
        text_of(agent.host, agent.host.skills.get(name), session_id=session_id)
        for name in state.from_start
        if agent.host.skills.has(name)
    )
    return "\n".join(parts) or None


def skills_told(agent: AgentRunner) -> Sequence[Mapping[str, str]]:
    """Return a row for each skill: ``name``, ``source``, ``state`` (``listed``, ``active`` or ``hidden``) and ``reason``.

    The same object while nothing changes.
    """
    state = skills_of(agent)
    offer, offered, active = state.offer, state.offered(agent.session), tuple(state.active())
    key = (offer, offered, active)
    kept = agent.state("skills").get("told")
    if kept is None or kept[0][0] is not key[0] or kept[0][1:] != key[1:]:
        ids = (frozenset(map(id, offered)), frozenset(map(id, active)))
        found = offer.told.get(ids)
        if found is None:
            found = _told(agent, offer, *ids)
            if offer.steady:  # all agents of the host are told the same
                offer.told[ids] = found
        kept = agent.state("skills")["told"] = key, found
    rows: Sequence[Mapping[str, str]] = kept[1]
    return rows


def _told(
    agent: AgentRunner, offer: Offer, offered: Collection[int], active: Collection[int]
) -> Sequence[Mapping[str, str]]:
    found: list[Mapping[str, str]] = []
    for verdict in explain(agent.host, offer.rows, request_of(agent.session).query):
        row = verdict.row
        told = "active" if id(row.skill) in active else "listed" if id(row.skill) in offered else "hidden"
        why = ("; ".join(verdict.model) or "its gates are closed for this request") if told == "hidden" else ""
        found.append({"name": row.name, "source": row.skill.source, "state": told, "reason": why})
    return tuple(found)


def forbidden(agent: AgentRunner) -> Mapping[str, str] | None:
    """Return which active skill forbids every call of a tool, by the name of the tool."""
    active = skills_of(agent).active()
    if not any(skill.tools_only or skill.disallowed_tools for skill in active):
        return None
    found = {tool.name: forbidden_by(tool.name, {}, active) for tool in agent.tools}
    return {name: reason for name, reason in found.items() if reason}
