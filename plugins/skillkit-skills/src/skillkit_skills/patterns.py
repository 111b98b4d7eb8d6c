"""Patterns of action arguments, matched by RE2: its time grows with the text alone, whatever the pattern is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

__all__ = ["PatternError", "found", "pattern_problem"]

_MEMORY = 8 << 20


class PatternError(ValueError):
    """A pattern that cannot be used; the text says why."""


def found(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text.

    Raises:
        PatternError: RE2 cannot match it.
    """
    return _compiled(pattern).search(text) is not None


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern cannot be matched, or ``None``."""
    try:
        _compiled(pattern)
    except PatternError as error:
        return str(error)
    return None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # not imported for skills without patterns

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    # what Python writes as \Z is \z in RE2; an escaped backslash before the letter is none of it
    ours = re.sub(r"\\(.)", lambda m: r"\z" if m[1] == "Z" else m[0], pattern, flags=re.S)
    try:
        return re2.compile(ours, options=options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0] if error.args else b""
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise PatternError(
            f"the pattern {pattern!r} cannot be matched: {text}; look-around and backreferences cannot be used"
        ) from None
