"""Action `count`: how many rows a CSV file has, and how many match a filter."""

from __future__ import annotations

import sys
from collections.abc import Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from asked import Asked, compares, understood  # noqa: E402
from command import Problem, Result, count, fitting, run, shown  # noqa: E402
from conditions import condition  # noqa: E402
from groups import grouped  # noqa: E402
from reading import Table, column_named, open_table  # noqa: E402


def count_rows(values: Mapping[str, str]) -> Result:
    """Read the file once and count."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    asked = understood(source, values)
    where = " and ".join(asked.filters)
    test = condition(source, where) if where else None
    if "by" in values and not asked.columns:
        return grouped(source, column_named(source, values["by"]), [], where, test, [])
    _refuse_values(source, values, asked)
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


def _refuse_values(source: Table, values: Mapping[str, str], asked: Asked) -> None:
    """Raise `Problem` if the request counts something else than rows: "how many regions", "how many apples"."""
    if asked.columns:
        name = shown(source.header[asked.columns[0]])
        raise Problem(f"{name} is a column: ask for distinct {name} values, for the number of rows by {name}, "
                      f"or for rows where {name} = VALUE")  # fmt: skip
    if values.get("request") and not asked.rows and asked.filters and not compares(values["request"]):
        raise Problem(f'I do not understand "{shown(values["request"])}" in this request: rows are counted; to choose '
                      f"some, write for example: how many rows where {shown(asked.filters[0])}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(run(count_rows, positional=["file"], options=["where", "by", "request", "delimiter"]))
