"""Action `count`: how many rows a CSV file has, and how many match a filter."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

import asked  # noqa: E402
from command import Problem, Result, count, fitting, run, shown  # noqa: E402
from conditions import condition, stated_filter  # noqa: E402
from groups import grouped  # noqa: E402
from leftover import GROUPING, PLAIN, refuse_leftover  # noqa: E402
from reading import Table, open_table  # noqa: E402


def count_rows(values: Mapping[str, str]) -> Result:
    """Read the file once and count."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    values, where = stated_filter(source, values)
    test = condition(source, where) if where else None
    by, _ = asked.group(source, asked.question(source, values.get("request", ""), where))
    refuse_leftover(source, values, where, GROUPING if by is not None else ())
    if by is not None:
        return grouped(source, by, [], where, test, [])
    if not where:
        _refuse_values(source, values.get("request", ""))
    rows = matching = 0
    for batch in source.batches():
        rows += len(batch)
        matching += sum(map(test, batch)) if test else len(batch)
    name = shown(source.name)
    if where:
        share = f" ({matching / rows:.1%})" if rows else ""
        answer = f"{count(matching, 'row')} of {rows:,} in {name} where {shown(where)}{share}"
    else:
        answer = f"{name} has {count(rows, 'row')} and {count(len(source.header), 'column')}"
    notes = source.remarks()
    return {
        "answer": "\n".join([answer, *(f"note: {note}" for note in notes)]),
        "file": source.name,
        "rows": rows,
        "matching": matching,
        "columns": fitting(source.header),
        "where": where or None,
        "notes": notes,
    }


def _refuse_values(source: Table, request: str) -> None:
    """Raise `Problem` if the request counts the values of a column: "how many regions" is not the number of rows."""
    named = re.search(r"\b(?:how many|number of|count(?: the)?)\s+(?:distinct |different |unique )?(.+)", request, re.I)
    place = asked.leading(source, asked.question(source, named[1], "")) if named else None
    if place is not None and source.header[place].casefold() not in PLAIN:
        name = shown(source.header[place])
        raise Problem(f"{name} is a column: ask for distinct {name} values, for the number of rows by {name}, "
                      f"or for rows where {name} = VALUE")  # fmt: skip


if __name__ == "__main__":
    sys.exit(run(count_rows, positional=["file"], options=["where", "request", "delimiter"]))
