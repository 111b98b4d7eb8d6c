"""The choice: the one action to run for a request, or the reason why none runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from skillkit_core.tools import Tool

from .descriptors import skill_of
from .filling import Filled, fill
from .index import index_of
from .ranking import Candidate, coverage, rank
from .request import parse
from .terms import terms_of

__all__ = ["Choice", "Verdict", "choose"]

MIN_SCORE = 0.2
MIN_COVERAGE = 0.4
SKILL_MARGIN = 0.08  # another skill's score within this share of the best is a tie
ACTION_MARGIN = 0.05  # the same for another action of the same skill
_LOOKED_AT = 5
_CLAUSES = re.compile(r"\s*(?:[,;.]?\s*\b(?:and\s+)?(?:then|afterwards|after that)\b,?|;)\s*", re.I)


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
        clauses = [c for c in _CLAUSES.split(parse(request_text).text) if c.strip()]
        if 1 < len(clauses) <= 4:
            parts = [_choose(c, tools, cwd, required) for c in clauses]
            meant = {p.candidate.tool.name: p.candidate for p in parts if p.candidate is not None}
            if len(meant) > 1:
                return Choice(Verdict.several, candidates=tuple(meant.values()))
    return choice


def _choose(text: str, tools: Sequence[Tool], cwd: Path | None, required: bool) -> Choice:
    ranked = rank(text, tools)
    near = tuple(c for c in ranked[:_LOOKED_AT] if c.score >= ranked[0].score / 3)
    if not ranked:
        return Choice(Verdict.no_fit)
    allowed = [c for c in ranked if not c.against]
    filled: dict[str, Filled] = {}

    def arguments(candidate: Candidate) -> Filled:
        name = candidate.tool.name
        if name not in filled:
            filled[name] = fill(text, candidate.tool, cwd)
        return filled[name]

    index, terms = index_of(tools), terms_of(parse(text))
    seen = [
        replace(c, coverage=coverage(index, terms, c.matched, arguments(c).explained)) for c in allowed[:_LOOKED_AT]
    ]
    fitting = [c for c in seen if required or c.named or (c.score >= MIN_SCORE and c.coverage >= MIN_COVERAGE)]
    if not fitting or fitting[0].score < ranked[0].score and ranked[0].against:
        return Choice(Verdict.no_fit, candidates=near)
    best = fitting[0]
    rivals = [c for c in fitting if skill_of(c.tool) != skill_of(best.tool) and not (best.named and not c.named)]
    if rivals and rivals[0].score > best.score * (1 - SKILL_MARGIN):
        return Choice(Verdict.tie, candidates=tuple(c for c in fitting if c.score > best.score * (1 - SKILL_MARGIN)))
    alike = [
        c for c in fitting if skill_of(c.tool) == skill_of(best.tool) and c.score >= best.score * (1 - ACTION_MARGIN)
    ]
    complete = [c for c in alike if arguments(c).complete]
    if len(complete) == 1:
        best = complete[0]
    elif len(complete) > 1 and complete[1].score == complete[0].score:
        equal = tuple(c for c in complete if c.score == complete[0].score)
        return Choice(Verdict.tie, candidates=equal)
    elif complete:
        best = complete[0]
    verdict = Verdict.run if arguments(best).complete else Verdict.incomplete
    return Choice(verdict, best, arguments(best), near)
