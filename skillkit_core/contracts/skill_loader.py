"""The skill loader contract: a loader reads the skills of a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..fields import check_fields
from ..skills import Skill, SkillProblem

__all__ = ["LoadedSkills", "SkillLoader", "SkillSource"]


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A source of skills.

    Attributes:
        name: unique name for listings (``user``, ``project``, ``bundled``, ``extra:docs``).
        kind: the precedence class: project beats user beats plugin beats bundled beats extra.
        path: a directory whose sub-folders hold ``SKILL.md`` files.
        package: an importable package that is such a directory, instead of ``path``.
        trusted: whether hooks and dynamic commands of the source's skills may ever run.
        loader: name of the loader; ``None``: the first loader that accepts the source.
    """

    name: str
    kind: Literal["project", "user", "plugin", "bundled", "extra"] = "extra"
    path: Path | None = None
    package: str | None = None
    trusted: bool = False
    loader: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, f"skill source {self.name!r}")


@dataclass(frozen=True, slots=True)
class LoadedSkills:
    """The result of a loader: skills in a stable order, and problems of folders without a usable skill."""

    skills: Sequence[Skill] = ()
    problems: Sequence[SkillProblem] = field(default=())


class SkillLoader(ABC):
    """Reads skills from sources. Registered by ``register_skill_loaders``."""

    @abstractmethod
    def accepts(self, source: SkillSource) -> bool:
        """Return whether this loader understands the source."""

    @abstractmethod
    def load(self, source: SkillSource) -> LoadedSkills:
        """Return all skills of the source. A bad skill becomes a problem in the result, never an exception."""
