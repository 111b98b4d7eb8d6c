"""YAML in which every scalar is text, so that ``1.10``, ``no`` and ``2026-01-01`` keep their spelling (SLP-1, rule C)."""

from __future__ import annotations

from typing import Any

__all__ = ["Parsed", "TextYAMLError", "parse_text"]


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
        self.dropped: list[str] = []
        self.aliases = False
        self.seen: set[int] | None = None


def parse_text(text: str) -> Parsed:
    """Parse one document.

    Values that are reached through aliases are not copied: with aliases present, everything that is no scalar is
    ``None``, so no document can grow.

    Raises:
        TextYAMLError: not YAML, an unknown tag, or nested too deeply.
    """
    from .composing import compose, convert  # slow to import, and what is known already needs no YAML

    parsed = Parsed()
    if "*" in text:
        parsed.seen = set()
    node = compose(text)
    if node is None:
        return parsed
    try:
        value = convert(parsed, node)
    except (RecursionError, ValueError, UnicodeError) as e:
        if isinstance(e, TextYAMLError):
            raise
        raise TextYAMLError(str(e)) from None
    if parsed.aliases and isinstance(value, dict):
        value = {k: v for k, v in value.items() if type(v) is str}
    parsed.value = value
    return parsed
