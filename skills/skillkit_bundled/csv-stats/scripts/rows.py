"""Action `rows`: the rows of a CSV file that match a filter, the largest or smallest first if asked."""

from __future__ import annotations

import heapq
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from asked import Asked, understood, vague  # noqa: E402
from columns import number  # noqa: E402
from command import Result, count, fitting, run, shown, table, whole  # noqa: E402
from conditions import condition  # noqa: E402
from reading import Row, Table, column_named, is_missing, open_table  # noqa: E402

MOST_ROWS = 1_000
LONGEST_CELL = 500
SHOWN_ROWS = 50
SHOWN_COLUMNS = 12
FLAGS = ["largest", "ascending", "last"]


def rows(values: Mapping[str, str]) -> Result:
    """Count the matching rows and return the first, or with `sort` the most extreme ones."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    asked = understood(source, values)
    where = " and ".join(asked.filters)
    test = condition(source, where) if where else None
    order = _order(source, values, asked)
    counts = {"rows": 0, "matching": 0}

    def matching() -> Iterator[Row]:
        for batch in source.batches():
            counts["rows"] += len(batch)
            chosen = [row for row in batch if test(row)] if test else batch
            counts["matching"] += len(chosen)
            yield from chosen

    chosen = _chosen(matching(), order, source.decimal_comma)
    columns = [column_named(source, name) for name in values.get("columns", "").split(",") if name.strip()]
    columns = columns or asked.columns or list(range(len(source.header)))
    header = [source.header[place] for place in columns]
    records = [[row[place][:LONGEST_CELL] for place in columns] for row in chosen]
    if where:
        size = f"{counts['matching']:,} of {count(counts['rows'], 'row')} match {shown(where)}"
    else:
        size = count(counts["rows"], "row")
    if order.place is not None:
        size += f", the {'smallest' if order.ascending else 'largest'} {shown(source.header[order.place])} first"
    lines = [f"{shown(source.name)}: {size}"]
    if records:
        lines += ["", *_table(header, records)]
    lines += [f"note: {remark}" for remark in source.remarks()]
    listed = fitting([dict(zip(header, record, strict=True)) for record in records])
    return {
        "answer": "\n".join(lines),
        "file": source.name,
        **counts,
        "where": where or None,
        "columns": fitting(header),
        "records": listed,
        "truncated": len(listed) < len(records),
        "notes": source.remarks(),
    }


@dataclass(frozen=True, slots=True)
class Order:
    """Which rows are wanted: the first `limit`, or the most extreme ones by the column at `place`."""

    limit: int
    place: int | None = None
    ascending: bool = False
    last: bool = False  # without a column: the last rows of the file


def _order(source: Table, values: Mapping[str, str], asked: Asked) -> Order:
    """Return the order of the arguments; the largest without a column to sort by are a problem.

    A single column that the request names is the one: "who has the highest salary".
    """
    limit = min(whole(values, "limit", 10), MOST_ROWS)
    if "sort" in values:
        return Order(limit, column_named(source, values["sort"]), "ascending" in values)
    if len(asked.columns) == 1 and {"largest", "ascending"} & set(values):
        return Order(limit, asked.columns.pop(), "ascending" in values)
    if "largest" in values or ("ascending" in values and "last" not in values):
        raise vague(source, values, "largest" if "largest" in values else "smallest")
    return Order(limit, last="last" in values)


def _chosen(found: Iterator[Row], order: Order, decimal_comma: bool) -> list[Row]:
    place = order.place
    if order.last:
        return list(deque(found, maxlen=order.limit))
    if place is None:
        chosen = list(islice(found, order.limit))
        deque(found, maxlen=0)  # the rest is counted too
        return chosen

    def key(row: Row) -> tuple[int, float, str]:
        """Order numbers before words; rows without a value come last in either direction."""
        value = number(row[place], decimal_comma)
        if is_missing(row[place]):
            return (2 if order.ascending else -1, 0.0, "")
        return (
            (int(not order.ascending), value, "")
            if value is not None
            else (int(order.ascending), 0.0, row[place].casefold())
        )

    return (heapq.nsmallest if order.ascending else heapq.nlargest)(order.limit, found, key=key)


def _table(header: list[str], records: list[Row]) -> list[str]:
    """Return the table for people: as many rows and columns as somebody wants to look at."""
    wide = [record[:SHOWN_COLUMNS] for record in records[:SHOWN_ROWS]]
    lines = [table(header[:SHOWN_COLUMNS], wide, numeric=_numeric(header[:SHOWN_COLUMNS], wide), widest=32)]
    if len(records) > SHOWN_ROWS:
        lines.append(f"... and {count(len(records) - SHOWN_ROWS, 'more row')} in the data")
    if len(header) > SHOWN_COLUMNS:
        lines.append(f"... and {count(len(header) - SHOWN_COLUMNS, 'more column')}; name those to show in columns")
    return lines


def _numeric(header: list[str], records: list[Row]) -> list[str]:
    return [
        name
        for place, name in enumerate(header)
        if all(is_missing(record[place]) or number(record[place]) is not None for record in records)
    ]


if __name__ == "__main__":
    sys.exit(run(rows, ["file"], ["where", "sort", "limit", "columns", "request", "delimiter"], FLAGS))
