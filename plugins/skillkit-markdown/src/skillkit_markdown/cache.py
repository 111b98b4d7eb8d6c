"""Front matter that was parsed before, by its text: most starts meet no other, and need no YAML."""

from __future__ import annotations

from typing import Any

from skillkit_core.settings.documents import keep, recall

from .about import __version__
from .yaml_values import Parsed

__all__ = ["FrontMatterCache"]


class FrontMatterCache:
    """The parsed front matter of the files of one directory, kept in the cache file ``path``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stamp: list[Any] = [__version__, 1]
        known = recall(path, self._stamp)
        self._known: dict[str, Any] = known if isinstance(known, dict) else {}
        self._met: dict[str, list[Any]] = {}

    def parse(self, block: str) -> Parsed:
        """Parse as :func:`~skillkit_markdown.yaml_text.parse_text` does."""
        match self._known.get(block):
            case [value, list(duplicates), bool(aliases)]:
                parsed = Parsed()
                parsed.value, parsed.duplicates, parsed.aliases = value, duplicates, aliases
            case _:
                from .yaml_text import parse_text  # what is known already needs no YAML

                parsed = parse_text(block)
        self._met[block] = [parsed.value, parsed.duplicates, parsed.aliases]
        return parsed

    def save(self) -> None:
        """Keep what was met, if it is not what was known."""
        if self._met.keys() != self._known.keys():
            keep(self._path, self._stamp, self._met)
