"""Patterns of names: ``*``, ``**``, ``?``, ``[...]``, ``{a,b}`` and ``\\``, matched in linear time."""

from __future__ import annotations

from collections.abc import Callable

from .folder import FileError, shown
from .re2_engine import compile_regex, escape

__all__ = ["compile_glob", "fixed_part"]

_SPECIAL = frozenset("*?[{\\")
_MOST = 4_000  # characters of a pattern


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return a function that tells whether a path, with ``/`` between its parts, is matched as a whole.

    Raises:
        FileError: the pattern cannot be read.
    """
    if len(pattern) > _MOST:
        raise FileError("invalid", f"the pattern is longer than {_MOST} characters")
    regex = compile_regex(_regex(pattern))

    def matches(path: str) -> bool:
        return regex.fullmatch(path.encode("utf-8", "surrogateescape")) is not None

    return matches


def fixed_part(pattern: str) -> list[str]:
    """Return the folders that every match is in: the parts before the first special character."""
    parts = pattern.split("/")[:-1]
    return parts[: next((n for n, part in enumerate(parts) if _SPECIAL & set(part)), len(parts))]


def _regex(pattern: str) -> str:
    """Return the regular expression of a pattern."""
    out, at, depth = ["(?s)"], 0, 0
    while at < len(pattern):
        char = pattern[at]
        starts = at == 0 or pattern[at - 1] in "/{,"
        if pattern.startswith("**", at):
            end = at
            while end < len(pattern) and pattern[end] == "*":
                end += 1
            if starts and pattern[end : end + 1] == "/":
                out.append("(?:[^/]+/)*")
                end += 1
            elif starts and (end == len(pattern) or (depth and pattern[end] in ",}")):
                out.append(".*")
            else:
                out.append("[^/]*")
            at = end
            continue
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            text, at = _class(pattern, at)
            out.append(text)
            continue
        elif char == "{":
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            if char == "\\" and at + 1 < len(pattern):
                at += 1
                char = pattern[at]
            out.append(escape(char))
        at += 1
    if depth:
        raise FileError("invalid", f"the pattern {shown(pattern)} has an open {{; write \\{{ for the character itself")
    return "".join(out)


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Return the expression of the class that begins at ``at``, and where it ends."""
    first = at + 1
    negated = pattern[first : first + 1] in ("!", "^")
    first += negated
    end = pattern.find("]", first + 1)
    if end < 0:
        raise FileError(
            "invalid", f"the pattern {shown(pattern)} has an open [; write [[] or \\[ for the character itself"
        )
    inner = pattern[first:end].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^")
    return f"[^/{inner}]" if negated else f"[{inner}]", end + 1
