"""Which files the patterns of rules match now. Folders that did not change are not read again."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from os import stat
from os.path import isdir, join

from .paths import Place, folded, segment, split_pattern

__all__ = ["Files", "TooMany"]

_MOST = 300_000
# Nanoseconds. A younger folder can change again within one tick of its time stamp.
_SETTLED = 2_000_000_000
_Listing = tuple[list[str], list[str]]


class TooMany(Exception):
    """Too many files to look at, or to hold."""


class Files:
    """Finds files by patterns that forbid: in any case, one name at any depth below the project.

    Args:
        patterns: all that are looked for.
        place: where they stand.
        kept: what is known of folders from the last time.
    """

    def __init__(self, patterns: Sequence[str], place: Place, kept: dict[str, dict[str, tuple[int, _Listing]]]) -> None:
        names = {name for p in patterns for name in split_pattern(p, place, False)[2] if name != "**"}
        self._wanted = re.compile("|".join(f"(?:{segment(folded(name))})\\Z" for name in sorted(names)) or "(?!)", re.S)
        if self._wanted.pattern not in kept:
            kept.clear()
        self._kept = kept.setdefault(self._wanted.pattern, {})
        self._place = place
        self._seen: dict[str, _Listing] = {}
        self._looked = 0

    def matching(self, pattern: str) -> Iterator[str]:
        """Yield the paths that a pattern matches; of a folder that matches as a whole, the folder.

        Raises:
            TooMany: there are too many to look through.
        """
        base, depth, names = split_pattern(pattern, self._place, False)
        if not depth:
            yield from self._below(base or "/", names)
            return
        for root in self._place.roots:
            yield from self._below(root, ["**", *names])

    def _below(self, folder: str, names: Sequence[str]) -> Iterator[str]:
        if not names or list(names) == ["**"]:
            yield folder
            return
        if names[0] == "**":
            yield from self._below(folder, names[1:])
            for name in self._list(folder)[0]:
                yield from self._below(join(folder, name), names)
            return
        wanted = re.compile(segment(folded(names[0])) + r"\Z", re.S)
        folders, files = self._list(folder)
        for name in (*folders, *files):
            if wanted.match(folded(name)):
                at = join(folder, name)
                if len(names) == 1 or isdir(at):
                    yield from self._below(at, names[1:])

    def _list(self, folder: str) -> _Listing:
        """Return the folders in a folder, and the names of other files that a pattern has."""
        if folder in self._seen:
            return self._seen[folder]
        try:
            changed = stat(folder).st_ctime_ns
            kept = self._kept.get(folder)
            found = kept[1] if kept is not None and kept[0] == changed else self._read(folder, changed)
        except OSError:
            found = [], []
        self._seen[folder] = found
        return found

    def _read(self, folder: str, changed: int) -> _Listing:
        folders, files = [], []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._looked += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif self._wanted.match(folded(entry.name)):
                    files.append(entry.name)
        if self._looked > _MOST:
            raise TooMany(f"there are more than {_MOST:,} files to look at")
        if time.time_ns() - changed > _SETTLED:
            self._kept[folder] = changed, (folders, files)
        return folders, files
