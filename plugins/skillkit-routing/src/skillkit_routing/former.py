"""Former names of skills: what they mean now, who still uses them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from skillkit_skills import listing

from .answer import fold

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

__all__ = ["Caller", "callers", "former_names"]


class Caller(NamedTuple):
    """Who uses a former name of a skill.

    Attributes:
        who: the skill that names it, with its file.
        name: the former name.
        now: the name of its successor.
    """

    who: str
    name: str
    now: str


def former_names(skills: Iterable[Skill]) -> Mapping[str, Skill]:
    """Return the skills by their former names, folded. ``NAMESPACE:NAME`` is no former name, but a longer one."""
    known = tuple(skills)
    names = {fold(skill.name) for skill in known}
    found = {fold(alias): skill for skill in known for alias in skill.aliases if ":" not in alias}
    return {name: skill for name, skill in found.items() if name not in names}


def callers(host: Host) -> list[Caller]:
    """Return the skills whose text calls another one by a former name: ``/name``, ``$name``, or in quotes."""
    skills = [row.skill for row in listing(host) if row.wins]
    former = former_names(skills)
    return [found for skill in skills for found in _of(skill, former)] if former else []


def _of(skill: Skill, former: Mapping[str, Skill]) -> Iterator[Caller]:
    text = fold("\n".join((skill.description, skill.system_prompt or "", *skill.not_for, skill.body)))
    where = f" ({skill.path / 'SKILL.md'})" if skill.path is not None else ""
    for name, now in former.items():
        if now is not skill and re.search(rf"(?<![\w/$.-])(?:[/$]|[`'\"]){re.escape(name)}(?![\w/-])", text):
            yield Caller(f"{skill.name}{where}", name, now.name)
