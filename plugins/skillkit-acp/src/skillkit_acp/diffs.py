"""Unified diffs, which tools show, as the changes that editors draw: for each place the old text and the new one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from acp import schema as s

__all__ = ["changes_in"]

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_MOST = 50  # places that are drawn
_NOTHING = "/dev/null"


def changes_in(diff: str, folder: Path) -> list[s.FileEditToolCallContent]:
    """Return the changes of a unified diff, each hunk by itself; none where the text is no such diff.

    Args:
        folder: what the paths in the diff are relative to.
    """
    return [
        s.FileEditToolCallContent(type="diff", path=str(folder / path), old_text=old, new_text=new)
        for path, old, new in islice(_hunks(diff.split("\n")), _MOST)
    ]


def _hunks(lines: Sequence[str]) -> Iterator[tuple[str, str | None, str]]:
    """Yield path, old text (``None``: a new file) and new text of each hunk that is whole."""
    before = after = ""
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if line.startswith("--- "):
            before = _path(line[4:], "a/")
        elif line.startswith("+++ "):
            after = _path(line[4:], "b/")
        elif (head := _HUNK.match(line)) and before and after:
            sides, at = _sides(lines, at, int(head[1] or 1), int(head[2] or 1))
            if sides is not None:
                yield (before if after == _NOTHING else after, None if before == _NOTHING else sides[0], sides[1])


def _sides(lines: Sequence[str], at: int, old_left: int, new_left: int) -> tuple[tuple[str, str] | None, int]:
    """Return the old and the new text of the hunk that begins at ``at``, ``None`` for one that is cut, and where it ends."""
    texts: dict[str, list[str]] = {"-": [], "+": []}
    sides: Sequence[str] = ""
    while at < len(lines):
        mark, text = lines[at][:1], lines[at][1:]
        if mark == "\\":
            for side in sides:
                texts[side][-1] = texts[side][-1].removesuffix("\n")
        elif old_left <= 0 >= new_left or mark not in ("-", "+", " "):
            break
        else:
            sides = "-+" if mark == " " else mark
            old_left, new_left = old_left - ("-" in sides), new_left - ("+" in sides)
            for side in sides:
                texts[side].append(f"{text}\n")
        at += 1
    whole = old_left == 0 == new_left
    return (("".join(texts["-"]), "".join(texts["+"])) if whole else None), at


def _path(shown: str, prefix: str) -> str:
    name = shown.partition("\t")[0].strip('"')
    return name if name == _NOTHING else name.removeprefix(prefix)
