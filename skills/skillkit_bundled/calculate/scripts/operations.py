"""Numbers and what is done with them: exact fractions where it can be, floats where it must, and no blow-ups."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

from command import Problem

Number = Fraction | float

MOST_DIGITS = 4000  # of a result; Python itself refuses to print integers of more than 4300 digits
MOST_SHOWN = 60  # digits of an integer that are written out for people; the value itself is always whole
MOST_BITS = 20_000  # of a numerator or denominator before a fraction becomes a float


def too_large() -> Problem:
    """Return the problem of a result that nobody could read."""
    return Problem(f"the result is too large: it would have more than {MOST_DIGITS:,} digits")


def checked(value: Fraction) -> Fraction:
    """Return the value unless it is too large."""
    if value.numerator.bit_length() - value.denominator.bit_length() > MOST_DIGITS * math.log2(10):
        raise too_large()
    return value


def _settled(value: Fraction) -> Number:
    """Return the fraction, or a float once the fraction is longer than anybody wants to read."""
    checked(value)
    if value.denominator.bit_length() > MOST_BITS:
        return _float(value)
    return value


def _float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Problem("a number is too large for this function; at most about 1.8e308 is possible") from None


def finite(value: float) -> float:
    """Return the value unless it is infinite or not a number."""
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
    return finite(inexact(_float(left), _float(right)))


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
        raise too_large() if magnitude > 0 else Problem("the result is too close to zero to be written")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * absolute(exponent)
        if exponent.denominator == 1 and bits <= MOST_BITS:
            return checked(Fraction(base**exponent.numerator))
        if exponent == Fraction(1, 2):
            return _root(base)
    try:
        return finite(_float(base) ** _float(exponent))
    except OverflowError:
        raise too_large() from None


def _log10(value: Number) -> float:
    if isinstance(value, Fraction):
        return math.log10(value.numerator) - math.log10(value.denominator)
    return math.log10(value)


def factorial(value: Number) -> Fraction:
    """Return the product of the whole numbers up to `value`."""
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
    return lambda value: round(finite(function(_float(value))), 15)


def _whole_numbers(function: Callable[..., int]) -> Callable[..., Number]:
    def apply_to_whole(*values: Number) -> Number:
        if any(value != math.floor(value) for value in values):
            raise Problem("gcd and lcm need whole numbers")
        return checked(Fraction(function(*map(int, values))))

    return apply_to_whole


def _total(*values: Number) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = add(total, value)
    return total


def _median(*values: Number) -> Number:
    from statistics import median  # slow to import, and few ask for one

    return median(values)  # type: ignore[type-var]


def _mean(*values: Number) -> Number:
    return divide(_total(*values), Fraction(len(values)))


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": _root,
    "cbrt": _cube_root,
    "abs": absolute,
    "round": _round,
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "factorial": factorial,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "sum": _total,
    "mean": _mean,
    "average": _mean,
    "avg": _mean,
    "median": _median,
    "gcd": _whole_numbers(math.gcd),
    "lcm": _whole_numbers(math.lcm),
    "ln": lambda value: _logarithm(value, math.e),
    "log": _logarithm,
    "log10": lambda value: _logarithm(value),
    "log2": lambda value: _logarithm(value, Fraction(2)),
    "exp": lambda value: finite(math.exp(_float(value))),
    "sin": _trigonometric(math.sin),
    "cos": _trigonometric(math.cos),
    "tan": _trigonometric(math.tan),
    "asin": _trigonometric(math.asin),
    "acos": _trigonometric(math.acos),
    "atan": _trigonometric(math.atan),
    "hypot": lambda *values: finite(math.hypot(*map(_float, values))),
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
        raise too_large() from None


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
