"""What a text is made of: counts that are linear in its length, and that a tokenizer's count is a weighted sum of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

__all__ = ["PIECES", "pieces", "weigh"]

# words are runs of Latin letters; the scripts are counted by character
PIECES = (
    "words", "long", "longer", "camel", "capitals", "digits", "numbers", "mixed", "signs", "joined", "lines", "indent",
    "accents", "cyrillic", "middle_east", "indic", "cjk", "hangul", "typographic", "emoji",
)  # fmt: skip

_SHORT = 16_000  # characters of a text whose pieces are kept: sessions of a host have the same system prompt

_CONTINUATION = bytes(range(0x80, 0xC0))
_LETTERS = b"aAe"


def _classes() -> bytes:
    """Return the table from the first byte of a UTF-8 character to its class, as one byte."""
    table = bytearray(b"." * 256)

    def put(first: int, last: int, kind: bytes) -> None:
        table[first : last + 1] = kind * (last + 1 - first)

    put(ord("a"), ord("z"), b"a")
    put(ord("A"), ord("Z"), b"A")
    put(ord("0"), ord("9"), b"0")
    for blank in b" \t\r\f\v":
        table[blank] = ord(" ")
    table[ord("\n")] = ord("\n")
    put(0xC3, 0xC9, b"e")  # Latin with accents
    put(0xCA, 0xD4, b"c")  # Greek, Cyrillic
    put(0xD5, 0xDF, b"r")  # Armenian, Hebrew, Arabic
    put(0xE0, 0xE1, b"i")  # Indic, Thai, Georgian, Ethiopic, ...
    put(0xE2, 0xE2, b"p")  # dashes, quotation marks, arrows
    put(0xE3, 0xE9, b"k")  # kana, Chinese
    put(0xEA, 0xED, b"h")  # Hangul
    put(0xEE, 0xEF, b"k")  # full-width forms
    put(0xF0, 0xFF, b"x")  # emoji, rare scripts
    return bytes(table)


_CLASS = _classes()
_WORDS = bytes(c if c in _LETTERS else 32 for c in range(256))
_NUMBERS = bytes(c if c == ord("0") else 32 for c in range(256))


def pieces(text: str) -> tuple[int, ...]:
    """Return how many of each of :data:`PIECES` a text holds.

    ``words``: runs of Latin letters. ``long``: their letters from the 7th to the 12th. ``longer``: those from the 13th on.
    ``camel``: changes from a small to a capital letter. ``capitals``: pairs of capitals. ``numbers``: runs of digits.
    ``mixed``: changes between letters and digits. ``signs``: ASCII that is no letter, digit or blank. ``joined``: pairs of
    signs. ``indent``: pairs of blanks.
    """
    # one byte a character: continuation bytes are deleted, so no regular expression and no loop over characters is needed
    data = text.encode("utf-8", "surrogatepass").translate(_CLASS, _CONTINUATION)
    count = data.count
    lengths = Counter(map(len, data.translate(_WORDS).split()))
    long = sum((min(n, 12) - 6) * times for n, times in lengths.items() if n > 6)
    longer = sum((n - 12) * times for n, times in lengths.items() if n > 12)
    digits = count(b"0")
    return (
        lengths.total(), long, longer, count(b"aA"), count(b"AA"), digits,
        len(data.translate(_NUMBERS).split()) if digits else 0,
        sum(map(count, (b"a0", b"0a", b"A0", b"0A"))) if digits else 0, count(b"."), count(b".."), count(b"\n"), count(b"  "),
        *map(count, (b"e", b"c", b"r", b"i", b"k", b"h", b"p", b"x")),
    )  # fmt: skip


def weigh(text: str, weights: Sequence[float]) -> float:
    """Return the sum of the pieces of a text, each by its weight in the order of :data:`PIECES`."""
    counted = _kept(text) if len(text) <= _SHORT else pieces(text)
    return sum([n * w for n, w in zip(counted, weights, strict=True) if n])


_kept = lru_cache(32)(pieces)


def named(weights: Mapping[str, float]) -> tuple[float, ...]:
    """Return weights that are given by name in the order of :data:`PIECES`; those that are missing are 0."""
    return tuple(weights.get(name, 0.0) for name in PIECES)
