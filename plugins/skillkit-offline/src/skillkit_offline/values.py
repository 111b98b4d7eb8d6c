"""Values: text that a request states for an argument becomes a value of the argument's type, or says why it cannot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from .descriptors import Argument
from .request import visible
from .words import normal, stem

__all__ = ["IllTyped", "enum_member", "typed"]

_INTEGER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,300})")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,300})?(?:\.\d{1,300})?%?")
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class IllTyped(ValueError):
    """The stated text is no value of the argument; the message says what is wanted."""


def typed(argument: Argument, value: Any) -> Any:
    """``value`` (text, a number, or a list of texts) as a value of the argument's type.

    Raises:
        IllTyped: it is none.
    """
    if argument.enum:
        member = enum_member(argument, value)
        if member is None:
            wanted = ", ".join(str(e) for e in argument.enum)
            raise IllTyped(f"{argument.name} must be one of {wanted}, not {visible(str(value), 60)!r}")
        return member
    kind = argument.type
    if kind == "integer":
        return _bounded(argument, _integer(argument, value))
    if kind == "number":
        return _bounded(argument, _number(argument, value))
    if kind == "boolean":
        if isinstance(value, bool):
            return value
        known = _BOOLEANS.get(normal(str(value)).strip())
        if known is None:
            raise IllTyped(f"{argument.name} must be true or false, not {visible(str(value), 60)!r}")
        return known
    if kind == "array":
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [str(v) for v in value]
        return [part.strip() for part in str(value).split(",") if part.strip()]
    if kind == "json":
        return _json(argument, value)
    if kind in ("string", "file"):
        return str(value)
    raise IllTyped(f"{argument.name} is of the unknown type {visible(kind, 30)!r}")


def enum_member(argument: Argument, value: Any) -> Any:
    """The allowed value that the text means, in the allowed spelling, or ``None``."""
    text = normal(str(value)).strip()
    for member in argument.enum:
        if text == normal(str(member)):
            return member
    for member in argument.enum:
        if isinstance(member, str) and stem(text) == stem(normal(member)):
            return member
    return None


def _integer(argument: Argument, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value.strip().replace(",", ""))
    raise IllTyped(f"{argument.name} must be a whole number, not {visible(str(value), 60)!r}")


def _number(argument: Argument, value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    if text.strip("+-%") and _NUMBER.fullmatch(text):
        plain = text.rstrip("%").replace(",", "")
        number = float(plain) if "." in plain else int(plain)
        if math.isfinite(number):
            return number
    raise IllTyped(f"{argument.name} must be a number, not {visible(text, 60)!r}")


def _bounded(argument: Argument, value: int | float) -> int | float:
    if argument.minimum is not None and value < argument.minimum:
        raise IllTyped(f"{argument.name} must be at least {argument.minimum:g}, not {visible(str(value), 40)}")
    if argument.maximum is not None and value > argument.maximum:
        raise IllTyped(f"{argument.name} must be at most {argument.maximum:g}, not {visible(str(value), 40)}")
    return value


def _json(argument: Argument, value: Any) -> Any:
    if not isinstance(value, str):
        return value

    def refuse(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(value, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise IllTyped(f"{argument.name} must be JSON, not {visible(value, 60)!r}") from None
