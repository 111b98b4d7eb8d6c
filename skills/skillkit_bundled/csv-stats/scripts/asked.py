"""What is left of a plain request once the host took its options: columns, values, conditions. Nothing is passed over."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePath

from columns import number
from command import Problem, shown
from conditions import ANY_OPERATOR
from reading import Table, open_table, words_of

BATCHES_SEARCHED = 5  # of the table, for a value that the request names
MOST_WORDS = 6
LONGEST_VALUE = 4  # words

# Words for the rows of any table; of orders.csv, "orders" is one too.
ROWS = words_of("""case cases data dataset employee employees entries entry everybody everyone item items line lines
    observation observations people person record records row rows somebody table value values""")
CONNECTING = words_of("""a all an and any are as at both by do does for from had has have in is of on or that the their
    there these those to was were which who whose with""")
ABSENT = words_of("no missing empty blank without")
WORD = re.compile(r"\"[^\"]+\"|'[^']+'|[^\W_]+(?:[-'’._][^\W_]+)*")


@dataclass(slots=True)
class Asked:
    """Columns that a text names, the filters that it states, whether it speaks of rows, and what it says besides."""

    columns: list[int] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    rows: bool = False
    unknown: list[str] = field(default_factory=list)


def understood(table: Table, values: Mapping[str, str]) -> Asked:
    """Return what the arguments `request` and `where` say; raises `Problem` with the words that say something else."""
    asked = Asked()
    for text in filter(None, map(str.strip, values.get("request", "").split(";"))):
        _take(table, values, text, asked)
    where = values.get("where", "").strip()
    if where and (compares(where) or not _take_filter(table, values, where, asked)):
        asked.filters.insert(0, where)
    filtered = [found[1] for found in map(re.compile(r"(.+?) (?:=|is missing)").match, asked.filters) if found]
    asked.unknown += [name for name in sorted(set(filtered)) if filtered.count(name) > 1]
    if asked.unknown:
        words = shown(" ".join(asked.unknown[:MOST_WORDS]))
        raise Problem(f'I do not understand "{words}" in this request, so there is no answer; '
                      f"{_hint(table, values, asked.unknown)}")  # fmt: skip
    asked.columns = list(dict.fromkeys(asked.columns))
    return asked


def compares(text: str) -> bool:
    """Return whether a text compares something: "price > 10", "status is open"."""
    return ANY_OPERATOR.search(text) is not None


def _take(table: Table, values: Mapping[str, str], text: str, asked: Asked) -> None:
    """Take in one stretch of the request."""
    words = WORD.findall(text)
    if compares(text) and not re.fullmatch(r".*\b(?:is|has)\b.*", text, re.I):
        while words and _is_row(table, words[0]) and _column(table, words) is None:
            text = text.split(words.pop(0), 1)[1].strip()
            asked.rows = True
        asked.filters.append(re.sub(r"^(?:have|has|having|with|the|are|is)\s+", "", text, flags=re.I))
        return
    place = 0
    while place < len(words):
        place += _step(table, values, words[place:], asked)


def _step(table: Table, values: Mapping[str, str], words: list[str], asked: Asked) -> int:
    """Take in the first words, and return how many."""
    absent = words[0].casefold() in ABSENT
    named = _column(table, words[1:] if absent else words)
    if named:
        place, length = named
        if absent:
            asked.filters.append(f"{table.header[place]} is missing")
            return length + 1
        value, words_of_it = _value(table, values, words[length:], place)
        if value is None:
            asked.columns.append(place)
        else:
            asked.filters.append(_equals(table, place, value))
        return length + words_of_it
    if words[0].casefold() in CONNECTING:
        return 1
    if _is_row(table, words[0]):
        asked.rows = True
        return 1
    found, length = _value(table, values, words)
    holding = _holding(table, values, found) if found is not None else set()
    if found is None or len(holding) != 1:
        asked.unknown.append(words[0])
        return 1
    asked.filters.append(_equals(table, next(iter(holding)), found))
    return length


def _take_filter(table: Table, values: Mapping[str, str], where: str, asked: Asked) -> bool:
    """Take in a filter without an operator ("city Oslo", "no email"), and return whether it is one."""
    its = Asked()
    _take(table, values, where, its)
    if its.columns or its.unknown or not its.filters:
        return False
    asked.filters += its.filters
    return True


def _column(table: Table, words: list[str]) -> tuple[int, int] | None:
    """Return the column that the words begin with, and how many of them: "unit price" is unit_price and not unit."""
    best = None
    for place, name in enumerate(table.header):
        parts = re.findall(r"[^\W_]+", name.casefold())
        said = [part for word in words[: len(parts)] for part in re.findall(r"[^\W_]+", word.casefold())][: len(parts)]
        same = parts and said[:-1] == parts[:-1] and said and said[-1] in (parts[-1], parts[-1] + "s", parts[-1] + "es")
        length = next((n for n in range(1, len(parts) + 1) if _parts(words[:n]) >= len(parts)), 0)
        if same and length and (best is None or length > best[1]):
            best = place, length
    return best


def _parts(words: list[str]) -> int:
    return sum(len(re.findall(r"[^\W_]+", word)) for word in words)


def _is_row(table: Table, word: str) -> bool:
    stem = {form for part in re.findall(r"[^\W_]+", PurePath(table.name).stem.casefold()) for form in _forms(part)}
    return word.casefold() in ROWS or word.casefold() in stem


def _forms(word: str) -> set[str]:
    """Return a word with and without the "s" of the plural: orders.csv holds orders, each an order."""
    return {word, word + "s", word.removesuffix("s")}


def _value(
    table: Table, values: Mapping[str, str], words: list[str], place: int | None = None
) -> tuple[str | None, int]:
    """Return the cell that the words begin with, of one column or of any, and how many words; numbers only of one column."""
    for length in range(min(LONGEST_VALUE, len(words)), 0, -1):
        text = " ".join(words[:length])
        quoted = text[0] in "\"'"
        text = text.strip("\"'") if quoted else text
        if (
            length == 1
            and not quoted
            and (text.casefold() in CONNECTING or (place is None and number(text) is not None))
        ):
            continue
        holding = _holding(table, values, text)
        if (place in holding) if place is not None else holding:
            return text, length
    return None, 0


def _holding(table: Table, values: Mapping[str, str], text: str) -> set[int]:
    """Return the columns with a cell of that text, as far as the table is searched."""
    if not table.cells:
        source = open_table(values["file"], values.get("delimiter", "auto"))
        found: dict[str, set[int]] = defaultdict(set)
        for batch in islice(source.batches(), BATCHES_SEARCHED):
            for row in batch:
                for place, cell in enumerate(row):
                    found[cell.strip().casefold()].add(place)
        table.cells = found
    return set(table.cells.get(text.casefold(), ()))


def _equals(table: Table, place: int, value: str) -> str:
    return (
        f"{table.header[place]} = {value}"
        if re.fullmatch(r"[\w.$€£%-]+", value)
        else f'{table.header[place]} = "{value}"'
    )


def example_column(table: Table, values: Mapping[str, str]) -> str:
    """Return the name of a column of numbers, to show how a column is named; the last column if none holds numbers."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    for row in next(source.batches(), [])[:20]:
        for place, cell in enumerate(row):
            if number(cell, table.decimal_comma) is not None:
                return shown(table.header[place])
    return shown(table.header[-1])


def vague(table: Table, values: Mapping[str, str], word: str) -> Problem:
    """Return the problem of a request that asks for the highest, say, and names no column to look at."""
    names = ", ".join(shown(name) for name in table.header[:12])
    example = example_column(table, values)
    return Problem(f'"{word}" by which column? Write for example: highest {example}, or: top 3 rows by {example}; '
                   f"the columns are {names}")  # fmt: skip


def _hint(table: Table, values: Mapping[str, str], words: list[str]) -> str:
    """Return how to state it: with the column that holds one of the words, if there is one."""
    for word in words:
        for place in sorted(_holding(table, values, word)) if number(word) is None else ():
            return f"to choose rows, write for example: where {shown(_equals(table, place, word))}"
    names = ", ".join(shown(name) for name in table.header[:12])
    return f"to choose rows, write a filter such as: where {shown(table.header[-1])} = VALUE; the columns are {names}"
