"""The figures of columns for each value of another column."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from columns import figure, number
from command import Problem, Result, count, fitting, shown, table
from conditions import Predicate
from reading import Row, Table, is_missing

MOST_GROUPS = 10_000
SHOWN_GROUPS = 40
FIGURES = ["mean", "sum", "min", "max"]


@dataclass(slots=True)
class Figures:
    """The running figures of one column in one group."""

    numbers: int = 0
    total: float = 0.0
    rest: float = 0.0  # what rounding took from the total (Neumaier's sum)
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: float) -> None:
        """Take in one number."""
        total = self.total + value
        self.rest += (self.total - total) + value if abs(self.total) >= abs(value) else (value - total) + self.total
        self.total = total
        self.numbers += 1
        self.low = min(self.low, value)
        self.high = max(self.high, value)

    def as_json(self) -> Result:
        """Return the figures; none of them exists without a number."""
        if not self.numbers:
            return {"numbers": 0, **dict.fromkeys(FIGURES)}
        total = self.total + self.rest
        return {"numbers": self.numbers, "mean": total / self.numbers, "sum": total, "min": self.low, "max": self.high}


@dataclass(slots=True)
class Group:
    """The rows that share one value."""

    rows: int = 0
    columns: list[Figures] = field(default_factory=list)


def grouped(source: Table, by: int, places: list[int], where: str, test: Predicate | None, wanted: list[str]) -> Result:
    """Return rows and figures by the values of the column at `by`; a filter counts before grouping."""
    places = [place for place in places if place != by]
    groups: dict[str, Group] = {}
    rows = matching = 0
    for batch in source.batches():
        rows += len(batch)
        for row in batch:
            if test is None or test(row):
                matching += 1
                _add(groups, row, by, places, source)
    ordered = sorted(groups.items(), key=lambda item: (-item[1].rows, item[0]))
    names = [source.header[place] for place in places]
    return {
        "answer": _answer(source, source.header[by], names, ordered, where, matching, wanted),
        "file": source.name,
        "rows": rows,
        "matching": matching,
        "where": where or None,
        "by": source.header[by],
        "groups": fitting([_record(value, group, names) for value, group in ordered]),
        "group_count": len(groups),
        "notes": source.remarks(),
    }


def _add(groups: dict[str, Group], row: Row, by: int, places: list[int], source: Table) -> None:
    value = "" if is_missing(row[by]) else row[by].strip()[:200]
    group = groups.get(value)
    if group is None:
        if len(groups) >= MOST_GROUPS:
            raise Problem(f"column {source.header[by]!r} has more than {MOST_GROUPS:,} different values to group by")
        group = groups[value] = Group(columns=[Figures() for _ in places])
    group.rows += 1
    for place, figures in zip(places, group.columns, strict=True):
        found = number(row[place], source.decimal_comma)
        if found is not None:
            figures.add(found)


def _record(value: str, group: Group, names: list[str]) -> Result:
    figures = {name: column.as_json() for name, column in zip(names, group.columns, strict=True)}
    return {"value": value or None, "rows": group.rows, "columns": figures}


def _answer(
    source: Table,
    by: str,
    names: list[str],
    groups: list[tuple[str, Group]],
    where: str,
    matching: int,
    wanted: list[str],
) -> str:
    shown_figures = [name for name in FIGURES if name in wanted] or FIGURES
    unknown = [name for name in wanted if name not in (*FIGURES, "distinct", "missing")]
    if unknown:
        raise Problem(f"by group the mean, sum, min and max are known, not the {unknown[0]}; filter with where instead")
    over = count(matching, "row") + (f" where {shown(where)}" if where else "")
    lines = [f"{shown(source.name)} by {shown(by)}: {count(len(groups), 'group')}, {over}", ""]
    titles = [f"{measure} {name}" for name in names for measure in shown_figures]
    rows = []
    for value, group in groups[:SHOWN_GROUPS]:
        records = [column.as_json() for column in group.columns]
        figures = [figure(record[name]) for record in records for name in shown_figures]
        rows.append([value or "(missing)", f"{group.rows:,}", *figures])
    lines.append(table([by, "rows", *titles], rows, numeric=["rows", *titles]))
    if len(groups) > SHOWN_GROUPS:
        lines.append(f"... and {len(groups) - SHOWN_GROUPS:,} more groups")
    return "\n".join([*lines, *(f"note: {remark}" for remark in source.remarks())])
