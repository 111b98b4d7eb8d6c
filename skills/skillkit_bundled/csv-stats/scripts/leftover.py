"""What of a plain request was not understood: an answer that leaves a restriction out would be about other rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import PurePath

import asked
from columns import number
from command import Problem, shown
from reading import Table, open_table, words_of

BATCHES_SEARCHED = 5  # of the table, for a value that the request names
MOST_WORDS = 6

# Words that ask for the table as it is. None of them says which rows are meant.
PLAIN = words_of("""a about all also am an and any are as at be calculate can column columns compute contain contains could count
    csv data dataset describe description did do does each every figure figures file find for from get give got had
    has have having hello hey hi how i in information inside is it its kind kinds list look many may me much my need
    number numbers of ok on or our out overview please print report s see shall should show some spreadsheet stat
    statistic statistics stats summaries summarise summarize summary table tell that the their them there these they
    this those to total tsv type types us value values want was we were what whats which who whose will with would
    you your
    row rows record records line lines entry entries item items case cases observation observations person people
    field fields cell cells
    delimiter delimited separated comma commas semicolon semicolons tab tabs pipe pipes auto file's""")
GROUPING = words_of("by per grouped group groups each every")
ORDERING = words_of("""
    by top first last bottom lowest highest largest smallest biggest greatest most least sort sorted order ordered
    ascending descending limit limited rank ranked ranking head tail""")
NUMBER_WORDS = words_of(
    "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred"
)
EXCLUDING = words_of("excluding exclude except without not but besides no isn't aren't other")
MORE = words_of("older more over above greater higher larger bigger after exceeding")
LESS = words_of("younger less under below fewer lower smaller before")
WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
SUPERLATIVE = re.compile(
    r"\b(?:oldest|newest|youngest|cheapest|most expensive|latest|earliest|biggest|largest|highest|lowest|smallest|greatest"
    r"|least|most)\b",
    re.I,
)


def refuse_leftover(
    table: Table, values: Mapping[str, str], where: str, allowed: Iterable[str] = (), measured: bool = False
) -> None:
    """Raise `Problem` with the words of the request that say something which is neither filter, column nor figure.

    Args:
        table: the open table.
        values: the action's arguments; what others than `request` state is understood.
        where: the filter that was found in the request.
        allowed: words that mean something to this action.
        measured: figures such as "average" are understood.
    """
    words = unknown_words(table, values, where, frozenset(allowed), measured)
    if words:
        named = " ".join(words[:MOST_WORDS])
        raise Problem(f'I do not understand "{shown(named)}" in this request, so there is no answer; '
                      f"{_hint(table, values, words)}")  # fmt: skip


def unknown_words(
    table: Table, values: Mapping[str, str], where: str, allowed: frozenset[str], measured: bool
) -> list[str]:
    """Return the words of the request that nothing accounts for, in order."""
    text = values.get("request", "")
    stated = [value for name, value in values.items() if name not in ("request", "file") and value != "true"]
    path = PurePath(table.name)
    for part in (where, table.name, path.name, *stated):
        if part:
            text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", " | ", text, flags=re.I)
    if where:
        text = re.sub(r"\b(?:where|whose|having|with|if|for which|filter(?:ed)? by)\b(?:\s+the)?(?=\s+\|)", " ", text)
    text = re.sub(r"(?<!\w)--[\w-]+|\b(?:what|who|which|where)['’]s\b", " ", text, flags=re.I)
    for _, name in sorted((-len(name), name) for name in table.header if name.strip()):
        words = r"[\W_]+".join(map(re.escape, re.findall(r"[^\W_]+", name)))
        if words:
            text = re.sub(rf"(?<![^\W_])(?:{words})(?:s|es)?(?![^\W_])", " ", text, flags=re.I)
    for measure in asked.MEASURES.values() if measured else ():
        text = re.sub(measure, " ", text, flags=re.I)
    subject = {form for word in re.findall(r"[^\W_]+", path.stem.casefold()) for form in _forms(word)}
    known = PLAIN | allowed | subject
    return [word for word in WORD.findall(text) if word.casefold().replace("’", "'") not in known]


def _forms(word: str) -> set[str]:
    """Return a word with and without the "s" of the plural: orders.csv holds orders, each an order."""
    return {word, word + "s", word.removesuffix("s")}


def _sign(words: list[str], numeric: bool) -> str:
    said = {word.casefold() for word in words}
    if said & EXCLUDING:
        return "!="
    return ">" if numeric and said & MORE else "<" if numeric and said & LESS else "="


def example_column(table: Table, values: Mapping[str, str]) -> str:
    """Return the name of a column of numbers, to show how a column is named; the last column if none holds numbers."""
    source = open_table(values["file"], values.get("delimiter", "auto"))
    for row in next(source.batches(), [])[:20]:
        for place, cell in enumerate(row):
            if number(cell, table.decimal_comma) is not None:
                return shown(table.header[place])
    return shown(table.header[-1])


def refuse_vague(table: Table, values: Mapping[str, str], found: re.Match[str] | None) -> None:
    """Raise `Problem` for a word such as "oldest" in a request that names no column to look at."""
    if found:
        names = ", ".join(shown(name) for name in table.header[:12])
        raise Problem(f'"{found[0]}" by which column? Write for example: highest {example_column(table, values)}, '
                      f"or: top 3 rows by {example_column(table, values)}; the columns are {names}")  # fmt: skip


def _hint(table: Table, values: Mapping[str, str], words: list[str]) -> str:
    """Return how to state it: with the column that holds one of the words, if there is one."""
    wanted = {" ".join(words).casefold(), *(word.casefold() for word in words)}
    source = open_table(values["file"], values.get("delimiter", "auto"))
    for batch in islice(source.batches(), BATCHES_SEARCHED):
        for row in batch:
            for place, cell in enumerate(row):
                if cell.strip().casefold() in wanted:
                    sign = _sign(words, number(cell) is not None)
                    filtered = f"where {shown(table.header[place])} {sign} {shown(cell.strip())}"
                    return f"to choose rows, write for example: {filtered}"
    names = ", ".join(shown(name) for name in table.header[:12])
    return f"to choose rows, write a filter such as: where {shown(table.header[-1])} = VALUE; the columns are {names}"
