"""Terms: what of a request, an example or a keyword takes part in the comparison, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .request import Kind, Piece, Request
from .words import ASKING, CHANGING, FUNCTION, UNITS, normal, split_words, stem, word_set

__all__ = [
    "AMOUNT",
    "ARITHMETIC",
    "CONVERSION",
    "Term",
    "asks_amount",
    "changing_verbs",
    "file_endings",
    "pairs_of",
    "terms_of",
]

# Marks of what a text contains, as terms of their own: "<" keeps them apart from words.
FILE, NUMBER, UNIT, DATE, GLOB, URL = "<file>", "<number>", "<unit>", "<date>", "<glob>", "<url>"
ARITHMETIC, CONVERSION, AMOUNT = "<arithmetic>", "<conversion>", "<amount>"

_ASKING_WEIGHT = 0.3
_DATA_WEIGHT = 0.5
_MARKS = {
    FILE: 0.3,
    NUMBER: 0.3,
    UNIT: 0.4,
    DATE: 0.5,
    GLOB: 0.4,
    URL: 0.4,
    ARITHMETIC: 1.2,
    CONVERSION: 1.2,
    AMOUNT: 0.6,
}
_EXTENSION_WEIGHT = 0.9
# After these words a request names its data ("average price by region"): unknown words there say little about the task.
_BEFORE_DATA = word_set(
    """of by per where whose for in from named called with column columns since under than between at on about and
    equal equals contain contains containing is"""
)
_OPERATORS = frozenset({"+", "-", "*", "/", "×", "÷", "^", "−", "plus", "minus", "times", "divided", "multiplied"})
_POWERS = frozenset({"power", "squared", "cubed", "modulo"})
_POLITE = word_set(
    """please kindly just now also then and can could would will you i we to want need like i'd let's us me go ahead
    help hey hi hello ok okay first finally next quickly should must have"""
)


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a text.

    Attributes:
        term: a stem, or a mark such as ``<number>``.
        weight: how much it counts beside a plain content word (1.0).
        place: which piece of the request it comes from.
        data: it stands where a request names its data; if no action knows it, it counts half.
    """

    term: str
    weight: float
    place: int
    data: bool = False

    @property
    def mark(self) -> bool:
        """Whether it says what kind of thing is there, not which word."""
        return self.term.startswith("<")


def terms_of(request: Request) -> list[Term]:
    """The terms of a text, each once, in order of appearance. Files, quotations and options are data: only their kind counts."""
    found: dict[str, Term] = {}
    before = ""
    units: list[str] = []

    def add(term: str, weight: float, place: int, data: bool = False) -> None:
        if term not in found:
            found[term] = Term(term, weight, place, data)

    for place, piece in enumerate(request.pieces):
        if piece.kind is Kind.word:
            word = normal(piece.text)
            if asks_amount(before, word):
                add(AMOUNT, _MARKS[AMOUNT], place)
            unit = len(word) > 1 and word in UNITS and word not in FUNCTION
            data = before in _BEFORE_DATA or "_" in piece.text or unit
            units += [stem(word)] if unit else []
            if len(set(units)) > 1:
                add(CONVERSION, _MARKS[CONVERSION], place)
            for part in split_words(piece.text):
                if part not in FUNCTION:
                    add(stem(part), _ASKING_WEIGHT if part in ASKING else 1.0, place, data)
            if word not in FUNCTION or word in _BEFORE_DATA or word == "how":
                before = word
        else:
            for mark, weight in _marks(request, place, piece):
                add(mark, weight, place)
    return list(found.values())


def asks_amount(before: str, word: str) -> bool:
    """Whether two neighbouring words ask how many: "how many", "number of", "count the"; one word of it may be enough."""
    return (before, word) in (("how", "many"), ("number", "of")) or word in ("count", "counts")


def file_endings(request: Request) -> frozenset[str]:
    """Stems of the endings of the files that a request names."""
    names = [p.text for p in request.pieces if p.kind in (Kind.file, Kind.glob)]
    return frozenset(stem(normal(n.rpartition(".")[2])) for n in names if "." in n.strip("./"))


def _marks(request: Request, place: int, piece: Piece) -> list[tuple[str, float]]:
    if piece.kind in (Kind.file, Kind.glob):
        mark = FILE if piece.kind is Kind.file else GLOB
        stem_, dot, ending = piece.text.rpartition(".")
        out = [(mark, _MARKS[mark])]
        if dot and stem_ and ending.isalnum():
            out.append((stem(ending.lower()), _EXTENSION_WEIGHT))
        return out
    if piece.kind is Kind.number:
        return _number_marks(request, place, piece)
    if piece.kind is Kind.date:
        return [(DATE, _MARKS[DATE])]
    if piece.kind is Kind.url:
        return [(URL, _MARKS[URL])]
    return []


def _number_marks(request: Request, place: int, piece: Piece) -> list[tuple[str, float]]:
    out = [(NUMBER, _MARKS[NUMBER])]
    pieces = request.pieces
    after = [normal(p.text) for p in pieces[place + 1 : place + 5]]
    if piece.unit == "%":
        out.append((stem("percent"), 1.0))
    measured = bool(piece.unit) and piece.unit not in "%$€£"
    if not measured and after and after[0] in UNITS and after[0] not in FUNCTION:
        measured, after = True, after[1:]
    if measured:
        out.append((UNIT, _MARKS[UNIT]))
        if len(after) > 1 and after[0] in ("in", "to", "into", "as") and after[1] in UNITS:
            out.append((CONVERSION, _MARKS[CONVERSION]))
    following = [p for p in pieces[place + 1 : place + 5] if p.text not in ("(", ")", "by")]
    words = [normal(p.text) for p in following]
    applied = len(following) > 1 and words[0] in _OPERATORS and following[1].kind is Kind.number
    if applied or not _POWERS.isdisjoint(words):
        out.append((ARITHMETIC, _MARKS[ARITHMETIC]))
    return out


def pairs_of(request: Request) -> set[str]:
    """Neighbouring words, function words too; data stand as their kind. They tell "how many" from "how big"."""
    words = [
        stem(normal(p.text)) if p.kind is Kind.word else f"<{p.kind}>"
        for p in request.pieces
        if p.kind is not Kind.symbol
    ]
    return {f"{a} {b}" for a, b in pairwise(words)}


def changing_verbs(request: Request) -> list[str]:
    """Verbs that lead a clause and ask for a change ("delete", "send"), in order."""
    out: list[str] = []
    leading = True
    for place, piece in enumerate(request.pieces):
        word = normal(piece.text) if piece.kind is Kind.word else ""
        if piece.kind is Kind.symbol:
            leading = leading or piece.text in ",;.:!?-"
        elif leading and word in CHANGING:
            follows = request.pieces[place + 1] if place + 1 < len(request.pieces) else None
            if not (
                word == "add" and follows is not None and follows.kind is Kind.number
            ):  # "add 3 and 4" is arithmetic
                out.append(word)
            leading = False
        elif word in ("and", "then"):
            leading = True
        elif word not in _POLITE:
            leading = False
    return out
