"""Texts are merged by paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Literal

__all__ = ["Strategy", "merge_texts", "paragraphs"]

Strategy = Literal["concatenate", "interleave", "deduplicate"]
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a Markdown text: what blank lines separate, where a fence of code is one with what touches it.

    CRLF becomes LF.
    """
    lines: list[str] = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not fence and not line.strip():
            if lines:
                yield "\n".join(lines)
            lines = []
            continue
        lines.append(line)
        mark = _FENCE.match(line)
        if mark is None:
            continue
        if not fence:
            fence = mark[1]
        elif mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    while lines and not lines[-1].strip():  # of a fence that nobody closes
        lines.pop()
    if lines:
        yield "\n".join(lines)


def merge_texts(texts: Sequence[str], strategy: Strategy = "concatenate") -> str:
    """Return one text of several: paragraphs, a blank line between them, a line end at the end.

    Args:
        texts: the texts.
        strategy: ``concatenate`` one behind the other; ``interleave`` first paragraphs first; ``deduplicate`` leaves out what was
            there before, where blanks count alike and case counts.
    """
    parts = [list(paragraphs(text)) for text in texts]
    if strategy == "interleave":
        found = [part for row in zip_longest(*parts) for part in row if part is not None]
    else:
        found = list(chain.from_iterable(parts))
    if strategy == "deduplicate":
        first: dict[str, str] = {}
        for part in found:
            first.setdefault(" ".join(part.split()), part)
        found = list(first.values())
    return "\n\n".join(found) + "\n" if found else ""
