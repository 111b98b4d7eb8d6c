"""The calculator agrees with Python, reads what people write, and refuses what would blow up."""

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

SCRIPT = Path(__file__).parents[1] / "skillkit_bundled" / "calculate" / "scripts" / "calculate.py"


def manifest():
    """Return the skill's own block of its frontmatter."""
    frontmatter = (SCRIPT.parents[1] / "SKILL.md").read_text(encoding="utf-8").split("---\n")[1]
    return yaml.safe_load(frontmatter)["metadata"]["skillkit"]


def trees(operators):
    """Expressions as text, beside the value that Python gives them."""

    def joined(children):
        return st.tuples(children, st.sampled_from(operators), children).map(
            lambda parts: (f"({parts[0][0]}) {parts[1][0]} ({parts[2][0]})", parts[1][1](parts[0][1], parts[2][1]))
        )

    leaves = st.decimals(min_value=0, max_value=10**6, places=3).map(lambda number: (f"{number:f}", Fraction(number)))
    return st.recursive(
        leaves | st.integers(0, 10**12).map(lambda number: (str(number), Fraction(number))), joined, max_leaves=12
    )


EXACT = [
    ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b), ("plus", lambda a, b: a + b),
    ("times", lambda a, b: a * b), ("minus", lambda a, b: a - b),
]  # fmt: skip


@given(trees(EXACT))
def test_arithmetic_is_exact(load, tree):
    arithmetic, calculate = load("calculate", "arithmetic"), load("calculate", "calculate")
    text, value = tree
    assert arithmetic.plain(arithmetic.evaluate(calculate._symbols(text))) == value


@given(st.fractions(), st.fractions().filter(bool))
def test_division_floor_division_and_remainder_are_pythons(load, a, b):
    arithmetic = load("calculate", "arithmetic")
    left, right = f"({a.numerator}/{a.denominator})", f"({b.numerator}/{b.denominator})"
    assert arithmetic.evaluate(f"{left} / {right}") == a / b
    assert arithmetic.evaluate(f"{left} // {right}") == a // b
    assert arithmetic.evaluate(f"{left} % {right}") == a % b


@given(st.integers(-50, 50).filter(bool), st.integers(-60, 60))
def test_whole_powers_are_exact(load, base, exponent):
    assert load("calculate", "arithmetic").evaluate(f"({base}) ** ({exponent})") == Fraction(base) ** exponent


@given(st.floats(0.001, 1000), st.floats(-20, 20))
def test_other_powers_are_those_of_floats(load, base, exponent):
    arithmetic = load("calculate", "arithmetic")
    found = arithmetic.plain(arithmetic.evaluate(f"({base:f}) ** ({exponent:f})"))
    assert math.isclose(found, float(f"{base:f}") ** float(f"{exponent:f}"), rel_tol=1e-9)


@given(st.decimals(0, 10**6, places=2), st.decimals(0, 10**6, places=2))
def test_percentages_are_exact(load, share, base):
    arithmetic = load("calculate", "arithmetic")
    expected = Fraction(share) * Fraction(base) / 100
    assert arithmetic.evaluate(f"{share:f}% of {base:f}") == expected
    assert arithmetic.evaluate(f"{base:f} + {share:f}%") == Fraction(base) + expected
    assert arithmetic.evaluate(f"{share:f}% off {base:f}") == Fraction(base) - expected


@given(st.text(max_size=60) | st.text("0123456789+-*/^%!().e x", max_size=40))
def test_no_text_does_anything_but_a_result_or_a_problem(load, text):
    calculate, command = load("calculate", "calculate"), load("calculate", "command")
    try:
        result = calculate.calculate({"expression": text})
    except Exception as problem:
        assert type(problem).__name__ == command.Problem.__name__, repr(problem)
    else:
        json.dumps(result, allow_nan=False)


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("what is 15% of 80?", 12),
        ("What's 20 percent of 45 plus 3", 12),
        ("20% tip on $45.50", 9.1),
        ("12 is what percent of 80", 15),
        ("what percent of 80 is 12?", 15),
        ("percentage change from 80 to 92", 15),
        ("increase 80 by 15%", 92),
        ("80 - 15%", 68),
        ("please calculate 1,234.50 * 2", 2469),
        ("square root of 144", 12),
        ("5 factorial", 120),
        ("3!", 6),
        ("17 % 5", 2),
        ("2 1/2 + 1", 3.5),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("2(3+4)", 14),
        ("average of 3, 4 and 8", 5),
        ("twenty-one times two", 42),
        ("max(1,200)", 200),
        ("0.1 + 0.2", 0.3),
        ("255 in hex", 255),
        ("sin(30 degrees)", 0.5),
        ("round(2.675, 2)", 2.68),
        ("2^100", 2**100),
        ("1300!", math.factorial(1300)),
    ],
)
def test_plain_words_are_understood(workspace, asked, value):
    assert workspace.result("calculate", "evaluate", expression=asked)["value"] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("convert 5 miles to km", 8.04672),
        ("how many km are in 5 miles?", 8.04672),
        ("5 ft 3 in to cm", 160.02),
        ("72 fahrenheit in celsius", 22.22222222),
        ("100 C to F", 212),
        ("60 mph in km/h", 96.56064),
        ("10 cm in in", 3.937007874),
        ("200 square feet in m2", 18.580608),
        ("500 MB to GB", 0.5),
        ("1/2 cup to ml", 118.2941182),
        ("what is 3 1/2 cups in ml", 828.0588278),
        ("-40 C to F", -40),
        ("5'3\" to cm", 160.02),
        ("5 square miles to km2", 12.94994055),
        ("how many seconds in a day", 86400),
    ],
)
def test_units_are_converted(workspace, asked, value):
    result = workspace.result("calculate", "evaluate", expression=asked)
    assert result["kind"] == "conversion"
    assert result["value"] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("asked", manifest()["examples"])
def test_every_example_is_answered(workspace, asked):
    workspace.result("calculate", "evaluate", expression=asked)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("9**9**9", "too large"),
        ("9^9^9^9", "too large"),
        ("(10**4000)**4000", "too large"),
        ("1e99999", "too large"),
        ("99999999!", "too large"),
        ("3!!!!!", "too large"),
        ("exp(exp(exp(9)))", "too large"),
        ("(" * 5000, "too long"),
        ("(" * 500, "nested"),
        ("-" * 1500 + "1", "nested"),
        ("1/0", "division by zero"),
        ("5 mod 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("sqrt(-4)", "square root"),
        ("log(0)", "logarithm"),
        ("asin(2)", "no result"),
        ("sqrt(1, 2)", "does not take 2"),
        ("2 +", "ends where"),
        ("(1 + 2", ")"),
        ("", "nothing to calculate"),
        ("what is", "nothing to calculate"),
        ("-rf", "rf"),
        ("; rm -rf ~", "do not understand"),
        ("__import__('os').system('id')", "do not understand"),
        ("line\nbreak", "line"),
        ("5 km to kg", "different things"),
        ("100 usd to eur", "currency"),
        ("5 blorps to km", "blorps"),
        ("10 C 5 F to K", "temperatures cannot be added"),
        ("1e400 km to m", "too large"),
        ("1e308 km to mm", "too large"),
        ("\x1b[2J", "do not understand"),
    ],
)
def test_what_has_no_answer_gets_one_clear_line(workspace, asked, part):
    assert part in workspace.problem("calculate", "evaluate", expression=asked)


def test_the_answer_is_for_people(workspace):
    assert workspace.result("calculate", "evaluate", expression="what is 15% of 80?")["answer"] == "15% of 80 = 12"
    third = workspace.result("calculate", "evaluate", expression="1/3")
    assert (third["answer"], third["exact"], third["fraction"]) == ("1/3 ≈ 0.333333333333", False, "1/3")


def test_arithmetic_does_not_load_the_units_library():
    code = (
        "import runpy, sys; sys.argv[1:] = ['2 + 2']\n"
        f"try: runpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print('pint' in sys.modules)"
    )
    environment = {"PYTHONPATH": str(SCRIPT.parent)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_arguments_that_are_missing_or_unknown_are_named():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "missing argument: expression\n")
    done = subprocess.run([sys.executable, str(SCRIPT), "1", "--x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "unknown argument" in done.stderr
