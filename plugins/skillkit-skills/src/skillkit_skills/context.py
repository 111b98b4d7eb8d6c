"""What skills add to the system prompt: the list of skills and the instructions of active ones; and why others are hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .guard import forbidden_by
from .listing import explain, listing
from .offers import ACTIVATE, request_of, skills_of

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

        parts.append(introduction(len(state.offered(agent.session))))
    elif plan.catalogue:
        parts += [INTRODUCTION, plan.catalogue]
    if not state.from_start:
        return "\n".join(parts) or None
    from .opening import text_of

    session_id = agent.session.id if agent.session is not None else None
    parts += (
        text_of(agent.host, agent.host.skills.get(name), session_id=session_id)
        for name in state.from_start
        if agent.host.skills.has(name)
    )
    return "\n".join(parts) or None


def skills_told(agent: AgentRunner) -> list[Mapping[str, str]]:
    """Return a row for each skill: ``name``, ``source``, ``state`` (``listed``, ``active`` or ``hidden``) and ``reason``."""
    state = skills_of(agent)
    offered = {id(skill) for skill in state.offered(agent.session)}
    active = {id(skill) for skill in state.active()}
    offer = state.offer
    reasons = offer.reasons
    if reasons is None or offer.gated:
        rows = list(listing(agent.host))
        query = request_of(agent.session).query
        reasons = offer.reasons = {id(v.row.skill): "; ".join(v.model) for v in explain(agent.host, rows, query)}
    found: list[Mapping[str, str]] = []
    seen: set[int] = set()
    for entry in agent.host.skills.entries():
        skill = entry.item
        if id(skill) in seen or entry.name in skill.aliases:
            continue
        seen.add(id(skill))
        told = "active" if id(skill) in active else "listed" if id(skill) in offered else "hidden"
        why = (reasons.get(id(skill)) or "its gates are closed for this request") if told == "hidden" else ""
        found.append({"name": entry.name, "source": skill.source, "state": told, "reason": why})
    return found


def forbidden(agent: AgentRunner, tool: str) -> str | None:
    """Return which active skill forbids every call of a tool; ``None``: none does."""
    return forbidden_by(tool, {}, skills_of(agent).active())
