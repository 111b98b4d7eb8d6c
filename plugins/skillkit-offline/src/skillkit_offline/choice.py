"""The choice: the one action to run for a request, or the reason why none runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from skillkit_core.tools import Tool

from .descriptors import arguments_of, most_prominent, skill_of
from .filling import Filled, fill
from .index import index_of
from .ranking import Candidate, coverage, rank
from .request import Kind, Request, parse
from .terms import file_endings, terms_of

__all__ = ["Choice", "Verdict", "choose"]

MIN_SCORE = 0.2
MIN_COVERAGE = 0.5
MIN_WITH_FILE = 0.35  # the same where the request names a file of the kind that the action is about
SURE_COVERAGE = 0.6  # below it an action whose arguments are not stated is not what was meant
SKILL_MARGIN = 0.08  # another skill's score within this share of the best is a tie
ACTION_MARGIN = 0.05  # the same for another action of the same skill
_LOST_QUOTATION = 0.7  # what is left of the coverage when the action has no use for something quoted
_LOOKED_AT = 8
_CLAUSES = re.compile(r"(?<!\s)\s*(?:[,;.]?\s*\b(?:and\s+)?(?:then|afterwards|after that)\b,?|;)\s*", re.I)


class Verdict(StrEnum):
    """Why a choice is what it is."""

    run = "run"
    no_fit = "no_fit"
    tie = "tie"
    incomplete = "incomplete"
    several = "several"


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do with a request.

    Attributes:
        verdict: ``run``: call ``candidate.tool`` with ``filled.args``. ``incomplete``: the action is clear, its arguments
            are not. ``tie``: several fit alike. ``several``: it asks for two things. ``no_fit``: nothing fits.
        candidate, filled: the chosen action and its arguments (``run`` and ``incomplete``).
        candidates: what came near, best first.
    """

    verdict: Verdict
    candidate: Candidate | None = None
    filled: Filled | None = None
    candidates: tuple[Candidate, ...] = ()


def choose(request_text: str, tools: Sequence[Tool], cwd: Path | None = None, *, required: bool = False) -> Choice:
    """Choose the action that ``request_text`` asks for and read its arguments.

    Nothing runs unless one action is clearly meant: its score and the share of the request that it explains reach a
    minimum, no other skill comes near, no verb asks for a change that it does not speak of, and every required argument is
    stated.

    Args:
        request_text: what the user said.
        tools: what may be called; only skill actions are looked at.
        cwd: the workspace.
        required: some action has to be called: the minimum is not asked for.
    """
    choice = _choose(request_text, tools, cwd, required)
    if choice.verdict in (Verdict.run, Verdict.incomplete):
        clauses = [c for c in _CLAUSES.split(parse(request_text).head, 4) if c.strip()]
        if 1 < len(clauses) <= 4:
            parts = [_choose(c, tools, cwd, required) for c in clauses]
            meant = {p.candidate.tool.name: p.candidate for p in parts if p.candidate is not None}
            if len(meant) > 1:
                return Choice(Verdict.several, candidates=tuple(meant.values()))
    return choice


def _choose(text: str, tools: Sequence[Tool], cwd: Path | None, required: bool) -> Choice:
    ranked = rank(text, tools)
    if not ranked:
        return Choice(Verdict.no_fit)
    near = tuple(c for c in ranked[:_LOOKED_AT] if c.score >= ranked[0].score / 3)
    allowed = [c for c in ranked if not c.against][:_LOOKED_AT]
    filled = {c.tool.name: fill(text, c.tool, cwd) for c in allowed}

    def arguments(candidate: Candidate) -> Filled:
        return filled[candidate.tool.name]

    request, index = parse(text), index_of(tools)
    terms, endings = terms_of(request), file_endings(request)
    seen = []
    for candidate in allowed:
        its = arguments(candidate)
        known = coverage(index, terms, candidate.matched, its.explained)
        seen.append(_weighed(candidate, _explained(candidate, its, request, known)))
    seen.sort(key=lambda c: (-c.score, c.tool.name))
    its_file = {c.tool.name for c in seen if not endings.isdisjoint(c.matched) and arguments(c).complete}
    fitting = [c for c in seen if required or c.named or _fits(c, len(terms), c.tool.name in its_file)]
    if not fitting or ranked[0].against:
        return Choice(Verdict.no_fit, candidates=near)
    best = fitting[0]
    rivals = [c for c in fitting if skill_of(c.tool) != skill_of(best.tool) and not (best.named and not c.named)]
    if rivals and rivals[0].score > best.score * (1 - SKILL_MARGIN):
        return Choice(Verdict.tie, candidates=tuple(c for c in fitting if c.score > best.score * (1 - SKILL_MARGIN)))
    alike = [c for c in fitting if skill_of(c.tool) == skill_of(best.tool)]
    chosen = _action([c for c in alike if c.score >= best.score * (1 - ACTION_MARGIN)], arguments)
    if len(chosen) > 1:
        return Choice(Verdict.tie, candidates=tuple(chosen))
    filling = arguments(chosen[0])
    if filling.complete:
        return Choice(Verdict.run, chosen[0], filling, near)
    if required or chosen[0].named or chosen[0].coverage >= SURE_COVERAGE:
        return Choice(Verdict.incomplete, chosen[0], filling, near)
    return Choice(Verdict.no_fit, candidates=near)


def _explained(candidate: Candidate, filled: Filled, request: Request, known: float) -> float:
    """The share of the request that is explained: less than what is known if the action has no use for something quoted."""
    lost = not filled.explained.issuperset(request.of(Kind.quoted))
    reads_all = any(a.whole for a in arguments_of(candidate.tool))
    return known * _LOST_QUOTATION if lost and not reads_all else known


def _weighed(candidate: Candidate, explained: float) -> Candidate:
    """The candidate once its arguments are read: the less of the request it explains, the less it is meant."""
    return replace(candidate, coverage=explained, score=candidate.score * (1 + explained) / 2)


def _fits(candidate: Candidate, terms: int, its_file: bool) -> bool:
    """Whether the request means the action at all. One that takes any request whole needs more than one word in common."""
    whole = any(a.whole and a.required for a in arguments_of(candidate.tool))
    if whole and (terms < 2 or (len(candidate.matched) < 2 and not candidate.alike)):
        return False
    return (
        candidate.anchored
        and candidate.score >= MIN_SCORE
        and candidate.coverage >= (MIN_WITH_FILE if its_file else MIN_COVERAGE)
    )


def _action(alike: list[Candidate], arguments: Callable[[Candidate], Filled]) -> list[Candidate]:
    """The one action of a skill that is meant; several where nothing tells them apart.

    First those whose arguments the request states, then those that explain more of it, then the better score, then the
    skill's main action.
    """
    complete = [c for c in alike if arguments(c).complete] or alike[:1]
    complete = [c for c in complete if not any(_states_more(other, c, arguments) for other in complete)]
    most = max(c.coverage for c in complete)
    complete = [c for c in complete if c.coverage > most - 0.02]
    best = max(c.score for c in complete)
    equal = [c for c in complete if c.score > best - 0.005]
    main = most_prominent([c.tool for c in equal])
    return equal if main is None else [c for c in equal if c.tool is main]


def _states_more(one: Candidate, other: Candidate, arguments: Callable[[Candidate], Filled]) -> bool:
    """Whether the request states for ``one`` all that it states for ``other`` and a further required argument."""
    wants = {a.name for a in arguments_of(one.tool) if a.required and a.default is None and not a.whole}
    more = wants - set(arguments(other).args)
    return (
        bool(more) and arguments(one).explained > arguments(other).explained and one.coverage >= other.coverage - 0.02
    )
