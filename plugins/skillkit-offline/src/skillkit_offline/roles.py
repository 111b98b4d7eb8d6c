"""Roles: what an argument is for, read from its name, and the words by which a request states it."""

from __future__ import annotations

from dataclasses import dataclass

from .descriptors import Argument
from .words import stem, word_set

__all__ = ["Role", "is_file", "is_output", "role_of"]


@dataclass(frozen=True, slots=True)
class Role:
    """What an argument is for.

    Attributes:
        name: of the role.
        before: words (normalised) after which the value stands ("since", "top").
        after: words before which it stands ("levels").
    """

    name: str
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()


def _role(name: str, before: str = "", after: str = "") -> Role:
    return Role(name, frozenset(before.split()), frozenset(after.split()))


COUNT = _role("count", "top first last limit limited", "largest biggest smallest most newest oldest longest shortest")
SINCE = _role("since", "since after from starting")
UNTIL = _role("until", "until before till to up")
SORT = _role("sort", "by")
COLUMN = _role("column", "column columns field fields", "column columns field fields")
CONDITION = _role("condition", "where whose having with if")
DEPTH = _role("depth", "depth level levels", "deep level levels depth")
OUTPUT = _role("output", "to into as")
AUTHOR = _role("author", "by author")
PATTERN = _role(
    "pattern", "for containing contain contains mention mentions mentioning matching named called word phrase term"
)
LEAST = _role("least", "over above than least minimum min exceeding")
MOST = _role("most", "under below than most maximum max within")

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("limit", "top", "count", "n", "max-results", "number", "first", "head"), COUNT),
    **dict.fromkeys(("since", "after", "from", "start", "begin"), SINCE),
    **dict.fromkeys(("until", "before", "to", "end", "till"), UNTIL),
    **dict.fromkeys(("sort", "order", "sort-by", "order-by", "sorted-by", "sort-column"), SORT),
    **dict.fromkeys(("column", "columns", "field", "fields"), COLUMN),
    **dict.fromkeys(("where", "filter", "condition", "conditions"), CONDITION),
    **dict.fromkeys(("depth", "level", "levels", "max-depth", "max-level"), DEPTH),
    **dict.fromkeys(("output", "out", "dest", "destination", "target", "save-as", "output-file"), OUTPUT),
    **dict.fromkeys(("author", "committer"), AUTHOR),
    **dict.fromkeys(
        ("pattern", "query", "text", "term", "search", "phrase", "word", "name", "regex", "glob", "needle"), PATTERN
    ),
    **dict.fromkeys(("min", "minimum", "at-least", "min-size", "minimum-size", "min-bytes", "larger-than"), LEAST),
    **dict.fromkeys(("max", "maximum", "at-most", "max-size", "maximum-size"), MOST),
}
_FILES = frozenset(
    stem(word)
    for word in word_set(
        """file files path paths filename folder folders directory directories dir root repo repository document input source
        archive workspace"""
    )
)


def role_of(argument: Argument) -> Role:
    """The role of an argument; one without a general role answers to its own name only."""
    known = _ROLES.get("-".join(argument.words))
    return known or Role("")


def is_file(argument: Argument) -> bool:
    """Whether the argument is a file or directory: by its type, or as text by its name."""
    if argument.type == "file":
        return True
    by_name = bool(argument.words) and stem(argument.words[-1]) in _FILES
    return by_name and argument.type in ("string", "array") and not argument.enum


def is_output(argument: Argument) -> bool:
    """Whether the argument names a file that is written, so it need not be there."""
    return role_of(argument) is OUTPUT
