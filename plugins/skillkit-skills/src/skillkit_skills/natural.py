"""Text as the reader gives it, turned into the type that a key or an argument wants."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["natural"]

_WORDS = {"true": True, "false": False, "null": None, "~": None}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_LONGEST = 300
_FLOAT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")


def natural(value: Any) -> Any:
    """JSON values for free-form data (``output_schema``, ``limits``, defaults of type json).

    The reader keeps every scalar as text; here ``5`` becomes a number and ``true`` a boolean again, as in JSON. A number of
    more than 300 digits stays text.
    """
    if isinstance(value, str):
        if value in _WORDS:
            return _WORDS[value]
        if len(value) > _LONGEST:  # Python refuses to read such a number, and JSON has no infinity
            return value
        if _INT.match(value):
            return int(value)
        return float(value) if _FLOAT.match(value) else value
    if isinstance(value, dict):
        return {k: natural(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [natural(v) for v in value]
    return value
