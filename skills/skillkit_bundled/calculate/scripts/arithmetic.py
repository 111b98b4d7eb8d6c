"""Arithmetic from text, exact where it can be, without eval: numbers are fractions until a function needs a float."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from command import Problem

Number = Fraction | float

MOST_DIGITS = 4000  # of a result; Python itself refuses to print integers of more than 4300 digits
MOST_SHOWN = 60  # digits of an integer that are written out for people; the value itself is always whole
MOST_BITS = 20_000  # of a numerator or denominator before a fraction becomes a float
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


@dataclass(frozen=True, slots=True)
class Percent:
    """A number written with a per cent sign: ``80 + 15%`` adds 15% of 80."""

    amount: Number

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
                value = _factorial(plain(value))
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
        return _checked(Fraction(int(word, 0)))
    mantissa, _, exponent = word.replace("_", "").partition("e")
    if exponent and abs(int(exponent)) > MOST_DIGITS:
        raise _too_large()
    return _checked(Fraction(Decimal(mantissa)) * Fraction(10) ** int(exponent or 0))


def _too_large() -> Problem:
    return Problem(f"the result is too large: it would have more than {MOST_DIGITS:,} digits")


def _checked(value: Fraction) -> Fraction:
    if value.numerator.bit_length() - value.denominator.bit_length() > MOST_DIGITS * math.log2(10):
        raise _too_large()
    return value


def _settled(value: Fraction) -> Number:
    """Return the fraction, or a float once the fraction is longer than anybody wants to read."""
    _checked(value)
    if value.denominator.bit_length() > MOST_BITS:
        return _float(value)
    return value


def _float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Problem("a number is too large for this function; at most about 1.8e308 is possible") from None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Problem("the result is too large or not a number")
    return value


def _combine(
    left: Number,
    right: Number,
    exact: Callable[[Fraction, Fraction], Fraction],
    inexact: Callable[[float, float], float],
) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return _settled(exact(left, right))
    return _finite(inexact(_float(left), _float(right)))


def add(left: Number, right: Number) -> Number:
    """Return left + right."""
    return _combine(left, right, lambda a, b: a + b, lambda a, b: a + b)


def subtract(left: Number, right: Number) -> Number:
    """Return left - right."""
    return add(left, -right)


def multiply(left: Number, right: Number) -> Number:
    """Return left * right."""
    return _combine(left, right, lambda a, b: a * b, lambda a, b: a * b)


def divide(left: Number, right: Number) -> Number:
    """Return left / right."""
    if right == 0:
        raise Problem("division by zero has no result")
    return _combine(left, right, lambda a, b: a / b, lambda a, b: a / b)


def floor_divide(left: Number, right: Number) -> Number:
    """Return the whole quotient, rounded down as in Python."""
    return Fraction(math.floor(divide(left, right)))


def modulo(left: Number, right: Number) -> Number:
    """Return the remainder, with the sign of `right` as in Python."""
    if right == 0:
        raise Problem("the remainder of a division by zero has no result")
    return _combine(left, right, lambda a, b: a % b, lambda a, b: a % b)


def _add(left: Term, right: Term, sign: int) -> Term:
    if isinstance(right, Percent):
        signed = multiply(right.amount, Fraction(sign))
        if isinstance(left, Percent):
            return Percent(add(left.amount, signed))
        return multiply(left, add(Fraction(1), Percent(signed).portion))
    return add(plain(left), multiply(right, Fraction(sign)))


def absolute(value: Number) -> Number:
    """Return the value without its sign."""
    return -value if value < 0 else value


def power(base: Number, exponent: Number) -> Number:
    """Return base ** exponent: exact for whole exponents of moderate size, refused before it would blow up."""
    if base == 0 and exponent < 0:
        raise Problem("zero has no negative power: that is a division by zero")
    if base in (0, 1) or exponent in (0, 1):
        return base if exponent != 0 else Fraction(1)
    if base < 0 and exponent != math.floor(exponent):
        raise Problem("a negative number has no real power with a broken exponent")
    if absolute(exponent) > 10**12:
        raise Problem("the exponent is too large")
    magnitude = float(exponent) * _log10(absolute(base))
    if abs(magnitude) > MOST_DIGITS:
        raise _too_large() if magnitude > 0 else Problem("the result is too close to zero to be written")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * absolute(exponent)
        if exponent.denominator == 1 and bits <= MOST_BITS:
            return _checked(Fraction(base**exponent.numerator))
        if exponent == Fraction(1, 2):
            return _root(base)
    try:
        return _finite(_float(base) ** _float(exponent))
    except OverflowError:
        raise _too_large() from None


def _log10(value: Number) -> float:
    if isinstance(value, Fraction):
        return math.log10(value.numerator) - math.log10(value.denominator)
    return math.log10(value)


def _factorial(value: Number) -> Fraction:
    if value < 0 or value != math.floor(value):
        raise Problem(f"the factorial needs a whole number that is not negative, not {written(value)[0]}")
    if value > 1300:
        raise Problem("the factorial is too large: at most 1300! is computed")
    return Fraction(math.factorial(int(value)))


def _root(value: Number) -> Number:
    if value < 0:
        raise Problem("a negative number has no real square root")
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above * above == value.numerator and below * below == value.denominator:
            return Fraction(above, below)
    return math.sqrt(_float(value))


def _cube_root(value: Number) -> Number:
    root = math.cbrt(_float(value))
    return Fraction(round(root)) if round(root) ** 3 == value else root


def _logarithm(value: Number, base: Number = Fraction(10)) -> Number:
    if value <= 0 or base <= 0 or base == 1:
        raise Problem("a logarithm needs a number above zero (and a base above zero that is not 1)")
    result = _log10(value) / _log10(base)
    whole = round(result)
    if isinstance(value, Fraction) and isinstance(base, Fraction) and abs(whole) < 1000 and base**whole == value:
        return Fraction(whole)
    return result


def _round(value: Number, places: Number = Fraction(0)) -> Number:
    if places != math.floor(places) or absolute(places) > 100:
        raise Problem("round takes a whole number of places, at most 100")
    scale = Fraction(10) ** int(places)
    scaled = Fraction(value) * scale
    nearest = math.floor(absolute(scaled) + Fraction(1, 2))  # as people round: a half goes away from zero
    return Fraction(nearest if scaled >= 0 else -nearest) / scale


def _trigonometric(function: Callable[[float], float]) -> Callable[[Number], Number]:
    return lambda value: round(_finite(function(_float(value))), 15)


def _whole_numbers(function: Callable[..., int]) -> Callable[..., Number]:
    def apply_to_whole(*values: Number) -> Number:
        if any(value != math.floor(value) for value in values):
            raise Problem("gcd and lcm need whole numbers")
        return _checked(Fraction(function(*map(int, values))))

    return apply_to_whole


def _total(*values: Number) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = add(total, value)
    return total


def _mean(*values: Number) -> Number:
    return divide(_total(*values), Fraction(len(values)))


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": _root,
    "cbrt": _cube_root,
    "abs": absolute,
    "round": _round,
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "factorial": _factorial,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "sum": _total,
    "mean": _mean,
    "average": _mean,
    "avg": _mean,
    "median": lambda *values: statistics.median(values),
    "gcd": _whole_numbers(math.gcd),
    "lcm": _whole_numbers(math.lcm),
    "ln": lambda value: _logarithm(value, math.e),
    "log": _logarithm,
    "log10": lambda value: _logarithm(value),
    "log2": lambda value: _logarithm(value, Fraction(2)),
    "exp": lambda value: _finite(math.exp(_float(value))),
    "sin": _trigonometric(math.sin),
    "cos": _trigonometric(math.cos),
    "tan": _trigonometric(math.tan),
    "asin": _trigonometric(math.asin),
    "acos": _trigonometric(math.acos),
    "atan": _trigonometric(math.atan),
    "hypot": lambda *values: _finite(math.hypot(*map(_float, values))),
}

PRODUCTS: dict[str, Callable[[Number, Number], Number]] = {
    "*": multiply,
    "of": multiply,
    "/": divide,
    "//": floor_divide,
    "mod": modulo,
}


def apply(name: str, values: list[Number]) -> Number:
    """Call a function of the list above."""
    try:
        return FUNCTIONS[name](*values)
    except TypeError:
        raise Problem(f"{name}() does not take {len(values)} values") from None
    except ValueError:
        raise Problem(f"{name}() has no result for {', '.join(written(value)[0] for value in values)}") from None
    except OverflowError:
        raise _too_large() from None


def written(value: Number) -> tuple[str, bool]:
    """Return the number as text for people, and whether the text is the exact value."""
    if isinstance(value, Fraction) and value.denominator == 1:
        digits_of_all = len(str(abs(value.numerator)))
        if digits_of_all <= MOST_SHOWN:
            return f"{value.numerator:,}", True
        return f"{Context(prec=12).create_decimal(value.numerator):.11e} ({digits_of_all:,} digits)", False
    if isinstance(value, Fraction):
        digits = Context(prec=30).divide(Decimal(value.numerator), Decimal(value.denominator))
        exact = Fraction(digits) == value and len(digits.normalize().as_tuple().digits) <= 15
        rounded = digits if exact else Context(prec=12).plus(digits)
    else:
        rounded, exact = Context(prec=12).create_decimal_from_float(value), False
    rounded = rounded.normalize()
    if rounded == 0 or -8 <= rounded.adjusted() <= 15:
        return f"{rounded:,f}", exact or value == 0
    return f"{rounded:E}".replace("E", "e"), exact


def as_json(value: Number) -> int | float:
    """Return an int for whole numbers, else the nearest float."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return _float(value)
