"""Values: text that a request states for an argument becomes a value of the argument's type, or says why it cannot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .request import visible
from .words import normal, stem

if TYPE_CHECKING:
    from .descriptors import Argument

__all__ = ["IllTyped", "typed"]

_NUMBER = re.compile(r"[-+]?(?=\.?\d)(?:\d{1,3}(?:,\d{3})+|\d{1,300})?(?:\.\d{1,300})?%?")
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class IllTyped(ValueError):
    """The stated text is no value of the argument; the message says what is wanted."""


def typed(argument: Argument, value: Any) -> Any:
    """``value`` (text, a number, or a list of texts) as a value of the argument's type.

    Raises:
        IllTyped: it is none.
    """
    if argument.enum:
        text = normal(str(value)).strip()
        same = [m for m in argument.enum if text == normal(str(m))]
        same += [m for m in argument.enum if isinstance(m, str) and stem(text) == stem(normal(m))]
        if not same:
            wanted = ", ".join(str(e) for e in argument.enum)
            raise IllTyped(f"{argument.name} must be one of {wanted}, not {visible(str(value), 60)!r}")
        return same[0]
    kind = argument.type
    if kind in ("integer", "number"):
        return _bounded(argument, _number(argument, value))
    if kind == "boolean":
        known = _BOOLEANS.get(normal(str(value)).strip())
        if known is None:
            raise IllTyped(f"{argument.name} must be true or false, not {visible(str(value), 60)!r}")
        return known
    if kind == "array":
        parts = str(value).split(",") if isinstance(value, str) or not isinstance(value, Sequence) else map(str, value)
        return [part.strip() for part in parts if part.strip()]
    if kind == "json":
        return _json(argument, value)
    if kind in ("string", "file"):
        return str(value)
    raise IllTyped(f"{argument.name} is of the unknown type {visible(kind, 30)!r}")


def _number(argument: Argument, value: Any) -> int | float:
    text = str(value).strip()
    if isinstance(value, str) and _NUMBER.fullmatch(text):
        plain = text.rstrip("%").replace(",", "")
        value = float(plain) if "." in plain or "%" in text else int(plain)
    if isinstance(value, bool) or not isinstance(value, (int, float) if argument.type == "number" else int):
        wanted = "a whole number" if argument.type == "integer" else "a number"
        raise IllTyped(f"{argument.name} must be {wanted}, not {visible(text, 60)!r}")
    return int(value) if isinstance(value, int) else float(value)


def _bounded(argument: Argument, value: int | float) -> int | float:
    low, high = argument.minimum, argument.maximum
    if (low is not None and value < low) or (high is not None and value > high) or not math.isfinite(value):
        bound = f"at least {low:g}" if low is not None and value < low else f"at most {high or math.inf:g}"
        raise IllTyped(f"{argument.name} must be {bound}, not {visible(str(value), 40)}")
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
