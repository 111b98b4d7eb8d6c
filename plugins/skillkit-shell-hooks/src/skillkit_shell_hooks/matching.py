"""Which hooks an event calls: matchers, and ``if``, a rule of permissions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = ["fits", "matcher_problem"]

_NAMES = re.compile(r"[A-Za-z0-9_\-,| ]*\Z")
_SECONDS = 0.2  # of one expression


def fits(matcher: str, values: Iterable[str]) -> bool:
    """Return whether a matcher is about one of these names of the same thing.

    Empty and ``*`` mean all. Letters, digits, ``_ - , |`` and spaces are names that compare whole. Anything else is a regular
    expression that is looked for anywhere. One that cannot be read, or takes too long, fits: no guard is lost in silence.
    """
    matcher = matcher.strip()
    if matcher in ("", "*"):
        return True
    values = list(values)
    if _NAMES.match(matcher):
        names = {name.strip() for name in re.split(r"[|,]", matcher)}
        return any(value in names for value in values)
    expression = _compiled(matcher)
    if isinstance(expression, str):
        return True
    try:
        return any(expression.search(value, timeout=_SECONDS) is not None for value in values)
    except TimeoutError:
        return True


def matcher_problem(matcher: str) -> str:
    """Return why a matcher cannot be read; empty: it can."""
    if matcher.strip() == "*" or _NAMES.match(matcher.strip()):
        return ""
    found = _compiled(matcher.strip())
    return found if isinstance(found, str) else ""


@lru_cache(maxsize=512)
def _compiled(matcher: str) -> Any:
    """Return the expression, or why there is none."""
    import regex

    try:
        return regex.compile(matcher)
    except regex.error as error:
        return f"the matcher {matcher!r} is no regular expression ({error}), so it fits everything"
