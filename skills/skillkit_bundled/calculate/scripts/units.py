"""Unit conversion: what people write for units, given to the units library."""

from __future__ import annotations

import re
from functools import cache

from arithmetic import evaluate, plain
from command import Problem, Result
from operations import as_json, finite, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pint import Unit, UnitRegistry

UNIT = r"(?:(?!\d)[^\s\d+=:;,?!()<>'\"\\](?:[^+=:;,?!()<>'\"\\]*[^\s+=:;,?!()<>'\"\\])?)"
MIXED = r"\d+\s+\d+\s*/\s*\d+"
DECIMAL = r"[-−+]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?:\s*/\s*\d+)?"
AMOUNT = rf"(?:{MIXED}|{DECIMAL}|\ban?\b|\bone\b|\bhalf an?\b)"
LETTERS = r"(?!\d)[^\s\d,](?:(?!\band\s+\d)[^,\d]|(?<=[a-z])[23](?!\d)|\^[23]|\*\*[23])*"
PART = rf"\s*(?:and\s+|,\s*)?(?P<amount>{AMOUNT})\s*(?P<unit>{LETTERS})"
LINK = re.compile(r"\b(?:to|in|into|as)\b|->|→|=", re.I)
TARGET = rf"(?:to|in|into|as|->|→|=>?)\s*(?P<unit>{UNIT}(?:\^?[23])?)$"
QUESTION = rf"^how many\s+(?P<unit>{UNIT})\s+(?:in|make|equal|are|is)\s+(?P<amount>.+)$"
CURRENCY = r"[$€£¥]|usd|eur|gbp|jpy|chf|cny|inr|btc|(?:dollar|euro|rupee|bitcoin)s?|yen|yuan"

# What people write, where the library means something else ("mb" is a millibar, "C" a coulomb) or nothing.
SPELLING = {
    "f": "degF", "°f": "degF", "fahrenheit": "degF", "degf": "degF", "degrees fahrenheit": "degF",
    "c": "degC", "°c": "degC", "celsius": "degC", "centigrade": "degC", "degc": "degC", "degrees celsius": "degC",
    "degree celsius": "degC", "degree fahrenheit": "degF", "degrees c": "degC", "degrees f": "degF", "k": "kelvin",
    "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte", "tb": "terabyte", "pb": "petabyte",
    "kib": "kibibyte", "mib": "mebibyte", "gib": "gibibyte", "tib": "tebibyte",
    "mph": "mile/hour", "kph": "kilometer/hour", "kmh": "kilometer/hour", "km/h": "kilometer/hour",
    "kmph": "kilometer/hour",
    "fps": "foot/second", "mpg": "mile/gallon", "sqft": "foot**2", "sqm": "meter**2", "sqkm": "kilometer**2",
    "lbs": "pound", "lb": "pound", "oz": "ounce", "ozs": "ounce", "st": "stone",
    "tonnes": "metric_ton", "tonne": "metric_ton",
    "fl oz": "fluid_ounce", "floz": "fluid_ounce", "l": "liter", "ml": "milliliter", "cl": "centiliter",
    "dl": "deciliter",
    "tbsp": "tablespoon", "tsp": "teaspoon", "hrs": "hour", "hr": "hour", "h": "hour",
    "mins": "minute", "secs": "second",
    "sec": "second", "wk": "week", "wks": "week", "yr": "year", "yrs": "year", "nmi": "nautical_mile",
    "kcal": "kilocalorie", "calories": "calorie", "kwh": "kilowatt_hour", "psi": "psi", "°": "degree",
    '"': "inch", "'": "foot", "in": "inch", "ins": "inch", "yd": "yard", "yds": "yard",
}  # fmt: skip
SAFE = r"[A-Za-zµμΩ°Å_]+(?:\*\*-?[1-9])?(?:[*/][A-Za-zµμΩ°Å_]+(?:\*\*-?[1-9])?)*"


def conversion(text: str) -> tuple[str, str] | None:
    """Return the amount and the wanted unit if `text` asks for a conversion, else None; the library is not loaded."""
    question = re.match(QUESTION, text, re.I) if text[:8].lower() == "how many" else None
    if question and _parts(question["amount"]):
        wanted = re.sub(r"(?:\s+(?:are|is|there|do|does))+$", "", question["unit"], flags=re.I)
        return question["amount"].strip(), wanted
    for start in reversed([match.start() for match in LINK.finditer(text)]):
        target = re.match(TARGET, text[start:], re.I)
        amount = re.sub(r"^(?:convert|change|turn|express)\s+", "", text[:start].strip(), flags=re.I)
        if target and _parts(amount):
            return amount, target["unit"].strip()
    return None


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the amounts and units of "5 ft 3 in", or nothing if the text is anything else."""
    parts, at = [], 0
    while at < len(text):
        found = re.compile(PART, re.I).match(text, at)
        if found is None:
            return []
        parts.append((found["amount"], found["unit"].strip()))
        at = found.end()
    return parts


def convert(amount: str, wanted: str) -> Result:
    """Return the amount in the wanted unit; raises `Problem` for units unknown or of different kinds."""
    import pint

    target = _unit(wanted)
    parts = _parts(amount)
    total = None
    try:
        for number, name in parts:
            part = _registry().Quantity(_number(number), _unit(name)).to(target)
            total = part if total is None else total + part
        if len(parts) > 1 and target.dimensionality == {"[temperature]": 1}:
            raise Problem("temperatures cannot be added; give one of them")
    except pint.DimensionalityError as error:
        raise Problem(f"cannot convert {error.units1} to {error.units2}: they measure different things") from None
    except (pint.PintError, ArithmeticError, ValueError) as error:
        raise Problem(f"cannot convert {amount} to {wanted}: {error}") from None
    assert total is not None
    value = finite(float(total.magnitude))
    rounded = float(f"{value:.10g}")
    shown = written(rounded)[0]
    sign = "=" if rounded == value or abs(rounded - value) <= 1e-12 * abs(value) else "≈"
    return {"answer": f"{amount} {sign} {shown} {wanted}", "value": rounded, "unit": str(target), "kind": "conversion"}


def _number(text: str) -> float:
    """Return the number of an amount; "3 1/2" is three and a half."""
    words = {"a": "1", "an": "1", "one": "1", "half a": "1/2", "half an": "1/2"}
    mixed = re.sub(r"^(\d+)\s+(\d+\s*/\s*\d+)$", r"\1 + \2", text)
    return float(as_json(plain(evaluate(words.get(text.lower(), mixed)))))


@cache
def _registry() -> UnitRegistry[float]:
    import pint

    return pint.UnitRegistry()


def _unit(text: str) -> Unit:
    """Return the library's unit for what a person wrote."""
    if re.fullmatch(CURRENCY, text, re.I):
        raise Problem(f"{text} is a currency; exchange rates change every day and are not known here")
    for name in _spellings(text):
        if re.fullmatch(SAFE, name):
            try:
                return _registry().Unit(name)
            except Exception:  # noqa: BLE001, S112 - the library raises its own, TypeError and ValueError alike
                continue
    raise Problem(
        f"unknown unit {text!r}; write for example km, miles, kg, pounds, litres, celsius, km/h or square feet"
    )


def _spellings(text: str) -> list[str]:
    """Return the library's possible names for `text`, the most likely first."""
    text = " ".join(text.split()).rstrip(".")
    whole = SPELLING.get(text.lower())
    if whole:
        return [whole]
    text = re.sub(r"\s*(?:/|\bper\b)\s*", "/", text, flags=re.I)
    return ["/".join(_factor(part, lower) for part in text.split("/")) for lower in (False, True)]


def _factor(text: str, lower: bool) -> str:
    text = text.lower() if lower else text
    text = re.sub(r"\^", "**", text)
    text = re.sub(r"^(?:square|sq\.?)\s+(.+)$", r"\1**2", text, flags=re.I)
    text = re.sub(r"^(?:cubic|cu\.?)\s+(.+)$", r"\1**3", text, flags=re.I)
    text = re.sub(r"^(.+)\s+squared$", r"\1**2", text, flags=re.I)
    text = re.sub(r"^(.+)\s+cubed$", r"\1**3", text, flags=re.I)
    text = re.sub(r"²$|(?<=[A-Za-z])2$", "**2", text)
    text = re.sub(r"³$|(?<=[A-Za-z])3$", "**3", text)
    name, power, exponent = text.partition("**")
    name = SPELLING.get(name.lower(), name)
    return name.strip().replace(" ", "_") + power + exponent
