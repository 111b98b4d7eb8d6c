"""The index of a set of actions: BM25F over what each says of itself, and the likeness to its examples."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skillkit_core.tools import Tool

from .attribution import attributed_examples
from .descriptors import action_of, arguments_of, is_action, skill_of, texts
from .request import Request, clean, parse
from .terms import AMOUNT, ARITHMETIC, CONVERSION, Term, asks_amount, changing_verbs, file_endings, pairs_of, terms_of
from .words import FUNCTION, split_words, stem

__all__ = ["Index", "Match", "index_of"]

# Weight of a field, and how much its length counts (BM25F's w and b).
_FIELDS = {
    "skill": (1.5, 0.0),
    "action": (1.5, 0.0),
    "keywords": (2.5, 0.3),
    "examples": (1.5, 0.6),
    "description": (1.0, 0.5),
    "skill_description": (1.0, 0.5),
    "arguments": (0.4, 0.7),
}
_ANCHORS = ("skill", "action", "keywords")  # fields whose words are chosen, not just used
_K1 = 1.2
_BACKGROUND = 10  # skills that one imagines beside the installed ones, so that three skills weigh words as thirty do
_PAIR_WEIGHT = 0.35
_DATA = 0.5  # what the words of an example count that name its author's data ("price" in "average of price")
_OTHER_ENDING = 0.6  # what is left of a likeness to an example about another kind of file
_LONGEST_FIELD = 30_000


@dataclass(slots=True)
class Match:
    """How one action compares with a request; all figures from 0 to 1.

    Attributes:
        bm25: BM25F, as a share of what an action that says every word with full weight would get.
        likeness: to the most similar example; ``example``: which one.
        matched: terms that both have, with how firmly the action says them (1: as in a description, or more).
    """

    bm25: float = 0.0
    likeness: float = 0.0
    example: str = ""
    matched: dict[str, float] = field(default_factory=dict)


class Index:
    """An immutable index of the skill actions among ``tools``.

    Attributes:
        tools, skills: the actions and the names of their skills; the other lists run parallel to them.
        anchors: terms of names and keywords.
        leads: words of the names, and verbs of change with which the action introduces itself.
        kinds: kinds of files after which the skill is named ("csv" in csv-stats); any file may be text, so that is none.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(t for t in tools if is_action(t))
        self.skills = tuple(skill_of(t) for t in self.tools)
        self.anchors: list[frozenset[str]] = []
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._examples: list[tuple[int, str, dict[str, float], frozenset[str]]] = []
        self._with: dict[str, list[int]] = defaultdict(list)
        examples = attributed_examples(self.tools)
        self.leads = [_leads(t, e) for t, e in zip(self.tools, examples, strict=True)]
        self._add_fields([_fields(t, e) for t, e in zip(self.tools, examples, strict=True)])
        self._add_examples(examples)
        kinds = {ending for _, _, _, endings in self._examples for ending in endings} - {stem("text")}
        self.kinds = [kinds & {stem(w) for w in split_words(skill)} for skill in self.skills]

    def _add_fields(self, documents: list[dict[str, dict[str, float]]]) -> None:
        mean = {
            name: sum(sum(d[name].values()) for d in documents) / max(1, sum(1 for d in documents if d[name]))
            for name in _FIELDS
        }
        owners: dict[str, dict[str, float]] = defaultdict(dict)
        for number, document in enumerate(documents):
            frequency: dict[str, float] = defaultdict(float)
            for name, (weight, b) in _FIELDS.items():
                length = sum(document[name].values())
                norm = 1 - b + b * length / mean[name] if mean[name] else 1.0
                for term, count in document[name].items():
                    frequency[term] += weight * count / norm
            for term, value in frequency.items():
                self._postings[term].append((number, value))
                firmly = owners[term]
                firmly[self.skills[number]] = max(firmly.get(self.skills[number], 0.0), min(1.0, value))
            chosen = frozenset(t for name in _ANCHORS for t in document[name])
            self.anchors.append(chosen | ({ARITHMETIC, CONVERSION} & document["examples"].keys()))
        count = len(set(self.skills)) + _BACKGROUND
        said_by = {term: sum(firmly.values()) for term, firmly in owners.items()}
        self._idf = {term: math.log(1 + (count - n + 0.5) / (n + 0.5)) for term, n in said_by.items()}
        self._unseen = math.log(1 + (count - 0.5) / 1.5)  # as a word that one skill says

    def _add_examples(self, examples: list[list[str]]) -> None:
        for number, mine in enumerate(examples):
            for example in mine:
                request = parse(example)
                weights = self.weights(request)
                for term in weights:
                    if " " not in term:
                        self._with[term].append(len(self._examples))
                self._examples.append((number, example, weights, file_endings(request)))

    def idf(self, term: Term) -> float:
        """How telling a term is here, times its own weight. Marks that no action has say nothing."""
        known = self._idf.get(term.term)
        if known is None:
            return 0.0 if term.mark else self._unseen * term.weight * (0.5 if term.data else 1.0)
        return known * term.weight

    def knows(self, term: str) -> bool:
        """Whether any action has the term."""
        return term in self._idf

    def weights(self, request: Request) -> dict[str, float]:
        """Terms and neighbouring words of a request with what they count in a comparison of two requests."""
        out = {t.term: self.idf(t) * (_DATA if t.data else 1.0) for t in terms_of(request)}
        out.update(dict.fromkeys(pairs_of(request), _PAIR_WEIGHT * self._unseen))
        return out

    def match(self, request: Request) -> dict[int, Match]:
        """Every action that shares a term with the request."""
        found: dict[int, Match] = {}
        terms = terms_of(request)
        whole = sum(self.idf(t) for t in terms) or 1.0
        for term in terms:
            weight = self.idf(term) / whole
            for number, frequency in self._postings.get(term.term, ()):
                match = found.get(number)
                if match is None:
                    match = found[number] = Match()
                match.bm25 += weight * frequency / (_K1 + frequency)
                match.matched[term.term] = min(1.0, frequency)
        self._compare_examples(request, terms, found)
        return found

    def _compare_examples(self, request: Request, terms: list[Term], found: dict[int, Match]) -> None:
        mine = self.weights(request)
        total = sum(mine.values())
        endings = file_endings(request)
        near = {place for term in terms for place in self._with.get(term.term, ())}
        for place in sorted(near):
            number, example, theirs, theirs_endings = self._examples[place]
            both = sum(weight for term, weight in mine.items() if term in theirs)
            likeness = 2 * both / (total + sum(theirs.values()) or 1.0)
            if endings and theirs_endings and endings.isdisjoint(theirs_endings):
                likeness *= _OTHER_ENDING
            match = found.get(number)
            if match is not None and likeness > match.likeness:
                match.likeness, match.example = min(1.0, likeness), example


def _leads(tool: Tool, examples: list[str]) -> frozenset[str]:
    """Stems of the words of both names, and of verbs of change with which its description or an example begins."""
    names = [*split_words(skill_of(tool)), *split_words(action_of(tool))]
    spoken = [verb for text in (tool.description, *examples) for verb in changing_verbs(parse(text))]
    return frozenset(stem(word) for word in (*names, *spoken))


def _fields(tool: Tool, examples: list[str]) -> dict[str, dict[str, float]]:
    notes = tool.annotations
    arguments = arguments_of(tool)
    spoken = [f"{a.name} {' '.join(str(e) for e in a.enum)} {a.description}" for a in arguments]
    return {
        "skill": _count([skill_of(tool)]),
        "action": _count([action_of(tool)]),
        "keywords": _count(texts(notes.get("keywords")), marks=True),
        "examples": _count(examples, marks=True),
        "description": _count([tool.description]),
        "skill_description": _count(texts(notes.get("skill_description"))),
        "arguments": _count(spoken),
    }


def _count(parts: Iterable[str], *, marks: bool = False) -> dict[str, float]:
    out: dict[str, float] = defaultdict(float)
    for part in parts:
        if marks:
            for term in terms_of(parse(part)):
                out[term.term] += _DATA if term.data else 1.0
        else:
            before = ""
            for word in split_words(clean(part[:_LONGEST_FIELD])):
                if word not in FUNCTION:
                    out[stem(word)] += 1
                if asks_amount(before, word):
                    out[AMOUNT] = 1
                before = word
    return out


_lock = threading.Lock()
_recent: list[tuple[Sequence[Tool], Index]] = []


def index_of(tools: Sequence[Tool]) -> Index:
    """The index of ``tools``, kept for the last few tuples: the same set of tools is the identical tuple."""
    if not isinstance(tools, tuple):
        return Index(tools)
    with _lock:
        for known, index in _recent:
            if known is tools:
                return index
    index = Index(tools)
    with _lock:
        _recent.insert(0, (tools, index))
        del _recent[4:]
    return index
