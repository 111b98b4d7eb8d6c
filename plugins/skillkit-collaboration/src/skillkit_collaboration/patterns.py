"""Patterns of the settings as skills: each has a name, and is called by it, routed to, and planned with, as any skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_core import LoadedSkills, SkillLoader, SkillSource
from skillkit_core.skills import Skill

from .participants import ENGINE
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SOURCE", "PatternLoader"]

SOURCE = "collaboration"


class PatternLoader(SkillLoader):
    """Makes a skill of each pattern."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def accepts(self, source: SkillSource) -> bool:
        """Return whether the source is the patterns."""
        return source.loader == SOURCE

    def load(self, source: SkillSource) -> LoadedSkills:
        """Return the patterns as skills. Without a description only who names it can call one."""
        found = []
        for name, config in settings_of(self._host).patterns.items():
            about = config.model_dump(mode="json", exclude_defaults=True)
            names = ", ".join(config.participants)
            skill = Skill(
                name=name,
                description=config.description or f"A session of {names}.",
                engine=ENGINE,
                source=source.name,
                disable_model_invocation=not config.description,
                metadata={"skillkit": {ENGINE: about}},
            )
            found.append(skill)
        return LoadedSkills(tuple(found))
