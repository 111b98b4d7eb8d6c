"""What skills add to the system prompt: the list of skills, and the instructions of those active from the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .activation import skill_content
from .catalogue import render_catalogue
from .offers import ACTIVATE, skills_of
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Skill

__all__ = ["skills_prompt"]

INTRODUCTION = (
    "Skills hold instructions and tools for particular tasks. "
    f"When a task fits a description below, call {ACTIVATE} with the name first, unless a tool of the skill does it all."
)


_rendered: WeakKeyDictionary[Any, tuple[tuple[Skill, ...], int, str]] = WeakKeyDictionary()


def _catalogue(host: Host, skills: tuple[Skill, ...], budget: int) -> str:
    """The list of skills as text; rendered once while agents of the host are offered the same ones."""
    kept = _rendered.get(host)
    if kept is None or kept[0] != skills or kept[1] != budget:  # compares identities: skills are immutable, and shared
        kept = _rendered[host] = (skills, budget, render_catalogue(skills, budget).text)
    return kept[2]


def skills_prompt(agent: AgentRunner) -> str | None:
    """The part of the system prompt, ``None`` when there is nothing to say."""
    state = skills_of(agent)
    parts = []
    budget = settings_of(agent.host).max_catalogue_chars
    if text := _catalogue(agent.host, state.offered(agent.session), budget):
        parts += [INTRODUCTION, text]
    session_id = agent.session.id if agent.session is not None else None
    parts += (
        skill_content(agent.host.skills.get(name), session_id=session_id)
        for name in state.from_start
        if agent.host.skills.has(name)
    )
    return "\n".join(parts) or None
