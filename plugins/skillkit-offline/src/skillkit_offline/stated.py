"""Stated values: dates, numbers, choices, switches and texts that a request gives beside the words of an argument."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .descriptors import Argument
from .request import Kind, Piece
from .roles import AUTHOR, COLUMN, CONDITION, COUNT, LEAST, MOST, OUTPUT, PATTERN, SINCE, SORT, UNTIL, is_file, role_of
from .values import enum_member
from .words import FUNCTION, UNITS, normal, stem

if TYPE_CHECKING:
    from .filling import Filling

__all__ = ["beside_its_name", "choices", "conditions", "dates", "last_resort", "numbers", "switches", "text"]

_FILLER = frozenset({"of", "to", "is", "at", "as", "by", "the", "a", "an", "named", "called", "=", ":", "be", "equal", "equals"})
_NEGATION = frozenset({"not", "no", "without", "don't", "dont", "never", "except", "non"})
_COMPARISON = re.compile(
    r"[<>=≥≤]|\b(?:is|are|equals?|contains?|includes?|exceeds?|starts?|begins?|ends?|has|over|under|above|below|before|after"
    r"|(?:more|less|fewer|greater|higher|lower|larger|smaller|later|earlier)\ than|at\ (?:least|most)|between)\b",
    re.I | re.X,
)
_INTRODUCTION = re.compile(r"\b(?:where|whose|having|for which|filter(?:ed)? by|with|if)\s+(?:the\s+)?", re.I)
_BARE = re.compile(r"(?<!\S)[\w.]{1,80}\s*(?:>=|<=|!=|==|=|>|<)\s*(?:\"[^\"]{0,200}\"|'[^']{0,200}'|[\w.%$€£-]{1,200})")
_CONDITION_END = re.compile(
    r"\s*(?:[,;]?\s*(?:and\s+)?(?:then\b|sort(?:ed)?\b|order(?:ed)?\s+by\b|limit(?:ed)?\b|show(?:ing)?\b|save\b|the\s+(?:top|first)\b)"
    r"|[?!]\s*$|\.\s*$|\.\s|\n|--)",
    re.I,
)
_RELATIVE = re.compile(r"^(?:last|this|past|previous|current|yesterday|today)\b|\bago$", re.I)
_UP_TO_HERE = frozenset({"in", "from", "under", "within", "inside", "of", "on", "to", "and", "or", "then", "with", "where", "since", "by", "for"})


def _word(piece: Piece) -> str:
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
    text = work.request.text
    for introduction in _INTRODUCTION.finditer(text):
        start = introduction.end()
        end = _condition_end(work, start)
        if _COMPARISON.search(text, start, end):
            return start, end
    bare = _BARE.search(text)
    return bare.span() if bare else None


def _condition_end(work: Filling, start: int) -> int:
    text = work.request.text
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
            word, follows = _word(pieces[place]), pieces[place + 1]
            between = word == "between" and role is SINCE or word == "and" and role is UNTIL and SINCE_SET(work)
            if follows.kind is Kind.date and (word in role.before or between):
                work.put(argument, follows.text, {place, place + 1})
                break
            if word in (argument.name, role.name) and follows.kind in (Kind.word, Kind.quoted) and _is_value(follows):
                work.put(argument, _phrase(work, place + 1), {place, place + 1})
                break
        else:
            loose = [i for i in work.request.of(Kind.date) if i not in work.used and _RELATIVE.search(pieces[i].text)]
            if loose and role is SINCE:
                work.put(argument, pieces[loose[0]].text, {loose[0]})


def SINCE_SET(work: Filling) -> bool:
    return any(role_of(a) is SINCE and a.name in work.args for a in work.arguments)


def _is_value(piece: Piece) -> bool:
    return piece.kind is Kind.quoted or _word(piece) not in FUNCTION


def _phrase(work: Filling, place: int) -> str:
    """The one piece at ``place``, with what is written onto it without a space."""
    piece = work.request.pieces[place]
    if piece.kind is Kind.quoted:
        return piece.text
    run = work.request.text[piece.start :].split(None, 1)[0]
    return run.rstrip(",;:.!?)\"'") or piece.text


def numbers(work: Filling) -> None:
    """Integers and numbers: beside the argument's name or its role's words ("top 5", "3 levels", "depth 2")."""
    for argument in work.open():
        role = role_of(argument)
        numeric = argument.type in ("integer", "number")
        if argument.enum or not (numeric or role in (LEAST, MOST) and argument.type == "string"):
            continue
        found = _number_beside(work, argument)
        if found is not None:
            piece = work.request.pieces[found]
            places = {found}
            value: Any = piece.value
            if not numeric:
                follows = work.request.pieces[found + 1 : found + 2]
                unit = follows[0] if follows and _word(follows[0]) in UNITS else None
                value = work.request.text[piece.start : (unit or piece).end]
                places |= {found + 1} if unit else set()
            work.put(argument, value, places)


def _number_beside(work: Filling, argument: Argument) -> int | None:
    role, pieces = role_of(argument), work.request.pieces
    names = {stem(w) for w in argument.words}
    before = names | {stem(w) for w in role.before}
    after = names | {stem(w) for w in role.after}
    free = [i for i in work.request.of(Kind.number) if i not in work.used]
    for place in free:
        if pieces[place].unit == "%" and role is COUNT:
            continue
        back = place - 1
        while back >= 0 and _word(pieces[back]) in _FILLER:
            back -= 1
        if back >= 0 and (pieces[back].stem or _word(pieces[back])) in before and pieces[back].kind in (Kind.word, Kind.symbol):
            return place
        follows = next((p for p in pieces[place + 1 : place + 4] if not (role is COUNT and p.kind is Kind.word and p.stem not in after)), None)
        direct = pieces[place + 1] if place + 1 < len(pieces) else None
        nearest = follows if role is COUNT else direct
        if nearest is not None and nearest.kind is Kind.word and nearest.stem in after:
            return place
    return None


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
            if member is not None and (_word(piece) not in FUNCTION and len(piece.text) > 1 or _after_name(work, place, argument)):
                said.setdefault(str(member), place)
        named = [p for p in said.values() if _after_name(work, p, argument)]
        chosen = named or list(said.values())
        if len(chosen) == 1:
            work.put(argument, work.request.pieces[chosen[0]].text, {chosen[0]})


def _after_name(work: Filling, place: int, argument: Argument) -> bool:
    """Whether the piece at ``place`` follows the argument's name."""
    back = place - 1
    while back >= 0 and _word(work.request.pieces[back]) in _FILLER:
        back -= 1
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
            negated = any(_word(p) in _NEGATION for p in pieces[max(0, place - 2) : place])
            if not negated or argument.default is True:
                work.put(argument, not negated, set(range(place, place + len(names))))
            break


def beside_its_name(work: Filling, argument: Argument) -> bool:
    """Fill a text or list that directly follows the argument's own name ("column price", "sorted by price")."""
    role, pieces = role_of(argument), work.request.pieces
    names = {stem(w) for w in argument.words} | ({stem("order"), stem("sort")} if role is SORT else set())
    for place, piece in enumerate(pieces):
        if piece.kind is not Kind.word or piece.stem not in names or place in work.used:
            continue
        after = place + 1
        filler = False
        while after < len(pieces) and _word(pieces[after]) in _FILLER:
            filler, after = True, after + 1
        if after < len(pieces) and after not in work.used and _can_be_text(pieces[after]) and (filler or role in (COLUMN, SORT)):
            return _put_words(work, argument, after, {place})
        if role is COLUMN and place and _can_be_text(pieces[place - 1]) and place - 1 not in work.used:
            if _word(pieces[place - 1]) not in {"each", "every", "all", "many", "numeric", "number", "text", "empty"}:
                work.put(argument, pieces[place - 1].text, {place - 1, place})
                return True
    return False


def _can_be_text(piece: Piece) -> bool:
    if piece.kind is Kind.word:
        return _word(piece) not in FUNCTION
    return piece.kind in (Kind.quoted, Kind.number, Kind.date, Kind.url, Kind.glob)


def _put_words(work: Filling, argument: Argument, place: int, places: set[int]) -> bool:
    """Fill with the piece at ``place``; a plural or list takes an enumeration ("a, b and c")."""
    pieces = work.request.pieces
    chosen = [place]
    if argument.type == "array" or argument.name.endswith("s"):
        after = place + 1
        while after + 1 < len(pieces) and _word(pieces[after]) in (",", "and") and _can_be_text(pieces[after + 1]):
            chosen.append(after + 1)
            after += 2
    values = [_phrase(work, i) if i == chosen[-1] else pieces[i].text for i in chosen]
    work.put(argument, values if argument.type == "array" else ",".join(values), places | set(chosen))
    return True


def text(work: Filling, argument: Argument) -> None:
    """Texts and lists, by the words of their role."""
    if argument.type not in ("string", "array", "file") or is_file(argument) or argument.enum:
        return
    role = role_of(argument)
    if role in (SINCE, UNTIL, CONDITION, OUTPUT, LEAST, MOST, COUNT):
        return
    if beside_its_name(work, argument):
        return
    pieces = work.request.pieces
    if role is PATTERN:
        for place in work.request.of(Kind.quoted, Kind.glob):
            if place not in work.used:
                work.put(argument, [pieces[place].text] if argument.type == "array" else pieces[place].text, {place})
                return
    for place in range(1, len(pieces)):
        if _word(pieces[place - 1]) not in role.before or place in work.used or not _can_be_text(pieces[place]):
            continue
        if role is AUTHOR and not (pieces[place].text[0].isupper() or pieces[place].kind is Kind.quoted):
            continue
        if role is PATTERN:
            end = place
            while end < len(pieces) and end not in work.used and pieces[end].kind in (Kind.word, Kind.number) and _word(pieces[end]) not in _UP_TO_HERE:
                end += 1
            end = max(end, place + 1)
            work.put(argument, work.request.text[pieces[place].start : pieces[end - 1].end], set(range(place, end)))
        else:
            _put_words(work, argument, place, set())
        return
    if role is COLUMN:
        _column(work, argument)


def _column(work: Filling, argument: Argument) -> None:
    """ "the mean of price in sales.csv", "average price by region": the word after "of", or else after "by"."""
    pieces = work.request.pieces
    for cue in ("of", "for", "by", "per"):
        for place in range(1, len(pieces)):
            if _word(pieces[place - 1]) != cue:
                continue
            while place < len(pieces) and _word(pieces[place]) in ("the", "all", "each"):
                place += 1
            after = _word(pieces[place + 1]) if place + 1 < len(pieces) else ""
            ends = after in ("", "in", "from", "of", "column", "?", ".", "!") or after in ("where", "by", "per", "and", ",")
            if place < len(pieces) and ends and place not in work.used and pieces[place].kind in (Kind.word, Kind.quoted):
                if pieces[place].kind is Kind.quoted or _word(pieces[place]) not in _NOT_COLUMNS | FUNCTION:
                    _put_words(work, argument, place, set())
                    return


_NOT_COLUMNS = frozenset(
    """row rows column columns line lines value values record records entry entries file files data table cell cells average mean
    median sum total count number minimum maximum""".split()
)


def last_resort(work: Filling) -> None:
    """Required arguments that are still open: as many loose numbers or quotations as are wanted, or the text after a colon."""
    pieces = work.request.pieces
    wanting = [a for a in work.open() if a.required]
    numeric = [a for a in wanting if a.type in ("integer", "number") and not a.enum]
    loose = [i for i in work.request.of(Kind.number) if i not in work.used]
    if numeric and len(numeric) == len(loose):
        for argument, place in zip(numeric, loose, strict=True):
            work.put(argument, pieces[place].value, {place})
    textual = [a for a in wanting if a.type in ("string", "json", "array") and not a.enum and not is_file(a)]
    quoted = [i for i in work.request.of(Kind.quoted) if i not in work.used]
    if textual and len(textual) == len(quoted):
        for argument, place in zip(textual, quoted, strict=True):
            work.put(argument, pieces[place].text, {place})
    elif len(textual) == 1:
        colon = re.search(r":\s+(?=\S)", work.request.text)
        if textual[0].type == "json":
            _json(work, textual[0])
        elif colon is not None:
            places = {i for i, p in enumerate(pieces) if p.start >= colon.end()}
            work.put(textual[0], work.request.text[colon.end() :].strip(), places)


def _json(work: Filling, argument: Argument) -> None:
    found = re.search(r"[\[{]", work.request.text)
    if found is None:
        return
    end = max(work.request.text.rfind("}"), work.request.text.rfind("]"))
    if end > found.start():
        places = {i for i, p in enumerate(work.request.pieces) if found.start() <= p.start <= end}
        work.put(argument, work.request.text[found.start() : end + 1], places)
