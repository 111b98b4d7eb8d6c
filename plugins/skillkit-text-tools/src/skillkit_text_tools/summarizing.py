"""A text is made shorter without a model: the sentences whose words occur most often in it, in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["ranked", "sentences"]

_END = re.compile(r"(?<=[.!?…])[\"')\]”’»]*\s+(?=[\"'(\[“‘«]*[^\Wa-z_])|\n{2,}|\n(?=\s*(?:[-*+]|\d+[.)])\s)")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MARKS = re.compile(r"\A\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,9}[.)]\s+|>\s?)")
_COMMON_WORDS = """
the and for are was were that this with from have has had not but you your his her its our their they them which who will would
can could should may been being than then there these those into out about over under also more most such only some any all one
two what when where how why does did just
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, also its headings and items of lists, without their marks."""
    found = (" ".join(_MARKS.sub("", part).split()) for part in _END.split(text))
    return [part for part in found if part]


def ranked(text: str, count: int) -> Sequence[str]:
    """Return the ``count`` sentences that say most, in their order.

    The first one has a head start, because what comes first often sums up.
    """
    found = sentences(text)
    words = [[w for w in map(str.lower, _WORD.findall(one)) if w not in _COMMON] for one in found]
    often = Counter(word for row in words for word in set(row))
    scores = [
        sum(often[w] for w in set(row)) / (len(row) + 3) + (0.5 if n == 0 else 0.0) for n, row in enumerate(words)
    ]
    best = sorted(sorted(range(len(found)), key=lambda n: (-scores[n], n))[:count])
    return [found[n] for n in best]
