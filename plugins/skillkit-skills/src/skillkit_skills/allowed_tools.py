"""The value of ``allowed-tools`` as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["tokens"]


def tokens(value: Any) -> list[str]:
    """The tokens of an ``allowed-tools`` value: text or a list of texts, split at blanks and commas outside parentheses."""
    if isinstance(value, str):
        return _split(value)
    if isinstance(value, Sequence):
        return [token for item in value if isinstance(item, str) for token in _split(item)]
    return []


def _split(text: str) -> list[str]:
    if "(" not in text:
        return text.replace(",", " ").split()
    found: list[str] = []
    word = ""
    depth = 0
    for char in text:
        if depth == 0 and (char == "," or char.isspace()):
            if word:
                found.append(word)
            word = ""
            continue
        depth += (char == "(") - (char == ")" and depth > 0)
        word += char
    return [*found, word.strip()] if word.strip() else found
