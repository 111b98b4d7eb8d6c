"""Action `summary`: rows, columns, types, missing, mean, median and extremes of a CSV file, in one pass."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from columns import MOST_DISTINCT, Column, shrink_to_fit  # noqa: E402
from command import Problem, Result, count, fitting, run, shown, table  # noqa: E402
from conditions import Predicate, condition, requested_condition  # noqa: E402
from reading import Table, column_named, open_table  # noqa: E402

MOST_SHOWN = 200  # columns in the result

# What a request may ask for, and the figure that answers it.
MEASURES = {
    "mean": r"\b(?:average|mean|avg)\b",
    "median": r"\b(?:median|middle value)\b",
    "sum": r"\b(?:sum|total)\b",
    "min": r"\b(?:min|minimum|lowest|smallest|cheapest|least|earliest|oldest)\b",
    "max": r"\b(?:max|maximum|highest|largest|biggest|most expensive|greatest|latest|newest)\b",
    "stdev": r"\b(?:standard deviation|stdev|std)\b",
    "missing": r"\b(?:missing|empty|blank|nulls?)\b",
    "distinct": r"\b(?:distinct|unique|different)\b",
}
WORDS = {"mean": "average", "median": "median", "sum": "total", "min": "lowest", "max": "highest"}


def summary(values: Mapping[str, str]) -> Result:
    """Read the file once and describe its columns, or answer the one figure that the request asks for."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    request = values.get("request", "")
    where = values.get("where") or requested_condition(source, request)
    test = condition(source, where) if where else None
    asked = [column_named(source, name) for name in values.get("column", "").split(",") if name.strip()]
    asked = asked or requested_columns(source, request, where)
    places = asked or list(range(len(source.header)))
    columns = [
        Column(
            source.header[place],
            source.decimal_comma,
            most_distinct=min(MOST_DISTINCT, 10 * MOST_DISTINCT // len(places)),
        )
        for place in places
    ]
    rows, matching = _read(source, columns, places, test)
    records = [column.as_json() for column in columns[:MOST_SHOWN]]
    result: Result = {
        "answer": _answer(source, rows, matching, where, columns, records, measures(request, where) if asked else []),
        "file": source.name,
        "rows": rows,
        "matching": matching,
        "where": where or None,
        "columns": fitting(records),
        "delimiter": source.delimiter,
        "notes": source.remarks(),
    }
    return result


def _read(source: Table, columns: list[Column], places: list[int], test: Predicate | None) -> tuple[int, int]:
    rows = matching = 0
    for batch in source.batches():
        rows += len(batch)
        chosen = [row for row in batch if test(row)] if test else batch
        matching += len(chosen)
        if not chosen:
            continue
        cells = list(zip(*chosen, strict=True))
        for column, place in zip(columns, places, strict=True):
            column.add(cells[place])
        shrink_to_fit(columns)
    return rows, matching


def requested_columns(source: Table, request: str, where: str) -> list[int]:
    """Return the columns that a plain request names before its filter; "unit price" finds unit_price."""
    text = request[: request.find(where)] if where and where in request else request
    text = " " + re.sub(r"[\W_]+", " ", text.replace(source.name, " ").casefold()) + " "
    found = []
    for place, name in enumerate(source.header):
        plain = re.sub(r"[\W_]+", " ", name.casefold()).strip()
        if plain and re.search(rf" {re.escape(plain)}(?:s|es)? ", text):
            found.append(place)
    return found


def measures(request: str, where: str) -> list[str]:
    """Return the figures that a plain request asks for, in the order of the table above."""
    text = request[: request.find(where)] if where and where in request else request
    return [measure for measure, words in MEASURES.items() if re.search(words, text, re.I)]


def _answer(
    source: Table,
    rows: int,
    matching: int,
    where: str,
    columns: list[Column],
    records: list[Result],
    wanted: list[str],
) -> str:
    name = shown(source.name)
    if wanted:
        lines = [_figure(measure, record, matching, where) for record in records for measure in wanted]
    else:
        size = f"{name}: {count(rows, 'row')}, {count(len(source.header), 'column')}"
        lines = [f"{size}; {matching:,} match {shown(where)}" if where else size]
        if matching:
            lines += ["", _columns_table(columns, records)]
        if len(columns) > MOST_SHOWN:
            lines.append(f"... and {len(columns) - MOST_SHOWN:,} more columns; name one to see it")
    if any(not column.quantiles.exact for column in columns):
        lines.append("~ is an estimate: its rank is within 0.2% of the middle")
    return "\n".join([*lines, *(f"note: {remark}" for remark in source.remarks())])


def _figure(measure: str, record: Result, matching: int, where: str) -> str:
    name = shown(str(record["name"]))
    over = f"{count(matching, 'row')}" + (f" where {shown(where)}" if where else "")
    value = record.get(measure)
    if measure == "missing":
        return f"{name} is missing in {record['missing']:,} of {over}"
    if measure == "distinct":
        return f"{name} has {figure(value) if value is not None else 'more than 10,000'} different values in {over}"
    if value is None:
        raise Problem(f"column {name} has no {WORDS.get(measure, measure)}: it holds {record['type']} values")
    sign = "~" if measure == "median" and record.get("median_exact") is False else ""
    return f"{WORDS.get(measure, measure)} {name}: {sign}{figure(value)} ({over})"


def _columns_table(columns: list[Column], records: list[Result]) -> str:
    header = ["column", "type", "missing", "min", "median", "mean", "max", "most frequent"]
    lines = []
    for record in records:
        frequent = record.get("frequent")
        items = frequent[:3] if isinstance(frequent, list) else []
        sign = "~" if record.get("median_exact") is False else ""
        low, middle, mean, high = (figure(record.get(name)) for name in ("min", "median", "mean", "max"))
        words = ", ".join(f"{item['value'][:20]} ({item['rows']:,})" for item in items)
        head = [str(record["name"]), str(record["type"]), f"{record['missing']:,}"]
        lines.append([*head, low, sign + middle, mean, high, words])
    keep = [n for n in range(len(header)) if n < 3 or any(line[n] for line in lines)]
    return table([header[n] for n in keep], [[line[n] for n in keep] for line in lines], numeric=header[2:7])


def figure(value: object) -> str:
    """Return a figure for people: grouped thousands, at most ten significant digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        text = (
            f"{value:,.10g}" if abs(value) >= 1e15 or 0 < abs(value) < 1e-4 else f"{value:,.4f}".rstrip("0").rstrip(".")
        )
        return text
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    sys.exit(run(summary, positional=["file"], options=["column", "where", "request", "delimiter"]))
