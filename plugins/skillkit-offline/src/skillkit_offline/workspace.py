"""The workspace: which of a request's words name files that are there, and which are nearly the name of one."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

__all__ = ["Workspace"]

_MOST_ENTRIES = 5_000


class Workspace:
    """Looks at one directory, never changes it. Without a directory nothing is there."""

    def __init__(self, cwd: Path | None) -> None:
        self.cwd = cwd

    def has(self, name: str) -> bool:
        """Whether ``name``, taken from the workspace, is a file or directory. A name that no system allows is not."""
        try:
            return (
                self.cwd is not None and 0 < len(name) <= 1_000 and name[0] != "~" and os.path.lexists(self.cwd / name)
            )
        except (OSError, ValueError):
            return False

    def folder(self, name: str) -> bool:
        """Whether ``name`` is a folder that is there."""
        return self.has(name) and self.cwd is not None and (self.cwd / name).is_dir()

    def near(self, name: str) -> str | None:
        """The entry of the same directory that is spelled most like the missing ``name``, or ``None``."""
        if self.cwd is None:
            return None
        try:
            parent, last = os.path.split(name)
            with os.scandir(self.cwd / parent) as entries:
                names = sorted(e.name for e in itertools.islice(entries, _MOST_ENTRIES))
        except (OSError, ValueError):
            return None
        low = {n.casefold(): n for n in reversed(names)}
        wanted = last.casefold()
        import difflib

        close = [wanted] if wanted in low else difflib.get_close_matches(wanted[:200], list(low), n=1, cutoff=0.8)
        return str(Path(parent, low[close[0]])) if close else None
