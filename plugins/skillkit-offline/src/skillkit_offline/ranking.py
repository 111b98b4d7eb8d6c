"""The ranking: which skill action a request resembles, best first, by BM25F and the likeness to the skill's examples."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from skillkit_skills import WordIndex

from skillkit_core.tools import Tool

from .descriptors import is_action, skill_of, texts
from .documents import Document, Documents
from .request import Kind, Request, clean, parse
from .words import FUNCTION, normal, split_words, stem, word_set

__all__ = ["Candidate", "rank"]

# Weight of what an action says of itself, and how much its length counts (BM25F's w and b).
_WORDED = {
    "skill": (1.5, 0.0),
    "action": (1.5, 0.0),
    "keywords": (2.5, 0.3),
    "words": (2.5, 0.3),
    "examples": (1.5, 0.6),
}
_DESCRIBED = (1.0, 0.5)  # of the skill's description and the action's
_ASKING = word_set(  # words that count a little
    """all answer anything available check contain contains everything find get give go got help inside know list look lot
    make many need new number one print put return run say see show something take tell try want whole work"""
)
_BACKGROUND = 10  # skills that one imagines beside the installed ones, so that three skills weigh words as thirty do
_EXAMPLE = 0.7  # share of what is left to 1 that a request equal to an example adds
_ALIKE = 0.5  # likeness from which an example alone makes a candidate
_NAMED = 0.5  # share of what is left to 1 that the skill's name adds
_LONGEST_FIELD = 30_000


class Candidate(NamedTuple):
    """One skill action that a request may mean, with a score from 0 to 1, comparable within one ranking.

    ``named``: the request says the skill's name. ``alike``: it does, or it is much like an example; ``exact``: all but its data.
    """

    tool: Tool
    score: float
    named: bool = False
    alike: bool = False
    exact: bool = False


def rank(request_text: str, tools: Sequence[Tool], cache: str = "") -> list[Candidate]:
    """The skill actions among ``tools`` that share anything with the request, best first.

    Deterministic: equal scores are ordered by the tool's name. Tools that belong to no skill are never listed. ``cache`` names
    a file that keeps what the tools say of themselves, taken apart.
    """
    index, request = _index_of(tools, cache), parse(request_text)
    terms = _terms(request)
    whole = sum(index.idf(t) * w for t, w in terms.items()) or 1.0
    scores: dict[int, float] = defaultdict(float)
    for term, weight in terms.items():
        for number, share in index.postings.get(term, ()):
            scores[number] += weight * index.idf(term) / whole * share
    said = f" {' '.join(stem(w) for p in request.pieces if p.kind is Kind.word for w in split_words(p.text))} "
    out = []
    for number, score in scores.items():
        tool = index.tools[number]
        words = [stem(w) for w in split_words(skill_of(tool))]
        named = len(words) > 1 and f" {' '.join(words)} " in said
        likeness = index.likeness(number, terms)
        rest = (1 - score) * (1 - _EXAMPLE * min(1.0, likeness)) * (1 - _NAMED * named)
        out.append(Candidate(tool, round(1 - rest, 6), named, named or likeness >= _ALIKE, likeness > 0.999))
    return sorted(out, key=lambda c: (-c.score, c.tool.name))


class _Index:
    """An immutable index of the skill actions among ``tools``."""

    def __init__(self, tools: Sequence[Tool], cache: str) -> None:
        self.tools = tuple(t for t in tools if is_action(t))
        known = Documents(cache)
        self._documents = [_document(tool, known) for tool in self.tools]
        known.save()
        rows = [document.fields for document in self._documents]
        self.postings = WordIndex([*_WORDED.values(), _DESCRIBED, _DESCRIBED], rows).postings
        owners = {t: {skill_of(self.tools[n]) for n, _ in found} for t, found in self.postings.items()}
        skills = len({skill_of(t) for t in self.tools}) + _BACKGROUND
        self._idf = {t: math.log(1 + (skills - len(n) + 0.5) / (len(n) + 0.5)) for t, n in owners.items()}
        self._unseen = math.log(1 + (skills - 0.5) / 1.5)  # as a word that one skill says

    def idf(self, term: str) -> float:
        """How telling a term is here."""
        return self._idf.get(term, self._unseen)

    def likeness(self, number: int, terms: dict[str, float]) -> float:
        """Return the likeness to the most similar example of the action's skill, from 0 to 1."""
        mine, examples = self._weight(terms, terms), self._documents[number].examples
        return max((2 * self._weight(terms, e) / (mine + self._weight(e, e) or 1.0) for e in examples), default=0.0)

    def _weight(self, terms: dict[str, float], among: dict[str, float]) -> float:
        return sum(self.idf(t) * weight for t, weight in terms.items() if t in among)


def _terms(request: Request) -> dict[str, float]:
    """The content words of a text and the endings of its files, with what each counts."""
    out: dict[str, float] = {}
    for piece in request.pieces:
        if piece.kind is Kind.word:
            for part in split_words(piece.text):
                if part not in FUNCTION or part in _ASKING:
                    out[stem(part)] = 0.3 if part in _ASKING else 1.0
        elif piece.kind in (Kind.file, Kind.glob) and "." in piece.text.strip("./"):
            out[stem(normal(piece.text.rpartition(".")[2]))] = 0.9
        elif piece.kind is Kind.number and piece.unit:
            out[stem("percent") if piece.unit == "%" else stem(normal(piece.unit))] = 1.0
        elif piece.kind is Kind.symbol and piece.text in "+-*/^×÷":
            out[piece.text] = 0.5
    return out


def _document(tool: Tool, known: Documents) -> Document:
    """The terms of what the action says of itself, by field, and of its examples."""
    said = {field: texts(tool.annotations.get(field)) for field in (*_WORDED, "skill_description")}
    described = (said.pop("skill_description"), [tool.description])

    def read() -> Document:
        terms = {field: [_terms(parse(text)) for text in found] for field, found in said.items()}
        words = ((w for text in of for w in split_words(clean(text[:_LONGEST_FIELD]))) for of in described)
        stems = [[stem(w) for w in each if w not in FUNCTION or w in _ASKING] for each in words]
        return Document([*([t for each in found for t in each] for found in terms.values()), *stems], terms["examples"])

    return known.of([*said.values(), *described], read)


_recent: list[tuple[Sequence[Tool], _Index]] = []


def _index_of(tools: Sequence[Tool], cache: str) -> _Index:
    """The index of ``tools``, kept for the last few tuples: the same set of tools is the identical tuple."""
    found = next((index for known, index in list(_recent) if known is tools and isinstance(tools, tuple)), None)
    if found is None:
        found = _Index(tools, cache)
        _recent[:] = [(tools, found), *_recent[:3]]
    return found
