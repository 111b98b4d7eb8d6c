"""The skills of a host as people and models see them: the winner of each name, and whether it can run here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_core.skills import Skill

from .eligibility import Surroundings, reasons, surroundings_of
from .gates import Request, closed
from .settings import entry_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Listed", "Verdict", "address_of", "companions", "explain", "listing"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A skill under the name that means it.

    Attributes:
        name: what to call it: its own name, or ``source:name`` for one that lost its name to another.
        kind: kind of its source.
        reasons: why it cannot run here; empty: it can.
    """

    name: str
    skill: Skill
    kind: str
    reasons: tuple[str, ...]

    @property
    def eligible(self) -> bool:
        """Whether it can run here."""
        return not self.reasons

    @property
    def wins(self) -> bool:
        """Whether the bare name means this skill."""
        return self.name == self.skill.name

    @property
    def offered(self) -> bool:
        """Whether a model may use it."""
        return self.eligible and self.wins and self.skill.listed

    @property
    def status(self) -> str:
        """One word: ready, unavailable (with :attr:`reasons`), unlisted (no description) or hidden from models."""
        if self.reasons:
            return "unavailable"
        if self.skill.status == "unlisted":
            return "unlisted"
        return "ready" if self.skill.listed else "hidden"


def listing(host: Host, here: Surroundings | None = None) -> Iterator[Listed]:
    """Every skill once, aliases left out, in the order of the registry."""
    here = here or surroundings_of(host)
    seen: set[int] = set()
    for entry in host.skills.entries():
        skill = entry.item
        if id(skill) in seen or entry.name in skill.aliases:
            continue
        seen.add(id(skill))
        kind = host.skill_sources.get(skill.source).kind if host.skill_sources.has(skill.source) else "extra"
        yield Listed(entry.name, skill, kind, reasons(skill, here, entry_of(host, skill), kind=kind))


def address_of(host: Host, skill: Skill) -> str:
    """Return the name that means a skill: its own, or ``source:name`` for one that lost it."""
    if host.skills.has(skill.name) and host.skills.get(skill.name) is skill:
        return skill.name
    return next((e.name for e in host.skills.entries() if e.item is skill and e.name not in skill.aliases), skill.name)


def companions(host: Host, skill: Skill) -> list[Skill]:
    """Return the internal skills that a skill requires, and those that they require: they are opened with it."""
    found: list[Skill] = []
    waiting = [skill]
    while waiting:
        for need in waiting.pop().requires.skills:
            name = re.split(r"[\s<>=!~\[]", need.strip(), maxsplit=1)[0]
            other = host.skills.get(name) if host.skills.has(name) else None
            if other is not None and other.internal_only and other is not skill and other not in found:
                found.append(other)
                waiting.append(other)
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a skill may not be used.

    Attributes:
        model, user: the reasons against a model and a person who wants it; empty: it may be used.
    """

    row: Listed
    model: tuple[str, ...]
    user: tuple[str, ...]


def explain(host: Host, rows: Sequence[Listed], query: str = "") -> list[Verdict]:
    """Return every reason against each row: eligibility, the name, the description, gates, and filters of plugins."""
    skills = [row.skill for row in rows]
    words = query.split()
    by_model = closed(host, skills, Request(query, files=words, host=host))
    by_user = closed(host, skills, Request(query, files=words, caller="user", host=host))
    found = []
    for row in rows:
        lost = "" if row.wins else f"the name means {host.skills.get(row.skill.name).path}"
        silent = "there is no description" if row.skill.status == "unlisted" else ""
        model = (*row.reasons, *filter(None, (lost, silent, by_model.get(id(row.skill)))))
        user = (*row.reasons, *filter(None, (by_user.get(id(row.skill)),)))
        found.append(Verdict(row, model, user))
    return found
