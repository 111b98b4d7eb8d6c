"""Reading a text file of any size as lines, whatever its encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from command import Problem, regular_file

LONGEST_PIECE = 1_000_000  # characters; a longer line is read in pieces
WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


def pieces(name: str) -> Iterator[str]:
    """Yield the lines of the file with their ends; a binary file is a problem."""
    path = regular_file(name)
    with path.open("rb") as binary:
        sample = binary.read(65_536)
    utf16 = sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in sample and not utf16:
        raise Problem(f"{name} is a binary file, not text")
    with path.open(encoding="utf-16" if utf16 else "utf-8-sig", errors="replace", newline=None) as stream:
        while line := stream.readline(LONGEST_PIECE):
            yield line
