"""The words of a text as the index compares them, and the index without SQLite's FTS5."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import pairwise
from math import log

__all__ = ["WordIndex", "plain", "spaced", "terms"]

MOST_TERMS = 48
# In two of five public skills or more: they hardly tell skills apart, and to look for them takes most of a search's time.
_EVERYWHERE = frozenset(
    (
        *(
            "a",
            "all",
            "and",
            "by",
            "for",
            "from",
            "get",
            "if",
            "in",
            "is",
            "it",
            "need",
            "no",
            "not",
            "of",
            "on",
            "or",
            "s",
        ),
        *("start", "t", "that", "the", "this", "to", "use", "user", "using", "what", "when", "with", "you", "your"),
    )
)
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # scripts written without spaces


def spaced(text: str) -> str:
    """``text`` with blanks around each letter of a script that is written without them."""
    return text if text.isascii() else re.sub(_UNSPACED, r" \g<0> ", text)


def terms(request: str) -> list[str]:
    """The words to look for, each once: at most 48. Letters without blanks between them give phrases of two."""
    found: dict[str, None] = {}
    for word in _WORD.findall(request.lower()):
        if not word.isascii() and re.search(_UNSPACED, word):
            parts = spaced(word).split()
            found.update(dict.fromkeys(" ".join(pair) for pair in pairwise(parts)))
            if len(parts) == 1:
                found[word] = None
        elif word not in _EVERYWHERE:
            found[word] = None
        if len(found) >= MOST_TERMS:
            break
    return list(found)[:MOST_TERMS]


class WordIndex:
    """BM25F over the words of texts in columns, in memory: what takes over where FTS5 is missing.

    Args:
        columns: of each column how much a word in it counts, and how much the column's length takes off (0 to 1).
        rows: the words of each text, by column.

    Attributes:
        postings: where a word is: numbers of rows, each with how much the row is about the word (0 to 1).
    """

    def __init__(self, columns: Sequence[tuple[float, float]], rows: Iterable[Sequence[Iterable[str]]]) -> None:
        counted = [[Counter(words) for words in row] for row in rows]
        lengths = [[words.total() for words in row] for row in counted]
        means = [sum(column) / (sum(map(bool, column)) or 1) or 1.0 for column in zip(*lengths, strict=True)]
        self.size = len(counted)
        self.postings: dict[str, list[tuple[int, float]]] = {}
        for number, row in enumerate(counted):
            frequency: dict[str, float] = {}
            for (weight, b), words, length, mean in zip(columns, row, lengths[number], means, strict=True):
                each = weight / (1 - b + b * length / mean)
                for word, count in words.items():
                    frequency[word] = frequency.get(word, 0.0) + each * count
            for word, value in frequency.items():
                self.postings.setdefault(word, []).append((number, value / (1.2 + value)))

    def search(self, words: Iterable[str], limit: int) -> list[tuple[int, float]]:
        """The numbers of the ``limit`` best rows with their scores, best first."""
        scores: dict[int, float] = {}
        for word in words:
            found = self.postings.get(word, ())
            rarity = log(1 + (self.size - len(found) + 0.5) / (len(found) + 0.5))
            for number, share in found:
                scores[number] = scores.get(number, 0.0) + rarity * share
        return nlargest(limit, scores.items(), key=lambda it: (it[1], -it[0]))


def plain(text: str) -> list[str]:
    """The words of ``text`` without the ``s`` of plurals: all that is left of stems without FTS5."""
    return [w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] != "s" else w for w in _WORD.findall(text.lower())]
