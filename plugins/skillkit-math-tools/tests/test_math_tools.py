"""The math tools, as a model calls them, and what holds for every number."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import pytest
import skillkit_math_tools.plugin
from hypothesis import given, settings, strategies as st
from skillkit_math_tools import convert, evaluate, evaluate_formula, written
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import ToolError


class TestConformance(ToolConformance):
    plugin = skillkit_math_tools.plugin
    calls: ClassVar = {
        "calculate_expression_tool": {"expression": "0.1 + 0.2"},
        "evaluate_formula_tool": {"formula": "F = m * a", "values": {"m": 2, "a": "9.81"}},
        "convert_units_tool": {"value": 100, "source": "degC", "target": "degF"},
    }


@pytest.fixture
def call(make_host, call_tools):
    return lambda *turns, **config: call_tools(make_host(skillkit_math_tools.plugin), *turns, **config)


@pytest.mark.smoke
def test_a_model_calculates_puts_values_into_a_formula_and_converts(call):
    told = call(
        ("calculate_expression_tool", {"expression": "15% of 80"}),
        ("evaluate_formula_tool", {"formula": "F = m * a", "values": {"m": 2.5, "a": "9.81"}}),
        ("convert_units_tool", {"value": "26.2", "source": "miles", "target": "km"}),
        ("convert_units_tool", {"value": 100, "source": "degC", "target": "degF"}),
        ("calculate_expression_tool", {"expression": "sqrt(2)"}),
    )
    assert [one.text for one in told] == [
        "15% of 80 = 12",
        "F = 24.525",
        "26.2 miles = 42.1648128 km",
        "100 degC = 212 degF",
        "sqrt(2) ≈ 1.4142135623731",
    ]
    assert told[1].details == {"exact": "24.525", "value": 24.525}


def test_what_no_tool_can_calculate_is_said_in_words_and_wrong_arguments_never_reach_one(call):
    empty, big, typed, unlike = call(
        ("calculate_expression_tool", {"expression": " "}),
        ("calculate_expression_tool", {"expression": "1" * 2001}),
        ("evaluate_formula_tool", {"formula": 3, "values": {}}),
        ("convert_units_tool", {"value": 1, "source": "kg", "target": "m"}),
    )
    assert all(one.is_error for one in (empty, big, typed, unlike))
    assert "expression" in empty.text and "expression" in big.text and "formula" in typed.text
    assert unlike.text.startswith("kg cannot be converted to m: they measure different things")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1 + 0.2", "0.3"), ("1/3", "1/3 ≈ 0.333333333333333"), ("2^3 + 1", "9"), ("-2^2", "-4"), ("2^-2", "0.25"),
        ("sqrt(9/4)", "1.5"), ("sqrt(2)", "≈ 1.4142135623731"), ("4 ** 0.5", "2"), ("10 // 3 + 10 % 3", "4"),
        ("round(2.5) + round(-2.5)", "0"), ("round(1.005, 2)", "1.01"), ("factorial(20)", "2432902008176640000"),
        ("max(1, 2.5) * 3 × 2", "15"), ("gcd(12, 18) + lcm(4, 6)", "18"), ("ln(e)", "≈ 1"), ("3 > 2", "true"),
        ("1.00000000000000000001 - 1", "0.00000000000000000001"), ("mean(1, 2, 4)", "7/3 ≈ 2.33333333333333"),
        ("(-1)^1001", "-1"),
        ("1_000 * 2", "2000"), ("1e3", "1000"), ("10^30", "1" + "0" * 30),
    ],
)  # fmt: skip
def test_numbers_stay_exact_as_long_as_they_can(text, value):
    assert written(evaluate(text)) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no expression"), ("2 +", "invalid syntax"), ("1/0", "divides by zero"), ("x + 1", "names 'x'"),
        ("frob(2)", "no function 'frob'"), ("'a' * 9", "no number"), ("9^9^9", "too large"), ("factorial(5000)", "too large"),
        ("sqrt(-1)", "negative"), ("(-8)^(1/3)", "negative"), ("().__class__", "no expression"), ("[1]", "no expression"),
        ("__import__('os')", "no function"), ("(lambda: 1)()", "no expression"), ("1e999999999", "too large"),
        ("1,000 * 2", "no expression"), ("(" * 300 + ")" * 300, "."), ("-" * 1900 + "1", "."), ("exp(1000)", "too large"),
        ("log(0)", "no value"), ("a = 2", "."), ("2 if 3 else", "invalid"), ("1; 2", "one expression"),
        ("sum(9, 'a')", "no number"), ("sqrt(1, 2, 3)", "no expression"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_value_is_refused_with_the_reason(text, told):
    with pytest.raises(ToolError, match=told):
        evaluate(text)


def test_a_formula_takes_numbers_and_expressions_and_names_what_is_missing():
    assert evaluate_formula("A = pi * r^2", {"r": 2})[0] == "A"
    assert evaluate_formula("a + b", {"a": "1/3", "b": "2/3"}) == ("a + b", 1)
    with pytest.raises(ToolError, match="names 'b'"):
        evaluate_formula("a + b", {"a": 1})


@pytest.mark.parametrize(
    ("value", "source", "target", "found"),
    [
        ("1", "ft²", "m^2", Fraction("0.09290304")), ("36", "km per hour", "m/s", 10), ("1", "kWh", "kJ", 3600),
        ("1", "GiB", "MB", Fraction("1073.741824")), ("-40", "fahrenheit", "celsius", -40), ("2", "1/s", "Hz", 2),
        ("1", "µm", "nm", 1000), ("1", "kg m / s^2", "N", 1),
    ],
)  # fmt: skip
def test_units_are_converted_exactly(value, source, target, found):
    assert convert(Fraction(value), source, target) == found


@pytest.mark.parametrize("unit", ["blorp", "9**9**9**9", "m^99999", "__class__", "", "m m^22"])
def test_what_is_no_unit_is_refused(unit):
    with pytest.raises(ToolError):
        convert(Fraction(1), unit, "m")


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9)


@settings(deadline=None)
@given(a=NUMBERS, b=NUMBERS)
def test_every_decimal_is_read_and_written_as_it_is(a, b):
    assert evaluate(f"({a:f}) * ({b:f}) - ({a:f})") == Fraction(a) * Fraction(b) - Fraction(a)
    assert Fraction(written(Fraction(a))) == Fraction(a)


@settings(deadline=None)
@given(value=NUMBERS)
def test_a_way_there_and_back_changes_nothing(value):
    assert convert(convert(Fraction(value), "mile", "m"), "m", "mile") == Fraction(value)
