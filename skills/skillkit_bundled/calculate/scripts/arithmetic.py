"""Arithmetic from text, without eval: tokens, then recursive descent."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from command import Problem
from operations import (
    FUNCTIONS,
    MOST_DIGITS,
    PRODUCTS,
    Number,
    add,
    apply,
    checked,
    divide,
    factorial,
    modulo,
    multiply,
    power,
    subtract,
    too_large,
)

MOST_NESTING = 60
MOST_CHARACTERS = 2000

TOKEN = re.compile(
    r"(?:(?P<hex>0x[0-9a-f]+|0b[01]+|0o[0-7]+)"
    r"|(?P<number>(?:\d[\d_]*(?:\.[\d_]*)?|\.\d+)(?:e[+-]?\d+)?)"
    r"|(?P<name>[a-zπτ√°][a-z0-9]*)"
    r"|(?P<op>\*\*|//|[-+*/%^!(),×÷−·]))"
)
GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)")
SPELLING = {"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "x": "*", "√": "sqrt", "π": "pi", "τ": "tau", "on": "of"}
CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}
DEGREES = ("degrees", "degree", "deg", "°")


class Percent:
    """A number written with a per cent sign: ``80 + 15%`` adds 15% of 80."""

    __slots__ = ("amount",)

    def __init__(self, amount: Number) -> None:
        self.amount = amount

    @property
    def portion(self) -> Number:
        """The amount divided by a hundred."""
        return divide(self.amount, Fraction(100))


Term = Fraction | float | Percent


def evaluate(text: str) -> Term:
    """Return the value of an expression; raises `Problem` with the reason when it has none."""
    parser = _Parser(_tokens(text.lower()))
    value = parser.sum()
    if parser.here != "":
        raise Problem(f"I do not understand {parser.here!r} at this place in {text.strip()!r}")
    return value


def plain(term: Term) -> Number:
    """Return a term as a number: 15% is 0.15."""
    return term.portion if isinstance(term, Percent) else term


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    calls: list[bool] = []  # for each open parenthesis: is it the argument list of a function?
    at = 0
    text = " ".join(text.split())
    while at < len(text):
        found = GROUPED.match(text, at) if text[at].isdigit() and not any(calls) else None
        found = found or TOKEN.match(text, at)
        if found is None:
            raise Problem(f"I do not understand {text[at:].strip()[:20]!r}; write numbers, + - * / ^ ( ) % and names")
        word = found[0].strip()
        word = SPELLING.get(word, word.replace(",", "") or ",")
        if word == "(":
            calls.append(bool(tokens) and tokens[-1] in FUNCTIONS)
        elif word == ")" and calls:
            calls.pop()
        tokens.append(word)
        at = found.end() + (text[found.end() : found.end() + 1] == " ")
    return tokens


class _Parser:
    """Recursive descent: sum, product, unary, power, postfix, value."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.position = 0
        self.nesting = 0

    @property
    def here(self) -> str:
        """The next word, or "" at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """Return and pass the next word if it is one of `wanted`, else return ""."""
        word = self.here
        if word == "" or word not in wanted:
            return ""
        self.position += 1
        return word

    def sum(self) -> Term:
        """Read ``product + product - product``."""
        left = self.product()
        while sign := self.take("+", "-"):
            left = _add(left, self.product(), -1 if sign == "-" else 1)
        return left

    def product(self) -> Term:
        """Read ``unary * unary``; "of" and a missing sign, as in ``2(3)`` or ``2 pi``, multiply too."""
        left = self.unary()
        while True:
            if sign := self.take("*", "/", "//", "mod", "of"):
                left = PRODUCTS[sign](plain(left), plain(self.unary()))
            elif self.here == "(" or self.here in FUNCTIONS or self.here in CONSTANTS:
                left = multiply(plain(left), plain(self.unary()))
            else:
                return left

    def unary(self) -> Term:
        """Read a sign and a power, and ``15% of`` or ``15% off`` before either."""
        self.nesting += 1
        if self.nesting > MOST_NESTING:
            raise Problem("the expression is too deeply nested")
        sign = self.take("+", "-")
        value = self.unary() if sign else self.power()
        if sign == "-":
            value = Percent(-value.amount) if isinstance(value, Percent) else -value
        if isinstance(value, Percent):
            if self.take("of"):
                value = multiply(value.portion, plain(self.unary()))
            elif self.take("off"):
                value = multiply(subtract(Fraction(1), value.portion), plain(self.unary()))
        self.nesting -= 1
        return value

    def power(self) -> Term:
        """Read ``base ** exponent``, grouped from the right."""
        base = self.postfix()
        return power(plain(base), plain(self.unary())) if self.take("**") else base

    def postfix(self) -> Term:
        """Read a value with ``!``, ``%`` or degrees behind it."""
        value = self.value()
        while True:
            if self.take("!"):
                value = factorial(plain(value))
            elif self.take(*DEGREES):
                value = multiply(plain(value), math.pi / 180)
            elif self.here == "%" and not self._divides():
                self.position += 1
                value = Percent(plain(value))
            elif self.here == "%":
                self.position += 1
                value = modulo(plain(value), plain(self.postfix()))
            else:
                return value

    def _divides(self) -> bool:
        """Say whether the per cent sign here is Python's remainder: a number or parenthesis follows directly."""
        after = self.tokens[self.position + 1 : self.position + 2]
        return bool(after) and (after[0][0].isdigit() or after[0][0] in ".(")

    def value(self) -> Term:
        """Read a number, a constant, a function call or a sum in parentheses."""
        word = self.here
        if word == "":
            raise Problem("the expression ends where a number was expected")
        self.position += 1
        if word == "(":
            value = self.sum()
            self._close()
            return value
        if word in FUNCTIONS:
            return self._call(word)
        if word in CONSTANTS:
            return CONSTANTS[word]
        if word[0].isdigit() or word[0] == ".":
            return _number(word)
        raise Problem(f"I do not understand {word!r} where a number was expected")

    def _call(self, name: str) -> Number:
        if not self.take("("):
            return apply(name, [plain(self.power())])
        values = [plain(self.sum())]
        while self.take(","):
            values.append(plain(self.sum()))
        self._close()
        return apply(name, values)

    def _close(self) -> None:
        if not self.take(")"):
            raise Problem(f"a closing parenthesis is missing before {self.here!r}" if self.here else "a ) is missing")


def _number(word: str) -> Fraction:
    if word[:2] in ("0x", "0b", "0o"):
        return checked(Fraction(int(word, 0)))
    mantissa, _, exponent = word.replace("_", "").partition("e")
    if exponent and abs(int(exponent)) > MOST_DIGITS:
        raise too_large()
    return checked(Fraction(Decimal(mantissa)) * Fraction(10) ** int(exponent or 0))


def _add(left: Term, right: Term, sign: int) -> Term:
    if isinstance(right, Percent):
        signed = multiply(right.amount, Fraction(sign))
        if isinstance(left, Percent):
            return Percent(add(left.amount, signed))
        return multiply(left, add(Fraction(1), Percent(signed).portion))
    return add(plain(left), multiply(right, Fraction(sign)))
