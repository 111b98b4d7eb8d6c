"""The ranking: which skill action a request means, best first, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillkit_core.tools import Tool

from .descriptors import label, skill_of
from .index import Index, Match, index_of
from .request import Kind, parse, visible
from .terms import Term, changing_verbs, terms_of
from .words import normal, split_words, stem

__all__ = ["Candidate", "coverage", "rank"]

_EXAMPLE = 0.7  # share of what is left to 1 that a request equal to an example adds
_ALIKE = 0.5  # likeness from which an example alone makes a candidate
_NAMED = 0.5  # the same for a request that says the skill's name


@dataclass(frozen=True, slots=True)
class Candidate:
    """One skill action that a request may mean.

    Attributes:
        tool: the action's tool.
        score: 0 to 1, comparable within one ranking.
        reasons: what speaks for it, in words.
        coverage: share of the request, by weight of its words, that the action knows.
        named: the request says the skill's name as it is written.
        against: what forbids it, in words; empty when nothing does.
        matched: the terms that request and action share, with how firmly the action says them.
        anchored: it shares a word of its name or its keywords, or is alike.
        alike: it is much like an example, or the request says the skill's name.
    """

    tool: Tool
    score: float
    reasons: tuple[str, ...] = ()
    coverage: float = 0.0
    named: bool = False
    against: str = ""
    matched: Mapping[str, float] = field(default_factory=dict)
    anchored: bool = False
    alike: bool = False


def rank(request_text: str, tools: Sequence[Tool]) -> list[Candidate]:
    """The skill actions among ``tools`` that share anything with the request, best first.

    Pure and deterministic: equal scores are ordered by the tool's name. Tools that belong to no skill are never listed.
    Linear in the number of matching actions; the index of a tuple of tools is built once.
    """
    request = parse(request_text)
    index = index_of(tools)
    terms = terms_of(request)
    verbs = changing_verbs(request)
    said = " ".join(stem(w) for p in request.pieces if p.kind is Kind.word for w in split_words(p.text))
    spelled = {normal(p.text) for p in request.pieces if p.kind is Kind.word}
    out = [
        _candidate(index, number, match, terms, verbs, said, spelled) for number, match in index.match(request).items()
    ]
    return sorted(out, key=lambda c: (-c.score, c.tool.name))


def _candidate(
    index: Index, number: int, match: Match, terms: list[Term], verbs: list[str], said: str, spelled: set[str]
) -> Candidate:
    tool = index.tools[number]
    name = normal(skill_of(tool))
    in_words = f" {said} ".find(f" {' '.join(stem(w) for w in split_words(name))} ") >= 0
    named = name in spelled and not name.isalpha()
    score = 1 - (1 - match.bm25) * (1 - _EXAMPLE * match.likeness) * (1 - _NAMED * (in_words or named))
    unspoken = [v for v in verbs if stem(v) not in index.spoken[number]]
    reasons = [f"words: {', '.join(sorted(match.matched))}"]
    if match.likeness >= 0.3:
        reasons.append(f'like its example "{visible(match.example)}"')
    if in_words or named:
        reasons.append("says the skill's name")
    return Candidate(
        tool,
        round(score, 6),
        tuple(reasons),
        coverage(index, terms, match.matched),
        named,
        f'{label(tool)} does not speak of "{unspoken[0]}"' if unspoken else "",
        match.matched,
        match.likeness >= _ALIKE or in_words or not index.anchors[number].isdisjoint(match.matched),
        match.likeness >= _ALIKE or in_words,
    )


def coverage(
    index: Index, terms: list[Term], matched: Mapping[str, float], explained: frozenset[int] = frozenset()
) -> float:
    """Share of the request that is known: its matched terms, and the pieces that became arguments."""
    whole = known = 0.0
    for term in terms:
        weight = index.idf(term)
        whole += weight
        known += weight if term.place in explained else weight * matched.get(term.term, 0.0)
    return known / whole if whole else 0.0
