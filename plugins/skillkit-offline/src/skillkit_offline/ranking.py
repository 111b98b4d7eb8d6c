"""The ranking: which skill action a request means, best first, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skillkit_core.tools import Tool

from .descriptors import action_of, label, skill_of
from .index import Index, Match, index_of
from .request import Kind, Request, parse, visible
from .terms import AMOUNT, Term, changing_verbs, file_endings, terms_of
from .words import ASKING, FUNCTION, normal, split_words, stem

__all__ = ["Candidate", "coverage", "rank"]

_EXAMPLE = 0.7  # share of what is left to 1 that a request equal to an example adds
_ALIKE = 0.5  # likeness from which an example alone makes a candidate
_OTHER_KIND = 0.5  # what is left of the score of a skill that is named after another kind of file
_LEADS = 0.3  # the same for a request that begins with the action's name ("count the rows")
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
    index = index_of(tools)
    said = _said(parse(request_text))
    out = [_candidate(index, number, match, said) for number, match in index.match(said.request).items()]
    return sorted(out, key=lambda c: (-c.score, c.tool.name))


@dataclass(frozen=True, slots=True)
class _Said:
    """What every candidate is held against.

    Attributes:
        stems: the request's words as one text with a space at both ends, for finding names in it.
        spelled: its words as they are written.
        leads: stems of the first word, and of the first that does not merely ask ("show the rows": show, rows).
        endings: of the files that it names.
        changes: verbs that ask for a change.
    """

    request: Request
    terms: tuple[Term, ...]
    stems: str
    spelled: frozenset[str]
    leads: frozenset[str]
    endings: frozenset[str]
    changes: tuple[str, ...]


def _said(request: Request) -> _Said:
    words = [normal(p.text) for p in request.pieces if p.kind is Kind.word]
    stems = [stem(part) for word in words for part in split_words(word)]
    terms = tuple(terms_of(request))
    weak = FUNCTION if any(t.term == AMOUNT for t in terms) else FUNCTION | ASKING
    leads = {next((w for w in words if w not in without), "") for without in (FUNCTION, weak)}
    return _Said(
        request,
        terms,
        f" {' '.join(stems)} ",
        frozenset(words),
        frozenset(stem(w) for w in leads),
        file_endings(request),
        tuple(changing_verbs(request)),
    )


def _candidate(index: Index, number: int, match: Match, said: _Said) -> Candidate:
    tool = index.tools[number]
    name = normal(skill_of(tool))
    named = name in said.spelled and not name.isalpha()
    words = [stem(w) for w in split_words(name)]
    in_words = named or (len(words) > 1 and f" {' '.join(words)} " in said.stems)
    leads = any(stem(w) in said.leads for w in split_words(action_of(tool)))
    other_kind = bool(said.endings and index.kinds[number]) and said.endings.isdisjoint(index.kinds[number])
    rest = (1 - match.bm25) * (1 - _EXAMPLE * match.likeness) * (1 - _NAMED * in_words) * (1 - _LEADS * leads)
    unspoken = [v for v in said.changes if stem(v) not in index.leads[number]]
    alike = match.likeness >= _ALIKE or in_words
    return Candidate(
        tool,
        round((1 - rest) * (_OTHER_KIND if other_kind else 1), 6),
        tuple(_reasons(match, in_words)),
        coverage(index, said.terms, match.matched),
        named,
        f'{label(tool)} does not speak of "{unspoken[0]}"' if unspoken else "",
        match.matched,
        alike or not index.anchors[number].isdisjoint(match.matched),
        alike,
    )


def _reasons(match: Match, named: bool) -> Iterator[str]:
    yield f"words: {', '.join(sorted(match.matched))}"
    if match.likeness >= 0.3:
        yield f'like its example "{visible(match.example)}"'
    if named:
        yield "the request says the skill's name"


def coverage(
    index: Index, terms: Sequence[Term], matched: Mapping[str, float], explained: frozenset[int] = frozenset()
) -> float:
    """Share of the request that is known: its matched terms, and the pieces that became arguments."""
    whole = known = 0.0
    for term in terms:
        weight = index.idf(term)
        whole += weight
        known += weight if term.place in explained else weight * matched.get(term.term, 0.0)
    return known / whole if whole else 0.0
