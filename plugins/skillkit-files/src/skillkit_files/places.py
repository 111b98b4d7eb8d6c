"""Where lines stand in a file one after the other: asked for every hunk of a patch, so the file is taken apart once."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import merge

from .near_miss import loosened

__all__ = ["GIT", "OPENAI", "Fold", "Places"]

Fold = Callable[[str], str]


def _exact(line: str) -> str:
    return line


def _loose(line: str) -> str:
    return loosened(line).strip()


# What of a line is compared, from the strictest on.
OPENAI: Sequence[Fold] = (_exact, str.rstrip, str.strip, _loose)
GIT: Sequence[Fold] = (_exact, str.rstrip)


class Places:
    """The lines of one file, and where each stands.

    Attributes:
        lines: the lines.
        looked_at: places at which lines were compared so far; what a patch costs beside its length and the file's.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.looked_at = 0
        self._folded: dict[Fold, tuple[Sequence[str], dict[str, list[int]]]] = {}

    def first(self, want: Sequence[str], start: int, folds: Sequence[Fold]) -> int | None:
        """Return the first place from ``start`` on; an exact one further down counts before a folded one above."""
        return self._found(want, start, start, folds)

    def nearest(self, want: Sequence[str], start: int, at: int, folds: Sequence[Fold]) -> int | None:
        """Return the place from ``start`` on that is nearest to ``at``, of two the upper one; exact ones first."""
        return self._found(want, start, at, folds)

    def _found(self, want: Sequence[str], start: int, at: int, folds: Sequence[Fold]) -> int | None:
        for fold in folds:
            mine, index = self._of(fold)
            wanted = [fold(line) for line in want]
            # The line that stands at the fewest places leaves the fewest to compare.
            rare = min(range(len(wanted)), key=lambda n: len(index.get(wanted[n], ())))
            for place in _outwards(index.get(wanted[rare], ()), at + rare, start + rare):
                begin = place - rare
                self.looked_at += 1
                if list(mine[begin : begin + len(wanted)]) == wanted:
                    return begin
        return None

    def _of(self, fold: Fold) -> tuple[Sequence[str], dict[str, list[int]]]:
        if fold not in self._folded:
            mine = self.lines if fold is _exact else [fold(line) for line in self.lines]
            index: dict[str, list[int]] = defaultdict(list)
            for place, line in enumerate(mine):
                index[line].append(place)
            self._folded[fold] = mine, index
        return self._folded[fold]


def _outwards(places: Sequence[int], at: int, start: int) -> Iterator[int]:
    """Yield sorted ``places`` from ``start`` on by their distance to ``at``, of two alike the lower number first."""
    least, middle = bisect_left(places, start), bisect_left(places, max(at, start))
    above = ((at - places[n], places[n]) for n in range(middle - 1, least - 1, -1))
    below = ((places[n] - at, places[n]) for n in range(middle, len(places)))
    return (place for _, place in merge(above, below))
