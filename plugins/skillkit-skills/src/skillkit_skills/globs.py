"""Path patterns with ``**`` (any number of folders), ``*`` and ``?`` (inside one name)."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["matches"]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + "(?:[^/]+/)*", i + 3
        elif pattern.startswith("**", i):
            out, i = out + ".*", i + 2
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(pattern[i], re.escape(pattern[i]))
            i += 1
    return re.compile(out + r"\Z", re.S)


def matches(pattern: str, path: str) -> bool:
    """Whether ``path``, with forward slashes, matches all of ``pattern``."""
    return _compiled(pattern).match(path) is not None
