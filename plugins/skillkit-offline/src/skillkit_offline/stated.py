"""Stated values of a recognisable form: conditions, dates, numbers, choices and switches."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from .descriptors import Argument
from .request import Kind, Piece, visible
from .roles import CONDITION, COUNT, LEAST, MOST, SINCE, UNTIL, role_of
from .values import enum_member
from .words import FUNCTION, UNITS, normal, stem

if TYPE_CHECKING:
    from .filling import Filling

__all__ = ["FILLER", "choices", "conditions", "dates", "exclusions", "numbers", "run_at", "switches", "word_of"]

FILLER = frozenset(
    {"of", "to", "is", "at", "as", "by", "the", "a", "an", "named", "called", "=", ":", "be", "equal", "equals"}
)
_NEGATION = frozenset({"not", "no", "without", "don't", "dont", "never", "except", "non"})
_EXCLUDING = frozenset({"excluding", "exclude", "except", "without", "ignoring", "besides", "omitting", "skipping"})
_COMPARISON = re.compile(
    r"[<>=≥≤]|\b(?:is|are|equals?|contains?|includes?|exceeds?|starts?|begins?|ends?|has|over|under|above|below|before|after"
    r"|(?:more|less|fewer|greater|higher|lower|larger|smaller|later|earlier)\ than|at\ (?:least|most)|between)\b",
    re.I | re.X,
)
_INTRODUCTION = re.compile(r"\b(?:where|whose|having|for which|filter(?:ed)? by|with|if)\s+(?:the\s+)?", re.I)
_BARE = re.compile(r"(?<!\S)[\w.]{1,80}\s*(?:>=|<=|!=|==|=|>|<)\s*(?:\"[^\"]{0,200}\"|'[^']{0,200}'|[\w.%$€£-]{1,200})")
_CONDITION_END = re.compile(
    r"(?<!\s)\s*(?:[,;]?\s*(?:and\s+)?(?:then\b|sort(?:ed)?\b|order(?:ed)?\s+by\b|limit(?:ed)?\b|show(?:ing)?\b|save\b|the\s+(?:top|first)\b)"
    r"|[?!]\s*$|\.\s*$|\.\s|\n|--)",
    re.I,
)
_MOST_INTRODUCTIONS = 20
_RELATIVE = re.compile(r"^(?:last|this|past|previous|current|yesterday|today)\b|\bago$", re.I)


def word_of(piece: Piece) -> str:
    """The piece's text as it is compared with lists of words."""
    return normal(piece.text)


def conditions(work: Filling, reads_itself: bool) -> None:
    """Arguments such as ``where``: the text after "where", up to the file or the next part of the request."""
    if reads_itself:
        return
    for argument in work.open():
        if role_of(argument) is not CONDITION or argument.type != "string":
            continue
        found = _condition(work)
        if found is not None:
            start, end = found
            places = {i for i, p in enumerate(work.request.pieces) if start <= p.start < end}
            work.put(argument, work.request.text[start:end].strip(), places)


def _condition(work: Filling) -> tuple[int, int] | None:
    text = work.request.head
    for introduction in islice(_INTRODUCTION.finditer(text), _MOST_INTRODUCTIONS):
        start = introduction.end()
        end = _condition_end(work, start)
        if _COMPARISON.search(text, start, end):
            return start, end
    used = [work.request.pieces[i].start for i in work.used]
    for bare in _BARE.finditer(text):
        if not any(bare.start() <= place < bare.end() for place in used):
            return bare.span()
    return None


def _condition_end(work: Filling, start: int) -> int:
    text = work.request.head
    stop = _CONDITION_END.search(text, start)
    end = stop.start() if stop else len(text)
    for piece in work.request.pieces:
        if piece.kind is Kind.file and start < piece.start < end:
            end = piece.start
            words = re.search(r"(?:\s+(?:in|from|of|the|file))+\s*$", text[start:end], re.I)
            return start + words.start() if words else end
    return end


def dates(work: Filling) -> None:
    """``since`` and ``until``: dates as the request writes them."""
    pieces = work.request.pieces
    for role in (SINCE, UNTIL):
        argument = next((a for a in work.open() if role_of(a) is role and a.type == "string"), None)
        if argument is None:
            continue
        for place in range(len(pieces) - 1):
            word, follows = word_of(pieces[place]), pieces[place + 1]
            between = (word == "between" and role is SINCE) or (word == "and" and role is UNTIL and _since_set(work))
            if follows.kind is Kind.date and (word in role.before or between):
                work.put(argument, follows.text, {place, place + 1})
                break
            if word in (argument.name, role.name) and follows.kind in (Kind.word, Kind.quoted) and _is_value(follows):
                work.put(argument, run_at(work, place + 1), {place, place + 1})
                break
        else:
            loose = [i for i in work.request.of(Kind.date) if i not in work.used and _RELATIVE.search(pieces[i].text)]
            if loose and role is SINCE:
                work.put(argument, pieces[loose[0]].text, {loose[0]})


def _since_set(work: Filling) -> bool:
    return any(role_of(a) is SINCE and a.name in work.args for a in work.arguments)


def _is_value(piece: Piece) -> bool:
    return piece.kind is Kind.quoted or word_of(piece) not in FUNCTION


def run_at(work: Filling, place: int) -> str:
    """The one piece at ``place``, with what is written onto it without a space."""
    piece = work.request.pieces[place]
    if piece.kind is Kind.quoted:
        return piece.text
    run = work.request.text[piece.start : piece.start + 1_000].split(None, 1)[0]
    return run.rstrip(",;:.!?)\"'") or piece.text


def numbers(work: Filling) -> None:
    """Integers and numbers: beside the argument's name or its role's words ("top 5", "3 levels", "depth 2")."""
    for argument in work.open():
        role = role_of(argument)
        numeric = argument.type in ("integer", "number")
        if argument.enum or not (numeric or (role in (LEAST, MOST) and argument.type == "string")):
            continue
        found = _number_beside(work, argument)
        if found is not None:
            piece = work.request.pieces[found]
            places = {found}
            value: Any = piece.value
            if not numeric:
                follows = work.request.pieces[found + 1 : found + 2]
                unit = follows[0] if follows and word_of(follows[0]) in UNITS else None
                value = work.request.text[piece.start : (unit or piece).end]
                places |= {found + 1} if unit else set()
            work.put(argument, value, places)


def _number_beside(work: Filling, argument: Argument) -> int | None:
    """Place of the first free number with a word of the argument before it, or after it."""
    role, pieces = role_of(argument), work.request.pieces
    names = {stem(w) for w in argument.words}
    before = names | {stem(w) for w in role.before}
    after = names | {stem(w) for w in role.after}
    for place in work.request.of(Kind.number):
        if place in work.used or (pieces[place].unit == "%" and role is COUNT):
            continue
        back = _back_over_filler(work, place - 1)
        if back >= 0 and (pieces[back].stem or word_of(pieces[back])) in before:
            return place
        reach = 3 if role is COUNT else 1  # "20 most frequent words", but "3 levels"
        if any(p.kind is Kind.word and p.stem in after for p in pieces[place + 1 : place + 1 + reach]):
            return place
    return None


def _back_over_filler(work: Filling, place: int) -> int:
    while place >= 0 and word_of(work.request.pieces[place]) in FILLER:
        place -= 1
    return place


def choices(work: Filling) -> None:
    """Arguments with allowed values: the one allowed word that the request says."""
    for argument in work.open():
        if not argument.enum:
            continue
        said: dict[str, int] = {}
        for place, piece in enumerate(work.request.pieces):
            if place in work.used or piece.kind not in (Kind.word, Kind.quoted, Kind.number):
                continue
            member = enum_member(argument, piece.text)
            if member is not None and (
                (word_of(piece) not in FUNCTION and len(piece.text) > 1) or _after_name(work, place, argument)
            ):
                said.setdefault(str(member), place)
        named = [p for p in said.values() if _after_name(work, p, argument)]
        chosen = named or list(said.values())
        if len(chosen) == 1:
            work.put(argument, work.request.pieces[chosen[0]].text, {chosen[0]})


def _after_name(work: Filling, place: int, argument: Argument) -> bool:
    """Whether the piece at ``place`` follows the argument's name."""
    back = _back_over_filler(work, place - 1)
    return back >= 0 and bool(argument.words) and work.request.pieces[back].stem == stem(argument.words[-1])


def switches(work: Filling) -> None:
    """Booleans: true where the request says all words of the name, false where it says them with a "not" or "without"."""
    pieces = work.request.pieces
    stems = [p.stem if p.kind is Kind.word else "" for p in pieces]
    for argument in work.open():
        if argument.type != "boolean" or not argument.words:
            continue
        names = [stem(w) for w in argument.words]
        for place in range(len(stems) - len(names) + 1):
            if place in work.used or stems[place : place + len(names)] != names:
                continue
            negated = any(word_of(p) in _NEGATION for p in pieces[max(0, place - 2) : place])
            if not negated or argument.default is True:
                work.put(argument, not negated, set(range(place, place + len(names))))
            break


def exclusions(work: Filling) -> None:
    """What the request leaves out ("excluding tmp") and no argument takes: an answer about everything would be wrong."""
    pieces = work.request.pieces
    for place, piece in enumerate(pieces[:-1]):
        if piece.kind is not Kind.word or place in work.used or word_of(piece) not in _EXCLUDING:
            continue
        if place + 1 in work.used or work.speaks_of(word_of(piece)):
            continue
        left_out = visible(work.request.text[piece.start : pieces[min(place + 3, len(pieces) - 1)].end], 60)
        known = ", ".join(f"--{a.name}" for a in work.arguments) or "none"
        work.problems.append(f'"{left_out}" is not understood: nothing can be left out here; arguments: {known}')
        return
