"""The order of candidates where nobody has searched: what fits the open document first, then by priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_engines import SkillCandidate

if TYPE_CHECKING:
    from skillkit_core import Skill

__all__ = ["ranked"]


def ranked(skills: Sequence[Skill], editor: bool) -> list[SkillCandidate]:
    """Return the candidates: those that prefer an editor first where one is open, then by priority and name."""

    def prefers(skill: Skill) -> bool:
        return editor and skill.editor_preference in ("prefer", "require")

    order = sorted(skills, key=lambda skill: (not prefers(skill), -skill.priority, skill.name))
    return [SkillCandidate(skill, 0.0, "for the open document" if prefers(skill) else "") for skill in order]
