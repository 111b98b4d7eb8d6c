"""Units: pint knows them, and its factors are exact."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

if TYPE_CHECKING:
    from .exact import Number

__all__ = ["convert"]

_POWERS = str.maketrans({"²": "^2", "³": "^3", "·": "*", "μ": "µ"})
_WORD = r"[^\W\d_]*°?[^\W\d]+(?:\s*(?:\^|\*\*)\s*-?\d)?"
_UNIT = re.compile(rf"(?:1\s*/\s*)?{_WORD}(?:\s*[*/]\s*{_WORD}|\s+{_WORD})*")


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(non_int_type=Fraction)


def convert(value: Number, source: str, target: str) -> Number:
    """Return a value in another unit.

    Raises:
        ToolError: a unit is not known, or the units measure different things.
    """
    import pint

    units, number = _registry(), Fraction(value)
    try:
        found = units.Quantity(number, _unit(source)).to(_unit(target)).magnitude
    except pint.DimensionalityError as error:
        what = " and ".join(str(one) for one in (error.dim1, error.dim2) if one).strip()
        raise ToolError(f"{source} cannot be converted to {target}: they measure different things: {what}") from None
    except (pint.PintError, AttributeError, ValueError, TypeError, ArithmeticError) as error:
        raise ToolError(f"{source} to {target}: {' '.join(str(error).split())[:200]}") from None
    if isinstance(found, float) and not math.isfinite(found):
        raise ToolError(f"{source} to {target}: the value is too large")
    result: Number = found if isinstance(found, float) else Fraction(found)
    return float(result) if isinstance(value, float) else result


def _unit(text: str) -> Any:
    plain = re.sub(r"\bper\b", "/", text.strip().translate(_POWERS))
    if not _UNIT.fullmatch(plain):
        raise ToolError(f"{text!r} is no unit: write km/h, m^2, degC")
    return _registry().Unit(plain)
