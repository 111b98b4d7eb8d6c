"""Filters: ``price > 10 and status == "open"``, or the same in plain words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from columns import number
from command import Problem
from reading import Row, Table, column_named, is_missing

Predicate = Callable[[Row], bool]

OPERATORS = {
    "==": r"==|=|\bis equal to\b|\bequals?\b|\bequal to\b",
    "!=": r"!=|<>|\bis not equal to\b|\bis not\b|\bisn't\b|\bnot equal to\b",
    ">=": r">=|≥|\bis at least\b|\bat least\b|\bnot less than\b",
    "<=": r"<=|≤|\bis at most\b|\bat most\b|\bno more than\b|\bup to\b",
    ">": r">|\b(?:is )?(?:greater|more|higher|larger|bigger|later) than\b|\b(?:is )?(?:over|above|after)\b|\bexceeds\b",
    "<": r"<|\b(?:is )?(?:less|lower|smaller|fewer|earlier) than\b|\b(?:is )?(?:under|below|before)\b",
    "contains": r"\bcontains\b|\bincludes\b|\bhas\b",
    "starts": r"\b(?:starts|begins) with\b",
    "ends": r"\bends with\b",
}
ABSENT = re.compile(r"^(?P<column>.+?)\s+(?:is|are)\s+(?P<not>not\s+)?(?:empty|missing|blank|null|none)$", re.I)
ORDER = ["!=", ">=", "<=", "==", ">", "<", "contains", "starts", "ends"]
ANY_OPERATOR = re.compile(
    "|".join(f"(?P<o{n}>{OPERATORS[name]})" for n, name in enumerate(ORDER)) + r"|(?P<is>\bis\b)", re.I
)
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")


def condition(table: Table, text: str) -> Predicate:
    """Return the test for a row that `text` describes; raises `Problem` if it does not describe one."""
    text = re.sub(r"^\s*(?:where|whose|having)\s+", "", text, flags=re.I)
    either = [
        [_comparison(table, part.strip()) for part in _split(alternative, "and")] for alternative in _split(text, "or")
    ]
    if len(either) == 1 and len(either[0]) == 1:
        return either[0][0]
    return lambda row: any(all(test(row) for test in tests) for tests in either)


def _masked(text: str) -> str:
    """Return the text with what is in quotes blanked out, positions unchanged."""
    return QUOTED.sub(lambda found: "\0" * len(found[0]), text)


def _split(text: str, word: str) -> list[str]:
    masked, parts, start = _masked(text), [], 0
    for found in re.finditer(rf"\s+{word}\s+|\s*(?:{'&&' if word == 'and' else r'[|][|]'})\s*", masked, re.I):
        parts.append(text[start : found.start()])
        start = found.end()
    return [*parts, text[start:]]


def _comparison(table: Table, text: str) -> Predicate:
    absent = ABSENT.match(text)
    if absent:
        place = column_named(table, _unquoted(absent["column"]))
        wanted = not absent["not"]
        return lambda row: is_missing(row[place]) == wanted
    found = ANY_OPERATOR.search(_masked(text))
    if found is None or not text[: found.start()].strip() or not text[found.end() :].strip():
        raise Problem(f"I do not understand the filter {text!r}; write for example: price > 10, or status == open")
    group = found.lastgroup or "is"
    operator = "==" if group == "is" else ORDER[int(group[1:])]
    place = column_named(table, _unquoted(text[: found.start()].strip()))
    value = text[found.end() :].strip()
    if operator in (">", "<", ">=", "<=") and value == _unquoted(value) and re.search(r"\d\s+[^\W\d]", value):
        raise Problem(f"I do not understand the filter {text!r}: {value!r} is not one value; put text in quotes")
    plain = value == _unquoted(value)
    if plain and operator in NUMERIC and _number(value, table.decimal_comma) is None and _holds_numbers(table, place):
        raise Problem(f"column {table.header[place]} holds numbers, and {value!r} is none; put text in quotes")
    return _test(place, operator, _unquoted(value), not plain, table.decimal_comma)


def _holds_numbers(table: Table, place: int) -> bool:
    """Say whether all of the column that the first rows hold are numbers."""
    cells = [row[place] for row in table.head if place < len(row) and not is_missing(row[place])]
    return bool(cells) and all(number(cell, table.decimal_comma) is not None for cell in cells)


def _number(text: str, decimal_comma: bool) -> float | None:
    value = number(text, decimal_comma)
    return number(text) if value is None else value


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if QUOTED.fullmatch(text) else text


def _test(place: int, operator: str, wanted: str, quoted: bool, decimal_comma: bool) -> Predicate:
    limit = None if quoted else _number(wanted, decimal_comma)
    if limit is not None and operator in NUMERIC:
        return partial(_numeric, place, NUMERIC[operator], limit, decimal_comma)
    return partial(_textual, place, TEXTUAL[operator], wanted.casefold())


def _numeric(place: int, test: Callable[[float, float], bool], limit: float, decimal_comma: bool, row: Row) -> bool:
    value = number(row[place], decimal_comma)
    return value is not None and test(value, limit)


def _textual(place: int, test: Callable[[str, str], bool], wanted: str, row: Row) -> bool:
    cell = row[place].strip().casefold()
    return not is_missing(cell) and test(cell, wanted)


NUMERIC: dict[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}
TEXTUAL: dict[str, Callable[[str, str], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "contains": lambda a, b: b in a,
    "starts": lambda a, b: a.startswith(b),
    "ends": lambda a, b: a.endswith(b),
}
