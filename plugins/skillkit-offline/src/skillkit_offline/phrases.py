"""Phrases: texts that a request gives beside the words of an argument, and what is left for arguments that must have one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .descriptors import Argument
from .request import Kind, Piece
from .roles import AUTHOR, COLUMN, CONDITION, COUNT, LEAST, MOST, OUTPUT, PATTERN, SINCE, SORT, UNTIL, is_file, role_of
from .stated import FILLER, run_at, word_of
from .words import FUNCTION, stem, word_set

if TYPE_CHECKING:
    from .filling import Filling

__all__ = ["beside_its_name", "last_resort", "text"]

_UP_TO_HERE = frozenset(
    {
        "in",
        "from",
        "under",
        "within",
        "inside",
        "of",
        "on",
        "to",
        "and",
        "or",
        "then",
        "with",
        "where",
        "since",
        "by",
        "for",
    }
)
_GROUPS = word_set("date day week month year name size type kind person people user default hand file folder time")
_NOT_COLUMNS = word_set(
    """row rows column columns line lines value values record records entry entries file files data table cell cells
    average mean median sum total count number minimum maximum"""
)
_NOT_A_COLUMN = word_set("each every all many numeric number text empty")  # before "column"
_OCCURS = word_set("occur occurs appear appears")
_BEFORE_OCCURS = word_set("do does did often times")
_OCCURRING = word_set("mentioned used found repeated contained")
_BEFORE_OCCURRING = word_set("is are was were")
_NAMING = word_set("word term phrase text string name expression")  # "the word X"
_AFTER_COLUMN = frozenset({"", "in", "from", "of", "column", "?", ".", "!", "where", "by", "per", "and", ","})


def beside_its_name(work: Filling, argument: Argument) -> bool:
    """Fill a text or list that directly follows the argument's own name ("column price", "sorted by price")."""
    role, pieces = role_of(argument), work.request.pieces
    names = {stem(w) for w in argument.words} | ({stem("order"), stem("sort")} if role is SORT else set())
    for place, piece in enumerate(pieces):
        if piece.kind is not Kind.word or piece.stem not in names or place in work.used:
            continue
        after = place + 1
        filler = False
        while after < len(pieces) and word_of(pieces[after]) in FILLER:
            filler, after = True, after + 1
        if (
            after < len(pieces)
            and after not in work.used
            and _can_be_text(pieces[after])
            and (filler or role in (COLUMN, SORT) or pieces[after].kind is not Kind.word)
        ):
            return _put_words(work, argument, after, {place})
        before = pieces[place - 1] if place and place - 1 not in work.used else None
        if role is COLUMN and before is not None and _can_be_text(before) and word_of(before) not in _NOT_A_COLUMN:
            work.put(argument, before.text, {place - 1, place})
            return True
    return False


def _can_be_text(piece: Piece) -> bool:
    if piece.kind is Kind.word:
        return word_of(piece) not in FUNCTION
    return piece.kind in (Kind.quoted, Kind.number, Kind.date, Kind.url, Kind.glob)


def _put_words(work: Filling, argument: Argument, place: int, places: set[int]) -> bool:
    """Fill with the piece at ``place``; a plural or list takes an enumeration ("a, b and c")."""
    pieces = work.request.pieces
    chosen = [place]
    if argument.type == "array" or argument.name.endswith("s"):
        after = place + 1
        while after + 1 < len(pieces) and word_of(pieces[after]) in (",", "and") and _can_be_text(pieces[after + 1]):
            chosen.append(after + 1)
            after += 2
    values = [run_at(work, i) if i == chosen[-1] else pieces[i].text for i in chosen]
    work.put(argument, values if argument.type == "array" else ",".join(values), places | set(chosen))
    return True


def text(work: Filling, argument: Argument) -> None:
    """Texts and lists, by the words of their role."""
    if argument.type not in ("string", "array", "file") or is_file(argument) or argument.enum:
        return
    role = role_of(argument)
    if role in (SINCE, UNTIL, CONDITION, OUTPUT, LEAST, MOST, COUNT):
        return
    if role is PATTERN and _occurring(work, argument):
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
        if word_of(pieces[place - 1]) not in role.before or place in work.used or not _can_be_text(pieces[place]):
            continue
        if role is AUTHOR and (word_of(pieces[place]) in _GROUPS or work.speaks_of(word_of(pieces[place]))):
            continue
        if role is PATTERN:
            end = place
            while (
                end < len(pieces)
                and end not in work.used
                and pieces[end].kind in (Kind.word, Kind.number)
                and word_of(pieces[end]) not in _UP_TO_HERE
            ):
                end += 1
            end = max(end, place + 1)
            work.put(argument, work.request.text[pieces[place].start : pieces[end - 1].end], set(range(place, end)))
        else:
            _put_words(work, argument, place, set())
        return
    if role is COLUMN:
        _column(work, argument)


def _occurring(work: Filling, argument: Argument) -> bool:
    """ "how often does (the word) X occur": what stands between the two verbs, whatever word it is.

    Returns whether the request has this form; where it names nothing ("how often does the word occur"), nothing is filled.
    """
    pieces = work.request.pieces
    words = [word_of(p) if p.kind is Kind.word else "" for p in pieces]
    for end in (i for i, word in enumerate(words) if word in _OCCURS | _OCCURRING):
        verbs = _BEFORE_OCCURS if words[end] in _OCCURS else _BEFORE_OCCURRING
        begin = next((i + 1 for i in range(end - 1, -1, -1) if words[i] in verbs), None)
        if words[end] in _OCCURRING and not {"often", "times"} & set(words[:end]):
            continue
        if begin is None:
            continue
        quoted = [i for i in range(begin, end) if pieces[i].kind is Kind.quoted]
        if quoted:
            return False
        article = begin < end - 1 and words[begin] in ("the", "a", "an")
        named = begin + article
        if end - named > (0 if article else 1) and words[named : named + 1] and words[named] in _NAMING:
            begin = named + 1
        if begin >= end or any(i in work.used for i in range(begin, end)):
            return begin >= end
        stated = work.request.text[pieces[begin].start : pieces[end - 1].end]
        work.put(argument, [stated] if argument.type == "array" else stated, set(range(begin, end)))
        return True
    return False


def _column(work: Filling, argument: Argument) -> None:
    """ "the mean of price in sales.csv", "average price by region": the word after "of", or else after "by"."""
    pieces = work.request.pieces
    for cue in ("of", "for", "by", "per"):
        for place in range(1, len(pieces)):
            if word_of(pieces[place - 1]) != cue:
                continue
            while place < len(pieces) and word_of(pieces[place]) in ("the", "all", "each"):
                place += 1
            if place < len(pieces) and place not in work.used and _is_column(pieces, place):
                _put_words(work, argument, place, set())
                return


def _is_column(pieces: Sequence[Piece], place: int) -> bool:
    after = word_of(pieces[place + 1]) if place + 1 < len(pieces) else ""
    if after not in _AFTER_COLUMN:
        return False
    piece = pieces[place]
    return piece.kind is Kind.quoted or (
        piece.kind is Kind.word and word_of(piece) not in _NOT_COLUMNS and word_of(piece) not in FUNCTION
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
