"""What skills add to the system prompt: the list of skills, and the instructions of those active from the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .offers import ACTIVATE, skills_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["skills_prompt"]

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
