"""Many skills: the domains of a request first, then the skills that are shown to the model.

The index of ``skillkit-skills`` finds the nearest skills. Where it finds none, one call names the domains.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillkit_engines import RouteRequest, SkillCandidate
from skillkit_skills import index_of

from skillkit_core.errors import SkillKitError
from skillkit_core.messages import UserMessage, blocks_of

from .answer import fold
from .prompt import row, shortened
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import Host, Skill

__all__ = ["OTHER", "Shortlist", "domains_of", "nearest", "shortlist", "widened"]

OTHER = "other"
"""The domain of skills that name none."""
MOST_DOMAINS = 3
FIRST = 20  # nearest skills that always join
LOOKED_AT = 60
PROMPT_CHARS = 12_000  # of the rows of skills: with the instructions under 4,000 tokens
ROW_CHARS = 220
MOST_ASKED = 200  # domains that a model may choose from


class Shortlist(NamedTuple):
    """The skills that a model is shown.

    Attributes:
        skills: the skills, the nearest first.
        narrowed: whether others are left out.
        chars: most characters of a row; ``None``: all.
        domains: the domains of the request.
        calls: how many model calls that took.
    """

    skills: Sequence[Skill]
    narrowed: bool = False
    chars: int | None = None
    domains: tuple[str, ...] = ()
    calls: int = 0

    def ranked(self) -> Iterator[tuple[str, Skill]]:
        """Yield name and skill, the nearest first."""
        return ((skill.name, skill) for skill in self.skills)


async def shortlist(request: RouteRequest, candidates: Sequence[SkillCandidate], host: Host) -> Shortlist:
    """Return the skills for the question: all of them, or from ``routing.hierarchical_from`` on those of one to three domains.

    While every domain has room for its best ``routing.per_domain`` skills, all domains are shown: a second question would cost
    more than the words that the first one saves.
    """
    settings = settings_of(host)
    skills = [one.skill for one in candidates]
    if len(skills) < settings.hierarchical_from:
        return Shortlist(skills)
    if max(Counter(domain for skill in skills for domain in _domains(skill)).values()) <= settings.per_domain:
        fitting = _fitting(skills)
        if len(fitting) == len(skills):
            return Shortlist(fitting, chars=ROW_CHARS)
    found = await asyncio.to_thread(nearest, host, request.query, skills)
    domains, calls = domains_of(found, request), 0
    if not domains:
        domains = await _asked_domains(request, skills, host)
        calls = 1
    order = {id(skill): place for place, (skill, _) in enumerate(found)}
    far = len(order)

    def nearness(skill: Skill) -> tuple[int, int, str]:
        return order.get(id(skill), far), -skill.priority, skill.name

    shown = {id(skill): skill for skill, _ in found[:FIRST]}
    for domain in domains:
        inside = sorted((skill for skill in skills if domain in _domains(skill)), key=nearness)
        shown.update((id(skill), skill) for skill in inside[: settings.per_domain])
    if request.active:
        shown.update((id(skill), skill) for skill in skills if fold(skill.name) == fold(request.active))
    return Shortlist(_fitting(list(shown.values())), True, ROW_CHARS, domains, calls)


async def widened(
    request: RouteRequest, candidates: Sequence[SkillCandidate], shown: Shortlist, host: Host
) -> Shortlist:
    """Return skills of all domains that were not shown: the next nearest ones, then the most urgent of each domain."""
    seen = {id(skill) for skill in shown.skills}
    skills = [one.skill for one in candidates]
    found = await asyncio.to_thread(nearest, host, request.query, skills)
    rest = {id(skill): skill for skill, _ in found if id(skill) not in seen}
    per_domain: Counter[str] = Counter()
    for skill in sorted(skills, key=lambda one: (-one.priority, one.name)):
        domain = next(iter(_domains(skill)))
        if id(skill) not in seen and per_domain[domain] < 2:
            per_domain[domain] += 1
            rest.setdefault(id(skill), skill)
    return Shortlist(_fitting(list(rest.values())), False, ROW_CHARS)


def nearest(host: Host, query: str, skills: Sequence[Skill]) -> list[tuple[Skill, float]]:
    """Return the skills whose words are near to a request, the nearest first, each with its score."""
    kept = host.state("routing")
    same = tuple(skills)
    if kept.get("skills") == same:
        same = kept["skills"]  # the index compares texts only once for one sequence
    kept["skills"] = same
    return [(one.skill, one.score) for one in index_of(host).search(query, same, LOOKED_AT)]


def domains_of(found: Sequence[tuple[Skill, float]], request: RouteRequest) -> tuple[str, ...]:
    """Return the one to three domains that the nearest skills speak for; empty: the words say nothing.

    A domain counts with the scores of its skills among the nearest; one that the request names (or an intent of its skills),
    twice. Domains far below the first one are left out.
    """
    weight: dict[str, float] = {}
    words = set(request.query.casefold().split())
    for place, (skill, score) in enumerate(found[:FIRST]):
        for domain in _domains(skill):
            named = fold(domain) in words or any(fold(intent) in words for intent in skill.intents)
            weight[domain] = weight.get(domain, 0.0) + score / (1 + place) * (2 if named else 1)
    best = sorted(weight.items(), key=lambda one: (-one[1], one[0]))[:MOST_DOMAINS]
    return tuple(domain for domain, value in best if value >= best[0][1] / 4)


async def _asked_domains(request: RouteRequest, skills: Sequence[Skill], host: Host) -> tuple[str, ...]:
    """Return the domains that a model names for a request; on any failure the largest ones."""
    sizes = Counter(domain for skill in skills for domain in _domains(skill))
    names = [name for name, _ in sizes.most_common(MOST_ASKED)]
    if request.ask is None or len(names) <= MOST_DOMAINS:
        return tuple(names[:MOST_DOMAINS])
    system = (
        "Name the one to three domains that a request belongs to, the likeliest first, each on a line of its own, and nothing "
        f"else. Domains: {', '.join(sorted(names))}"
    )
    settings = settings_of(host)
    model: Mapping[str, str] = {"model": settings.model} if settings.model else {}
    try:
        answer = await request.ask(
            [UserMessage(content=blocks_of(shortened(request.query)))],
            system=system,
            purpose="routing.domains",
            timeout=settings.timeout,
            **model,
        )
    except (TimeoutError, SkillKitError):
        return tuple(names[:MOST_DOMAINS])
    by_name = {fold(name): name for name in names}
    said = [
        by_name[fold(line.strip(" -*,."))] for line in answer.text.splitlines() if fold(line.strip(" -*,.")) in by_name
    ]
    return tuple(dict.fromkeys(said))[:MOST_DOMAINS] or tuple(names[:MOST_DOMAINS])


def _domains(skill: Skill) -> tuple[str, ...]:
    return skill.domains or (OTHER,)


def _fitting(skills: Sequence[Skill]) -> Sequence[Skill]:
    """Return as many skills as the prompt has room for."""
    room, shown = PROMPT_CHARS, []
    for skill in skills:
        room -= len(row(skill, ROW_CHARS)) + 1
        if room < 0:
            break
        shown.append(skill)
    return shown
