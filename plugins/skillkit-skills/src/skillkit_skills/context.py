"""What skills add to the system prompt: the list of skills, and the instructions of those active from the start."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .activation import skill_content
from .catalogue import render_catalogue
from .offers import ACTIVATE, request_of, skills_of
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Skill

__all__ = ["skills_prompt"]

INTRODUCTION = (
    "Skills hold instructions and tools for particular tasks. "
    f"When a task fits a description below, call {ACTIVATE} with the name first, unless a tool of the skill does it all."
)


@lru_cache(maxsize=8)
def _by_identity(skills: tuple[_Same, ...], budget: int) -> str:
    return render_catalogue([same.skill for same in skills], budget).text


class _Same:
    """A skill compared by identity: skills are immutable, and agents of one host are offered the same ones."""

    __slots__ = ("skill",)

    def __init__(self, skill: Skill) -> None:
        self.skill = skill

    def __hash__(self) -> int:
        return id(self.skill)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.skill is self.skill


def _catalogue(skills: tuple[Skill, ...], budget: int) -> str:
    """The list of skills as text; rendered once for the same skills."""
    return _by_identity(tuple(map(_Same, skills)), budget)


def skills_prompt(agent: AgentRunner) -> str | None:
    """The part of the system prompt, ``None`` when there is nothing to say."""
    state = skills_of(agent)
    parts = []
    budget = settings_of(agent.host).max_catalogue_chars
    if text := _catalogue(tuple(state.offered(request_of(agent.session))), budget):
        parts += [INTRODUCTION, text]
    session_id = agent.session.id if agent.session is not None else None
    parts += (
        skill_content(agent.host.skills.get(name), session_id=session_id)
        for name in state.from_start
        if agent.host.skills.has(name)
    )
    return "\n".join(parts) or None
