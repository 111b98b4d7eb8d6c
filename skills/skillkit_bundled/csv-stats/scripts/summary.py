"""Action `summary`: rows, columns, types, missing, mean, median and extremes of a CSV file, in one pass."""

from __future__ import annotations

import sys
from collections.abc import Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from asked import understood, vague  # noqa: E402
from columns import MOST_DISTINCT, Column, figure, shrink_to_fit  # noqa: E402
from command import Problem, Result, count, fitting, run, shown, table  # noqa: E402
from conditions import Predicate, condition  # noqa: E402
from groups import grouped  # noqa: E402
from reading import Table, column_named, open_table  # noqa: E402
from rows import rows  # noqa: E402

MOST_SHOWN = 200  # columns in the result
FIGURES = ["mean", "median", "sum", "min", "max", "stdev", "missing", "distinct"]

WORDS = {"mean": "average", "median": "median", "sum": "total", "min": "lowest", "max": "highest"}


def summary(values: Mapping[str, str]) -> Result:
    """Read the file once and describe its columns, or answer the one figure that the request asks for."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    asked = understood(source, values)
    where = " and ".join(asked.filters)
    test = condition(source, where) if where else None
    places = [column_named(source, name) for name in values.get("column", "").split(",") if name.strip()]
    places = list(dict.fromkeys([*places, *asked.columns]))
    wanted = [figure for figure in FIGURES if figure in values.get("figure", "").split(",")]
    if wanted and wanted != ["missing"] and not places:
        raise vague(source, values, WORDS.get(wanted[0], wanted[0]))
    if "by" in values:
        return grouped(source, column_named(source, values["by"]), places, where, test, wanted)
    if (asked.filters or asked.rows) and not (wanted or {"column", "describe", "where"} & set(values)):
        return rows(values)  # "price > 10 in sales.csv" asks for rows
    return _described(source, places, where, test, wanted if places else [])


def _described(
    source: Table,
    places: list[int],
    where: str,
    test: Predicate | None,
    wanted: list[str],
) -> Result:
    places = places or list(range(len(source.header)))
    distinct = min(MOST_DISTINCT, 10 * MOST_DISTINCT // len(places))
    columns = [Column(source.header[place], source.decimal_comma, most_distinct=distinct) for place in places]
    rows, matching = _read(source, columns, places, test)
    records = [column.as_json() for column in columns[:MOST_SHOWN]]
    return {
        "answer": _answer(source, rows, matching, where, columns, records, wanted),
        "file": source.name,
        "rows": rows,
        "matching": matching,
        "where": where or None,
        "columns": fitting(records),
        "delimiter": source.delimiter,
        "notes": source.remarks(),
    }


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
    if any("~" in line for line in lines) and any(not column.quantiles.exact for column in columns):
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
    left_out = record["missing"]
    if isinstance(left_out, int) and isinstance(odd := record.get("not_numbers", 0), int) and left_out + odd:
        over = f"{matching - left_out - odd:,} of {over}"
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


if __name__ == "__main__":
    sys.exit(
        run(
            summary,
            positional=["file"],
            options=["figure", "column", "by", "where", "request", "delimiter"],
            flags=["describe"],
        )
    )
