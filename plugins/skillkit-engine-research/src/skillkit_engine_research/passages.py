"""Texts in pieces, and the pieces of a text that a query is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from skillkit_skills import WordIndex

__all__ = ["Piece", "best_pieces", "lines_of", "pieces_of", "query_words", "words_of"]

_LARGE = 1_200  # characters from which a piece ends at the next line
_SMALL = 400  # characters up to which an empty line does not end a piece
_LONGEST = 2_000  # characters of a piece that is one line
_LONG_WORD = 64
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")  # scripts written without spaces
_COMMON = frozenset(
    _WORD.findall(
        "a about all an and are as at be by can did do does doe for from has have how i if in is it its me my of on or our "
        "that the their them there these this to us was we were what when where which who why will with you your"
    )
)


class Piece(NamedTuple):
    """A part of a text.

    Attributes:
        first: the number of its first line, from 1; 0: the text has no lines that people count.
        last: the number of its last line.
        text: the text.
    """

    first: int
    last: int
    text: str


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared: small, without the ``s`` of plurals; pairs of letters where a script
    has no spaces.
    """
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if not word.isascii() and _UNSPACED.search(word):
            found += ["".join(pair) for pair in pairwise(word)] or [word]
        elif len(word) > 3 and word[-1] == "s" and word[-2] != "s":
            found.append(word[:-1])
        else:
            found.append(word)
    return found


def query_words(query: str, most: int) -> list[str]:
    """Return the words of a query to look for, each once, without those that every text has."""
    words = dict.fromkeys(word for word in words_of(query) if len(word) <= _LONG_WORD)
    return [word for word in words if word not in _COMMON][:most] or list(words)[:most]


def pieces_of(lines: Iterable[tuple[int, str]]) -> list[Piece]:
    """Return a text in pieces of a paragraph or a few, from its numbered lines."""
    found: list[Piece] = []
    held: list[tuple[int, str]] = []
    size = 0

    def end() -> None:
        nonlocal size
        text = "\n".join(line for _, line in held).strip("\n")
        if text.strip():
            found.append(Piece(held[0][0], held[-1][0], text))
        held.clear()
        size = 0

    for number, line in lines:
        if held and number > held[-1][0] + 1 > 1:
            end()  # lines are left out here
        parts = [line[i : i + _LONGEST] for i in range(0, len(line), _LONGEST)] or [""]
        for part in parts:
            held.append((number, part))
            size += len(part) + 1
            if size >= _LARGE or (size >= _SMALL and not part.strip()):
                end()
    end()
    return found


def best_pieces(pieces: Sequence[Piece], words: Iterable[str], room: int) -> list[Piece]:
    """Return the pieces that words are about, as many as fit into ``room`` characters, in the order of the text; at least one."""
    if sum(len(piece.text) for piece in pieces) <= room:
        return list(pieces)
    index = WordIndex([(1.0, 0.4)], ([words_of(piece.text)] for piece in pieces))
    ranked = [number for number, _ in index.search(words, len(pieces))]
    ranked += (number for number in range(len(pieces)) if number not in set(ranked))
    chosen: list[int] = []
    for number in ranked:
        size = len(pieces[number].text)
        if chosen and size > room:
            break
        chosen.append(number)
        room -= size
    return [pieces[number] for number in sorted(chosen)]


def lines_of(pieces: Sequence[Piece]) -> str:
    """Return the numbers of lines of pieces, as ``3-14, 40-52``; empty: they have none."""
    spans: list[list[int]] = []
    for piece in pieces:
        if not piece.first:
            continue
        if spans and piece.first <= spans[-1][1] + 1:
            spans[-1][1] = piece.last
        else:
            spans.append([piece.first, piece.last])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans)
