"""A look at YAML before the C parser gets it: it calls itself for every level and dies of tens of thousands."""

from __future__ import annotations

import re

__all__ = ["DEEPEST", "nested_too_deeply"]

DEEPEST = 1_000
_BRACKET = re.compile(r"[\[\]{}]")
_COMPACT = re.compile(rf"(?:[-?:][ \t]+){{{DEEPEST // 4}}}")


def nested_too_deeply(text: str) -> bool:
    """Whether ``text`` could be nested deeper than :data:`DEEPEST` levels, by brackets or by ``- - -`` on one line.

    Levels by indentation need a line each of growing length; the sizes that are read do not hold enough of them.
    """
    if text.count("[") + text.count("{") > DEEPEST:
        depth = 0
        for bracket in _BRACKET.finditer(text):
            if bracket[0] in "[{":
                depth += 1
                if depth > DEEPEST:
                    return True
            elif depth:
                depth -= 1
    return text.count("- ") + text.count("? ") > DEEPEST // 4 and _COMPACT.search(text) is not None
