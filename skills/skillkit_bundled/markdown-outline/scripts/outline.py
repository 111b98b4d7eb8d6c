"""Action `outline`: the headings of a Markdown file, with levels and lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Result, count, fitting, regular_file, run, shown, whole  # noqa: E402
from markdown import read  # noqa: E402

MOST_HEADINGS = 1_000


def outline(values: Mapping[str, str]) -> Result:
    """List the headings down to `depth`."""
    name = values["file"]
    depth = whole(values, "depth", 6)
    document = read(regular_file(name), name)
    headings = [heading for heading in document.headings if heading.level <= depth]
    notes = _notes([heading.level for heading in document.headings])
    lines = [f"{shown(name)}: {count(len(headings), 'heading')}"]
    digits = len(str(headings[-1].line)) if headings else 0
    top = min((heading.level for heading in headings), default=1)
    for heading in headings[:MOST_HEADINGS]:
        lines.append(
            f"{heading.line:>{digits}}  {'  ' * (heading.level - top)}{'#' * heading.level} {shown(heading.text)}"
        )
    if len(headings) > MOST_HEADINGS:
        lines.append(f"... and {len(headings) - MOST_HEADINGS:,} more")
    return {
        "answer": "\n".join([*lines, *(f"note: {note}" for note in notes)]),
        "file": name,
        "count": len(headings),
        "headings": fitting([asdict(heading) for heading in headings[:MOST_HEADINGS]]),
        "notes": notes,
    }


def _notes(levels: list[int]) -> list[str]:
    """Return what is unusual about the levels."""
    notes = []
    if levels.count(1) > 1:
        notes.append(f"{levels.count(1)} headings of level 1; one title is usual")
    skips = sum(after > before + 1 for before, after in pairwise(levels))
    if skips:
        notes.append(f"{count(skips, 'heading')} below the one before by more than a level")
    return notes


if __name__ == "__main__":
    sys.exit(run(outline, positional=["file"], options=["depth"]))
