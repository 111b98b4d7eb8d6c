"""Expressions over exact numbers: whole numbers, decimals and fractions stay what they are until a function has no exact value.

simpleeval reads the expression and knows what an expression may contain; the numbers and the functions are here.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeAlias

from simpleeval import (  # type: ignore[import-untyped]
    FunctionNotDefined,
    InvalidExpression,
    NameNotDefined,
    OperatorNotDefined,
    SimpleEval,
)

from skillkit_core import ToolError

__all__ = ["Number", "evaluate", "evaluate_formula", "written"]

Number: TypeAlias = Fraction | float | bool

_MOST_BITS = 13_000  # of a numerator or a denominator: about 3,900 digits
_MOST_FACTORIAL = 1_000
_SPELLED = {"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "π": "pi", "τ": "tau", "√": "sqrt"}
_PERCENT = re.compile(r"%\s*of\b", re.IGNORECASE)
_ASSIGNED = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")


def evaluate(text: str, names: Mapping[str, Number] | None = None) -> Number:
    """Return the value of an expression.

    Raises:
        ToolError: it is none, has no value, or is too large to calculate.
    """
    plain = _PERCENT.sub("/100*", " ".join(text.split()))
    if ";" in plain:
        raise ToolError("this is no expression that can be calculated: give one expression")
    for sign, word in _SPELLED.items():
        plain = plain.replace(sign, word)
    try:
        found = _Exact(names or {}).eval(plain)
    except NameNotDefined as error:
        raise ToolError(f"the expression names {error.name!r}, whose value is not known") from None
    except FunctionNotDefined as error:
        known = ", ".join(sorted(_FUNCTIONS))
        raise ToolError(f"there is no function {error.func_name!r}; there are: {known}") from None
    except ZeroDivisionError:
        raise ToolError("the expression divides by zero") from None
    except (OperatorNotDefined, InvalidExpression, SyntaxError, TypeError, AttributeError, KeyError) as error:
        raise ToolError(f"this is no expression that can be calculated: {_reason(error)}") from None
    except (OverflowError, MemoryError, RecursionError):
        raise ToolError("the expression is too large to calculate") from None
    except ValueError as error:
        raise ToolError(f"the expression has no value: {error}") from None
    return _checked(found)


def evaluate_formula(text: str, values: Mapping[str, Any]) -> tuple[str, Number]:
    """Return what a formula gives, and the name of that.

    Args:
        text: an expression with names, or ``NAME = expression``.
        values: a number or an expression for each name.
    """
    assigned = _ASSIGNED.match(text)
    name, expression = (assigned[1], text[assigned.end() :]) if assigned else (text.strip(), text)
    known = {key: evaluate(str(value)) for key, value in values.items()}
    return name, evaluate(expression, known)


def written(value: Number) -> str:
    """Return a number as people write it: a fraction without an end as both, the fraction and its decimal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"≈ {value:.15g}"
    if value.denominator == 1:
        return str(value.numerator)
    decimals = _decimals(value.denominator)
    if decimals is not None and decimals <= 30:
        digits = str(abs(value.numerator) * 10**decimals // value.denominator).rjust(decimals + 1, "0")
        return f"{'-' if value < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"
    return f"{value} ≈ {float(value):.15g}" if abs(value) < 1e300 else str(value)


def _decimals(denominator: int) -> int | None:
    """Return how many decimals a fraction has; ``None``: they never end."""
    counts = []
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator, count = denominator // prime, count + 1
        counts.append(count)
    return max(counts) if denominator == 1 else None


def _reason(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} at character {error.offset or 1}"
    return " ".join(str(getattr(error, "message", "") or error).split())[:200] or type(error).__name__


def _checked(value: Any) -> Number:
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ToolError("the expression has no finite value")
        return value
    if not isinstance(value, (Fraction, int)):
        raise ToolError("this is no expression that can be calculated: its value is no number")
    found = Fraction(value)
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > _MOST_BITS:
        raise ToolError("the expression is too large to calculate")
    return found


def _sized(calculate: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: _checked(calculate(*given))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits > 1 and abs(exponent.numerator) * bits > 2 * _MOST_BITS:
            raise OverflowError
        if base in (0, 1, -1) and exponent > 1:
            exponent = 2 - exponent % 2  # as even or odd as it was
        return base ** int(exponent)
    if exponent == Fraction(1, 2):
        return _sqrt(base)
    found = float(base) ** float(exponent)
    if isinstance(found, complex):
        raise ValueError("a root of a negative number")
    return found


def _sqrt(value: Any) -> Any:
    if value < 0:
        raise ValueError("a root of a negative number")
    exact = Fraction(value) if not isinstance(value, float) else None
    if exact is not None:
        above, below = math.isqrt(exact.numerator), math.isqrt(exact.denominator)
        if above * above == exact.numerator and below * below == exact.denominator:
            return Fraction(above, below)
    return math.sqrt(value)


def _whole(value: Any) -> int:
    if isinstance(value, float) or value.denominator != 1:
        raise ValueError("a whole number is needed")
    return int(value)


def _factorial(value: Any) -> Fraction:
    number = _whole(value)
    if number > _MOST_FACTORIAL:
        raise OverflowError
    return Fraction(math.factorial(number))


def _round(value: Any, digits: Any = Fraction(0)) -> Any:
    """Round a half away from zero, as people do."""
    if abs(places := _whole(digits)) > 1000:
        raise OverflowError
    step = Fraction(10) ** -places
    found = Fraction(math.floor(abs(Fraction(value)) / step + Fraction(1, 2))) * step
    return found if value >= 0 else -found


def _real(calculate: Callable[..., float]) -> Callable[..., float]:
    return lambda *given: calculate(*(float(one) for one in given))


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: _power, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Not: operator.not_,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "max": max, "min": min, "round": _round, "floor": math.floor, "ceil": math.ceil, "sqrt": _sqrt,
    "factorial": _factorial, "gcd": lambda *n: math.gcd(*map(_whole, n)), "lcm": lambda *n: math.lcm(*map(_whole, n)),
    "sum": lambda *n: sum(n, Fraction(0)), "mean": lambda *n: sum(n, Fraction(0)) / len(n),
    **{name: _real(getattr(math, name)) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10", "degrees",
        "radians", "hypot",
    )},
    "ln": _real(math.log),
}  # fmt: skip
_CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}


class _Exact(SimpleEval):  # type: ignore[misc]
    """An evaluator whose numbers are those that are written."""

    def __init__(self, names: Mapping[str, Number]) -> None:
        super().__init__(
            operators={kind: _sized(calculate) for kind, calculate in _OPERATORS.items()},
            functions={name: _sized(calculate) for name, calculate in _FUNCTIONS.items()},
            names={**_CONSTANTS, **names},
        )
        for kind in (ast.JoinedStr, ast.FormattedValue, ast.Attribute, ast.Subscript, ast.Assign, ast.AugAssign):
            self.nodes.pop(kind, None)
        self.nodes[ast.Constant] = self._number

    def _number(self, node: ast.Constant) -> Number:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise ToolError(f"this is no expression that can be calculated: {node.value!r} is no number")
        if isinstance(node.value, int):
            return _checked(node.value)
        text = (ast.get_source_segment(self.expr, node) or repr(node.value)).replace("_", "")
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal(repr(node.value))
        if not number.is_finite() or abs(number.adjusted()) > 3000:
            raise OverflowError
        return _checked(Fraction(number))
