"""Words: how text becomes the normalised terms that are compared."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["ASKING", "CHANGING", "FUNCTION", "UNITS", "normal", "split_words", "stem", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set; for the lists here and elsewhere."""
    return frozenset(text.split())


# Words that carry no subject: the request is not about them.
FUNCTION = word_set(
    """a about above across again also am an and any anyone are aren't as at back be because been before being between
    both but by can can't could couldn't did didn't do does doesn't doing don't down each either else ever every few
    for from further had has have having he hello her here hers hey hi him his how i if in into is isn't it its just
    kindly let like may me might mine more most much my myself now of off oh ok okay on once only onto or other our
    ours out over own per please pls quite rather really s shall she should so some such t than thank thanks
    that the their them then there these they thing this those through thus to too under until up upon us use used
    using very via was wasn't we were what when where whether which while who whom whose why will with within
    without won't would yes yet you your yours"""
)

# Words that ask, whatever is asked: they count a little.
ASKING = word_set(
    """all answer anything available check contain contains everything find get give go got help inside know
    list look lot make many me need new number one print put return run say see show something take tell there try
    want whole work"""
)

# Verbs that change things, make something new or want thought. Led by one, a request runs only an action that is led by it too.
CHANGING = word_set(
    """add advise append archive buy cancel change clean clear clone commit compose compress copy create crop cut
    delete deploy destroy download draw drop edit email encrypt erase explain fix improve insert install invent kill
    merge modify move open overwrite paint paraphrase pay play plot post publish push reboot recommend refactor
    remind remove rename replace reply reset resize restart restore revert review rewrite schedule sell send shred
    sing start stop submit suggest sync teach tidy transfer translate trash turn tweet undo uninstall unzip update
    upgrade upload wipe write zip"""
)

# Units of measure as they are written after a number.
UNITS = word_set(
    """mm cm m km meter meters metre metres kilometer kilometers kilometre kilometres inch inches in ft foot feet yd
    yard yards mi mile miles mg g kg gram grams kilogram kilograms kilo kilos lb lbs pound pounds oz ounce ounces
    stone ton tons tonne tonnes ml cl l liter liters litre litres gal gallon gallons pint pints cup cups tbsp tsp c
    f k celsius fahrenheit kelvin degree degrees mph kph kmh kmph knot knots s sec secs second seconds min mins
    minute minutes h hr hrs hour hours day days week weeks month months year years b kb mb gb tb kib mib gib byte
    bytes bit bits kilobyte kilobytes megabyte megabytes gigabyte gigabytes j kj joule joules cal kcal calorie
    calories w kw watt watts kwh hp pa bar psi atm acre acres hectare hectares ha usd eur gbp"""
)

# One spelling for what people write in several ways; both sides of a comparison go through it.
_SAME = {
    "avg": "mean",
    "average": "mean",
    "dir": "folder",
    "directory": "folder",
    "directories": "folder",
    "repo": "repository",
    "repos": "repository",
    "pct": "percent",
    "percentage": "percent",
    "percentages": "percent",
    "md": "markdown",
    "mkd": "markdown",
    "txt": "text",
    "yml": "yaml",
    "htm": "html",
    "jpg": "jpeg",
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "pic": "picture",
    "pics": "picture",
    "photo": "picture",
    "photos": "picture",
    "image": "picture",
    "images": "picture",
    "doc": "document",
    "docs": "document",
    "biggest": "largest",
    "greatest": "largest",
    "compute": "calculate",
    "dupe": "duplicate",
    "dupes": "duplicate",
    "identical": "duplicate",
    "toc": "outline",
    "headline": "heading",
    "headlines": "heading",
    "info": "information",
}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")  # scripts written without spaces
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
        if _UNSPACED.search(word):
            for run in _UNSPACED.findall(word):
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


_ENDINGS = (
    # ending, what replaces it, letters that must stay before it
    ("ization", "iz", 3),
    ("isation", "iz", 3),
    ("ational", "at", 3),
    ("ation", "at", 3),
    ("ator", "at", 3),
    ("izer", "iz", 3),
    ("iser", "iz", 3),
    ("ical", "ic", 3),
    ("ness", "", 4),
    ("ing", "", 3),
    ("ise", "iz", 4),
    ("ize", "iz", 4),
    ("ed", "", 3),
    ("ly", "", 4),
    ("er", "", 5),
)


def _ending(word: str) -> str:
    for ending, replacement, least in _ENDINGS:
        before = len(word) - len(ending)
        if before >= least and word.endswith(ending) and _VOWEL.search(word, 0, before):
            word = word[:before] + replacement
            if ending in ("ing", "ed", "er") and word[-1] == word[-2] and word[-1] in "bdgmnprt":
                word = word[:-1]
            elif ending in ("ing", "ed") and word.endswith("is") and len(word) > 6:
                word = word[:-1] + "z"
            break
    if len(word) > 6 and word.endswith(("tion", "sion")):
        word = word[:-3]
    return word[:-1] if word.endswith("ariz") else word
