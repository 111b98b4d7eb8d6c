"""Front matter written as the reader reads it, so that every host reads the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .repair import same_lines, segments
from .text import FENCE, decode, split
from .yaml_text import parse_text
from .yaml_values import TextYAMLError

__all__ = ["mended"]


def mended(data: bytes, values: Mapping[str, Any] | None) -> str | None:
    """Return the text of a Markdown file with front matter that needs no repair; ``None``: the file is no text.

    Args:
        data: the content of the file.
        values: the keys as the reader read them.
    """
    if (text := decode(data, [])) is None:
        return None
    found = split(data)
    if found.block is None:
        return text
    text = text.lstrip() if text.lstrip().startswith(FENCE) else text
    begin = text.index("\n") + 1
    rest = text[begin + len(found.block) :]
    block = found.block
    try:
        parse_text(block)
    except TextYAMLError:
        block = _quoted(same_lines(block), values or {})
    if "frontmatter-unclosed" in found.diagnostics:
        rest = f"{FENCE}\n\n{found.body}\n"
    return f"{text[:begin]}{block.rstrip()}\n{rest}"


def _quoted(block: str, values: Mapping[str, Any]) -> str:
    """Return the block with quotes around each value that does not parse, as the reader understood it."""
    lines = block.split("\n")
    for number, own in segments(block)[0]:
        try:
            parse_text("\n".join(own))
        except TextYAMLError:
            key = own[0].partition(":")[0].strip()
            value = values.get(key.strip("\"'"))
            lines[number] = f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for i in range(number + 1, number + len(own)):
                lines[i] = ""
    return "\n".join(line for i, line in enumerate(lines) if line or i == 0)
