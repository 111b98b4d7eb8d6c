"""What a plain request asks of a table: which columns, which figures, grouped by what."""

from __future__ import annotations

import re
from pathlib import PurePath

from reading import Table

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
GROUPED = re.compile(r"\b(?:by|per|for each|for every|in each|grouped by|of each)\s+(.+)$", re.I)


def question(table: Table, request: str, where: str) -> str:
    """Return the request without its filter and without the name of the file."""
    text = request[: request.find(where)] if where and where in request else request
    for name in (table.name, PurePath(table.name).name):
        text = text.replace(name, " ")
    return text


def columns(table: Table, text: str) -> list[int]:
    """Return the columns that the text names, longer names first taken: "unit price" is unit_price and not price."""
    words = f" {_plain(text)} "
    found = []
    for place, name in sorted(enumerate(map(_plain, table.header)), key=lambda item: -len(item[1])):
        named = re.compile(rf" {re.escape(name)}(?:s|es)?(?= )") if name else None
        if named and named.search(words):
            words = named.sub(" |", words)
            found.append(place)
    return sorted(found)


def measures(text: str) -> list[str]:
    """Return the figures that the text asks for, in the order of the table above."""
    return [measure for measure, words in MEASURES.items() if re.search(words, text, re.I)]


def group(table: Table, text: str) -> tuple[int | None, str]:
    """Return the column behind "by" or "per", and the text before it; (None, text) if there is none."""
    found = GROUPED.search(text)
    place = leading(table, found[1]) if found else None
    return (place, text[: found.start()]) if found and place is not None else (None, text)


def leading(table: Table, text: str) -> int | None:
    """Return the column that the text begins with, the longest if there are several."""
    words = _plain(text) + " "
    named = [(len(name), place) for place, name in enumerate(map(_plain, table.header)) if name]
    fitting = [
        (length, place) for length, place in named if re.match(rf"{re.escape(_plain(table.header[place]))}s? ", words)
    ]
    return max(fitting)[1] if fitting else None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()
