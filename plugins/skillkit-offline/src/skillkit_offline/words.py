"""Words: how text becomes the normalised terms that are compared."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["BARRED", "EMPTY", "FUNCTION", "normal", "split_words", "stem", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set; for the lists here and elsewhere."""
    return frozenset(text.split())


# The closed list of words without content: a request means the same with them and without. All others have to be used.
EMPTY = word_set(
    """a about all am an and any are as at be by contain contained containing contains currently determine display do does
    exist exists fetch find for from get give has have having identify in inside into is just kindly list listed me my of
    on our overall please pls print provide retrieve return say see show stored tell thank thanks that the their there this
    to us what what's which whose with within yes you your"""
)

# Words that change what a request means, whatever stands beside them: another time, another case, somebody, a statement.
BARRED = word_set(
    """be been being because could did didn't don't dont had i if may might never not ought shall should unless was we were
    when why will would"""
)

# Words that carry no subject: the request is not about them.
FUNCTION = (
    EMPTY
    | BARRED
    | word_set(
        """about above across again also anyone aren't back because before between both but by can't couldn't didn't doesn't
    doing don't down each either else ever every few further he her here hers him his how if isn't it its like
    mine more most much myself now off oh once only onto or other ours over own per quite rather really such t
    than them then these they thing those through thus too under until up upon use used using very via wasn't when
    where whether while who whom why will without won't yet yours"""
    )
)

# One spelling for what people write in several ways; both sides of a comparison go through it.
_SPELLINGS = """mean: avg average; folder: dir directory directories; repository: repo repos; percent: pct percentage
    percentages; markdown: md mkd; text: txt; yaml: yml; html: htm; jpeg: jpg; python: py; javascript: js;
    typescript: ts; picture: pic pics photo photos image images; document: doc docs; largest: biggest
    greatest; calculate: compute"""
_SAME = {word: s.split(":")[0].strip() for s in _SPELLINGS.split(";") for word in s.split(":")[1].split()}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+"  # scripts written without spaces
_VOWEL = re.compile(r"[aeiouy]")


def normal(text: str) -> str:
    """``text`` with compatibility forms, case and accents taken away."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def split_words(text: str) -> list[str]:
    """The normalised words of ``text`` in order; compound names are taken apart, unspaced scripts give pairs of letters."""
    out: list[str] = []
    for word in _WORD.findall(normal(_CAMEL.sub(" ", text))):
        word = word.replace("’", "'")
        if word.endswith("'s"):
            word = word[:-2]
        if not word.isascii() and (runs := re.findall(_UNSPACED, word)):
            for run in runs:
                out.extend([run[i : i + 2] for i in range(len(run) - 1)] or [run])
        elif word:
            out.append(word)
    return out


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The form under which ``word`` (normalised) is compared: one spelling, no plural, no common English ending."""
    word = _SAME.get(word, word)
    if len(word) < 4 or not word.isascii():
        return word
    word = _plural(word)
    word = _SAME.get(word, word)
    word = _ending(word)
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y") and not _VOWEL.match(word[-2]):
        word = word[:-1] + "i"
    return word


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


# Ending, what replaces it, how many letters must stay before it.
_ENDINGS = """ization iz 3|isation iz 3|ational at 3|ation at 3|ator at 3|izer iz 3|iser iz 3|ical ic 3
ness  4|ing  3|ise iz 4|ize iz 4|ed  3|ly  4|er  5""".replace("\n", "|").split("|")


def _ending(word: str) -> str:
    for ending, replacement, least in (line.split(" ") for line in _ENDINGS):
        before = len(word) - len(ending)
        if before >= int(least) and word.endswith(ending) and _VOWEL.search(word, 0, before):
            word = word[:before] + replacement
            if ending in ("ing", "ed", "er") and word[-1] == word[-2] and word[-1] in "bdgmnprt":
                word = word[:-1]
            elif ending in ("ing", "ed") and word.endswith("is") and len(word) > 6:
                word = word[:-1] + "z"
            break
    if len(word) > 6 and word.endswith(("tion", "sion")):
        word = word[:-3]
    return word[:-1] if word.endswith("ariz") else word
