"""Action `evaluate`: the result of an expression, a percentage or a unit conversion, in plain words or symbols."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from fractions import Fraction

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from arithmetic import MOST_CHARACTERS, evaluate, plain  # noqa: E402
from command import Problem, Result, run, shown  # noqa: E402
from operations import absolute, as_json, divide, multiply, subtract, written  # noqa: E402
from units import conversion, convert  # noqa: E402

POLITE = re.compile(
    r"^(?:(?:please|hey|hi|can you|could you|would you|tell me|show me|give me|i need|what(?:'s|’s| is| are)?"
    r"|how much (?:is|are)|calculate|compute|evaluate|work out|calc|solve|find|use|using"
    r"|the (?:result|value) of|the|to|me)\b[\s:,]*)+",
    re.I,
)
FAREWELL = re.compile(r"(?:[\s?=.,;:]|\b(?:please|thanks|thank you|equals?|is)\b)+$", re.I)

SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "dozen": 12,
}  # fmt: skip
TENS = (  # these are compiled where they may match: compiling all of them takes longer than the answer
    r"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[- ](one|two|three|four|five|six|seven|eight|nine)\b"
)

WORDS = [  # what a text must hold for the pattern to match, the pattern, and its symbol
    ("to the power|raised to", r"\bto the power (?:of )?|\braised to (?:the power (?:of )?)?", " ** "),
    ("multiplied by|times", r"\b(?:multiplied by|times)\b", " * "),
    ("divided by|over", r"\b(?:divided by|over)\b", " / "),
    ("plus", r"\bplus\b", " + "),
    ("minus", r"\bminus\b", " - "),
    ("squared", r"\bsquared\b", " ** 2 "),
    ("cubed", r"\bcubed\b", " ** 3 "),
    ("percent|per cent|pct", r"\b(?:percent|per cent|percentage|pct)\b", "%"),
    ("%", r"%\s+(?:tip|vat|tax|discount|interest|commission|fee)\b", "% "),
    ("modulo", r"\bmodulo\b", " mod "),
    ("cube root", r"\bcube root(?: of)?\b", " cbrt "),
    ("root", r"\b(?:square root|root)(?: of)?\b", " sqrt "),
    ("x", r"(?<=[\d)])(?<!\b0)\s*x\s*(?=[\d(.])", " * "),
    ("factorial", r"\bfactorial of\b", " factorial "),
    ("factorial", r"(?<=[\d)])\s+factorial\b", "!"),
    ("half of", r"\b(?:a )?half of\b", " 1/2 * "),
    ("third of", r"\b(?:a )?third of\b", " 1/3 * "),
    ("quarter of", r"\b(?:a )?quarter of\b", " 1/4 * "),
    ("twice|double", r"\b(?:twice|double)\b", " 2 * "),
    ("thousand", r"(?<=[\d.])\s*thousand\b", "e3"),
    ("million", r"(?<=[\d.])\s*million\b", "e6"),
    ("billion", r"(?<=[\d.])\s*billion\b", "e9"),
    ("$|€|£|¥", r"[$€£¥]\s*(?=[\d.])", ""),
    ("/", r"(?<![\w.,/])(\d+) (\d+/\d+)(?![\w.])", r"(\1 + \2)"),
    (" the | a | my ", r"(?<=[\d%])\s*(of|on|off)\s+(?:the|a|my)\s+", r" \1 "),
]
LISTS = (
    r"^(?P<name>average|mean|sum|median|min|minimum|max|maximum|smallest|largest|gcd|lcm|"
    r"greatest common divisor|least common multiple)\s+of\s+(?P<list>.+)$"
)
LIST_NAMES = {
    "minimum": "min",
    "smallest": "min",
    "maximum": "max",
    "largest": "max",
    "greatest common divisor": "gcd",
    "least common multiple": "lcm",
}
SHARES = [
    r"^(?P<part>.+?) is (?:what|which|how many) ?% of (?P<base>.+)$",
    r"^(?:what ?)?% of (?P<base>.+?) is (?P<part>.+)$",
    r"^(?:what ?)?% is (?P<part>.+?) of (?P<base>.+)$",
]
CHANGE = (
    r"^(?:%\s*)?(?:change|increase|decrease|difference|growth|drop)\s*(?:in )?%?\s*from\s+(?P<a>.+?)\s+to\s+(?P<b>.+)$"
)
BY = r"^(?P<way>increase|raise|decrease|reduce|lower)\s+(?P<a>.+?)\s+by\s+(?P<b>.+)$"
ONTO = r"^(?P<way>add|subtract|take)\s+(?P<b>.+?)\s+(?:to|from|off)\s+(?P<a>.+)$"
OF = r"^(?:(?P<way>multiply|divide)\s+(?P<a>.+?)\s+by|(?P<of>product|quotient) of\s+(?P<c>.+?)\s+and)\s+(?P<b>.+)$"
BY_WORDS, ONTO_WORDS = ("increase", "raise", "decrease", "reduce", "lower"), ("add", "subtract", "take")
OF_WORDS = ("multiply", "divide", "product", "quotient")
BASES = {"hex": "#x", "hexadecimal": "#x", "binary": "#b", "octal": "#o"}
IN_BASE = rf"^(?:convert\s+)?(?P<value>.+?)\s+(?:in|to|into|as)\s+(?P<base>{'|'.join(BASES)})$"


def calculate(values: Mapping[str, str]) -> Result:
    """Answer the request: a conversion, a base, a share, a change, or arithmetic."""
    if len(values["expression"]) > MOST_CHARACTERS:
        raise Problem(f"the expression is too long: at most {MOST_CHARACTERS:,} characters are read")
    asked = POLITE.sub("", " ".join(values["expression"].split()))
    asked = FAREWELL.sub("", asked).strip()
    if not asked:
        raise Problem("there is nothing to calculate; write for example: 15% of 80, or 5 miles to km")
    in_base = re.match(IN_BASE, asked.lower()) if asked.lower().endswith((*BASES,)) else None
    if in_base:
        return _base(asked, in_base["value"], in_base["base"])
    wanted = conversion(asked)
    if wanted:
        return convert(*wanted)
    return _arithmetic(asked)


def _base(asked: str, text: str, base: str) -> Result:
    value = plain(evaluate(_symbols(text)))
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise Problem(f"only whole numbers are written in {base}")
    result = format(value.numerator, BASES[base])
    return {"answer": f"{shown(text)} in {base} is {result}", "value": value.numerator, "text": result, "kind": "base"}


def _arithmetic(asked: str) -> Result:
    text = _symbols(asked)
    special = _share(text) or _change(text)
    if special:
        return special
    first = text.partition(" ")[0]
    by = _worded(text, first, BY, BY_WORDS) or _worded(text, first, ONTO, ONTO_WORDS)
    if by:
        sign = "+" if by["way"] in ("increase", "raise", "add") else "-"
        text = f"({by['a']}) {sign} {by['b']}"
    of = _worded(text, first, OF, OF_WORDS)
    if of:
        text = f"({of['a'] or of['c']}) {'*' if of['way'] == 'multiply' or of['of'] == 'product' else '/'} ({of['b']})"
    value = plain(evaluate(text))
    answer, exact = written(value)
    result: Result = {
        "answer": f"{shown(asked)} {'=' if exact else '≈'} {answer}",
        "value": as_json(value),
        "exact": exact,
        "kind": "arithmetic",
    }
    if isinstance(value, Fraction) and value.denominator != 1 and value.denominator < 10**12:
        result["fraction"] = str(value)
    return result


def _worded(text: str, first: str, pattern: str, words: tuple[str, ...]) -> re.Match[str] | None:
    return re.match(pattern, text) if first in words else None


def _share(text: str) -> Result | None:
    """Answer "12 is what % of 80" and "what % of 80 is 12"."""
    found = next(filter(None, (re.match(pattern, text) for pattern in SHARES)), None) if " is " in text else None
    if found is None:
        return None
    percent = divide(multiply(plain(evaluate(found["part"])), Fraction(100)), plain(evaluate(found["base"])))
    answer = f"{found['part']} is {written(percent)[0]}% of {found['base']}"
    return {"answer": answer, "value": as_json(percent), "kind": "percentage"}


def _change(text: str) -> Result | None:
    found = re.match(CHANGE, text) if " to " in text else None
    if found is None:
        return None
    before, after = plain(evaluate(found["a"])), plain(evaluate(found["b"]))
    percent = divide(multiply(subtract(after, before), Fraction(100)), absolute(before))
    sign = "+" if percent > 0 else ""
    answer = f"from {found['a']} to {found['b']} is a change of {sign}{written(percent)[0]}%"
    return {"answer": answer, "value": as_json(percent), "kind": "percentage"}


def _symbols(asked: str) -> str:
    """Return the request with words for numbers and operations written as symbols, in lower case."""
    text = asked.lower()
    if any(word in text for word in SMALL):
        text = re.sub(TENS, lambda found: str(SMALL[found[1]] + SMALL[found[2]]), text)
        text = re.sub(r"\b(" + "|".join(SMALL) + r")\b", lambda found: str(SMALL[found[1]]), text)
    for needs, pattern, symbol in WORDS:
        if any(word in text for word in needs.split("|")):
            text = re.sub(pattern, symbol, text)
    text = " ".join(text.split()).replace(" %", "%")
    listed = re.match(LISTS, text) if " of " in text else None
    if listed:
        items = re.sub(r"\s*,?\s+and\s+", ", ", listed["list"])
        text = f"{LIST_NAMES.get(listed['name'], listed['name'])}({items})"
    return text


if __name__ == "__main__":
    sys.exit(run(calculate, positional=["expression"]))
