"""RE2, an engine whose time grows with the text alone: the one module that imports it, and gives it types."""

from __future__ import annotations

from typing import Protocol, cast

import re2  # type: ignore[import-untyped]

from .folder import FileError

__all__ = ["Regex", "compile_regex", "escape"]

_MEMORY = 64 << 20


class Match(Protocol):
    """A match."""

    def span(self) -> tuple[int, int]:
        """Return where it begins and ends, in bytes."""


class Regex(Protocol):
    """A compiled expression."""

    def search(self, text: bytes, pos: int = 0) -> Match | None:
        """Return the first match from ``pos`` on."""

    def fullmatch(self, text: bytes) -> Match | None:
        """Return the match of the whole text."""


def compile_regex(text: str, *, literal: bool = False, ignore_case: bool = False, in_line: bool = False) -> Regex:
    """Return the expression for texts in UTF-8.

    Args:
        text: the expression.
        literal: it is plain text.
        ignore_case: case does not count.
        in_line: no match has a line break.

    Raises:
        FileError: the expression cannot be used.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    options.literal = literal
    options.case_sensitive = not ignore_case
    options.never_nl = in_line
    try:
        return cast(Regex, re2.compile(text, options=options))
    except (re2.error, UnicodeEncodeError) as error:
        detail = error.args[0] if error.args else b""
        said = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise FileError("invalid", f"the pattern cannot be used: {_explained(said)}") from None


def escape(text: str) -> str:
    """Return the expression for a plain text."""
    return cast(str, re2.escape(text))


def _explained(said: str) -> str:
    if "perl operator" in said:
        return f"{said} (look-around, atomic groups and the like are not supported)"
    if "escape" in said:
        return f"{said} (there are no backreferences; write \\\\ for a backslash, or set literal)"
    return said
