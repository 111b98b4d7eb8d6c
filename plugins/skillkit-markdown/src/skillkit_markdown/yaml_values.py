"""What YAML text gives: every scalar is text, so that ``1.10``, ``no`` and ``2026-01-01`` keep their spelling.

Nothing here imports YAML, so that front matter which is kept in a cache needs none.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["Parsed", "TextYAMLError", "flag", "natural"]

_WORDS = {"true": True, "false": False, "null": None, "~": None}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_LONGEST = 300
_FLOAT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")


class TextYAMLError(ValueError):
    """The text is not YAML that we accept; ``line`` counts from 1 inside the text, 0 when unknown: of a bracket or quote
    that is not closed the line on which it opens.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Parsed:
    """A parsed text: ``value`` (str, None, list, dict), keys given twice, keys left out, and whether there were aliases."""

    __slots__ = ("aliases", "dropped", "duplicates", "seen", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.duplicates: list[str] = []
        self.dropped: dict[str, str] = {}
        self.aliases = False
        self.seen: set[int] | None = None


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


_TRUE = frozenset(("true", "yes", "on", "1"))
_FALSE = frozenset(("false", "no", "off", "0"))


def flag(value: Any, default: bool) -> bool:
    """Return what a boolean word in any case says; anything else means ``default``."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else default
