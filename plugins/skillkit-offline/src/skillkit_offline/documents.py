"""What the actions say of themselves as terms, by their texts: most starts meet the same actions and take none apart."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from skillkit_core.settings.documents import keep, recall

__all__ = ["Document", "Documents"]


class Document(NamedTuple):
    """The terms of an action by field, and of each of its examples the terms with what they count."""

    fields: list[list[str]]
    examples: list[dict[str, float]]


class Documents:
    """Documents in the cache file ``path``; empty: nothing is kept. ``save`` keeps those that were asked for since."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        # A change of the code counts at once.
        here = os.path.dirname(__file__)  # noqa: PTH120
        self._stamp = [max(entry.stat().st_mtime_ns for entry in os.scandir(here))] if path else []
        known = recall(path, self._stamp) if path else None
        self._known: dict[str, Any] = known if isinstance(known, dict) else {}
        self._met: dict[str, Document] = {}

    def of(self, texts: list[list[str]], read: Callable[[], Document]) -> Document:
        """Return the document of these texts, which ``read`` makes."""
        key = json.dumps(texts, ensure_ascii=False)
        match self._known.get(key):
            case [list(fields), list(examples)]:
                found = Document(fields, examples)
            case _:
                found = read()
        self._met[key] = found
        return found

    def save(self) -> None:
        """Keep what was asked for, if it is not what was known."""
        if self._path and self._met.keys() != self._known.keys():
            keep(self._path, self._stamp, {key: list(document) for key, document in self._met.items()})
