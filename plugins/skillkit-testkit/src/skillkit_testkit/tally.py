"""How many of many cases pass, by whatever they have in common: a table after the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Tally"]


class Tally:
    """Counts cases in columns (a wire) and rows (a server, a feature); the fixture ``tally`` prints one after the tests.

    Example:
        >>> tally = Tally()
        >>> tally.add("chat", {"server": ["ollama"]}, passed=True)
        >>> tally.add("chat", {"server": ["vllm"]}, passed=False)
        >>> print("\\n".join(tally.lines()))
        server    chat
        ollama     1/1
        vllm       0/1
        all        1/2
    """

    def __init__(self) -> None:
        self._columns: dict[str, None] = {}
        self._seen: dict[str, Counter[tuple[str, str]]] = {}
        self._passed: dict[str, Counter[tuple[str, str]]] = {}
        self._all: Counter[str] = Counter()
        self._good: Counter[str] = Counter()
        self._excused: dict[str, str] = {}

    def add(self, column: str, rows: Mapping[str, Iterable[str]], *, passed: bool) -> None:
        """Count one case: ``rows`` has the labels of the case by the kind of row."""
        self._columns[column] = None
        self._all[column] += 1
        self._good[column] += passed
        for kind, labels in rows.items():
            for label in set(labels):
                self._seen.setdefault(kind, Counter())[label, column] += 1
                self._passed.setdefault(kind, Counter())[label, column] += passed

    def excuse(self, case: str, reason: str) -> None:
        """Name a case that cannot pass, and why."""
        self._excused[case] = reason

    def to_data(self) -> dict[str, Any]:
        """What was counted, as plain data: a process of pytest-xdist hands it to the one that prints."""
        return {
            "columns": [[column, self._all[column], self._good[column]] for column in self._columns],
            "rows": [
                [kind, label, column, n, self._passed[kind][label, column]]
                for kind, seen in self._seen.items()
                for (label, column), n in seen.items()
            ],
            "excused": dict(self._excused),
        }

    def take_in(self, data: Mapping[str, Any]) -> None:
        """Add what another process counted (:meth:`to_data`)."""
        for column, n, good in data["columns"]:
            self._columns[column] = None
            self._all[column] += n
            self._good[column] += good
        for kind, label, column, n, good in data["rows"]:
            self._seen.setdefault(kind, Counter())[label, column] += n
            self._passed.setdefault(kind, Counter())[label, column] += good
        self._excused.update(data["excused"])

    def lines(self, *, most: int | None = None) -> Iterator[str]:
        """The tables, one for each kind of row. ``most``: of a longer one only the rows that are not whole are shown."""
        columns = sorted(self._columns)
        for kind, seen in self._seen.items():
            passed = self._passed[kind]
            labels = sorted({label for label, _ in seen})
            shown = labels
            if most is not None and len(labels) > most:
                shown = [x for x in labels if any(passed[x, c] < seen[x, c] for c in columns)]
            width = max(len(kind), 3, *(len(label) for label in shown or labels[:1]))
            yield self._line(kind, columns, width)
            for label in shown:
                cells = [f"{passed[label, c]}/{seen[label, c]}" if seen[label, c] else "" for c in columns]
                yield self._line(label, cells, width)
            if len(shown) < len(labels):
                whole = len(labels) - len(shown)
                yield f"({whole} of {len(labels)} pass in every case; -v or -rA shows them)"
            yield self._line("all", [f"{self._good[c]}/{self._all[c]}" for c in columns], width)
        for case, reason in self._excused.items():
            yield f"cannot pass: {case}: {reason}"

    def _line(self, label: str, cells: Iterable[str], width: int) -> str:
        wide = [max(7, len(c)) for c in sorted(self._columns)]
        line = f"{label:<{width}} " + " ".join(f"{cell:>{w}}" for cell, w in zip(cells, wide, strict=True))
        return line.rstrip()
