"""The lenient reader of front matter (SLP-1): bytes in, values, body and what was noticed out, never an exception."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .text import Split, split
from .yaml_values import Parsed, TextYAMLError, natural

__all__ = ["FrontMatter", "read_front_matter"]


class FrontMatter:
    """A Markdown file as it was read.

    Attributes:
        block: the text between the fences; ``None``: there is no front matter.
        body: the Markdown after it, stripped.
        values: the keys, each scalar as text and null as ``None``; ``None``: there is no mapping.
        diagnostics: codes of what was noticed, some with ``:detail``, in the order they were found.
        duplicates: keys that were given twice; the last one counts.
        dropped: keys whose value could not be read and was left out, with its text.
        rejected: the file is no text, too large or empty.
    """

    __slots__ = ("block", "body", "diagnostics", "dropped", "duplicates", "rejected", "values")

    def __init__(self, found: Split) -> None:
        self.block, self.body = found.block, found.body
        self.diagnostics, self.rejected = found.diagnostics, found.rejected
        self.values: Mapping[str, Any] | None = None
        self.duplicates: list[str] = []
        self.dropped: Mapping[str, str] = {}

    def natural(self) -> dict[str, Any]:
        """Return the keys with numbers, booleans and nulls as in JSON; empty where there are none."""
        return {key: natural(value) for key, value in (self.values or {}).items()}


def read_front_matter(data: bytes, parse: Callable[[str], Parsed] | None = None) -> FrontMatter:
    """Read the bytes of a Markdown file. Never raises.

    Args:
        data: the content of the file.
        parse: parses a block that is YAML, as :meth:`FrontMatterCache.parse` does; default: :func:`parse_text`.
    """
    found = FrontMatter(split(data))
    if found.block is None or (parsed := _parse(found.block, found.diagnostics, parse)) is None:
        return found
    found.duplicates, found.dropped = parsed.duplicates, parsed.dropped
    found.diagnostics += (f"duplicate-key:{key}" for key in dict.fromkeys(found.duplicates))
    if parsed.aliases:
        found.diagnostics.append("yaml-alias")
    if isinstance(parsed.value, dict):
        found.values = parsed.value
    else:
        found.diagnostics.append("frontmatter-empty" if parsed.value is None else "frontmatter-not-mapping")
    return found


def _parse(block: str, diagnostics: list[str], parse: Callable[[str], Parsed] | None) -> Parsed | None:
    if parse is None:
        from .yaml_text import parse_text  # slow to import, and a cache needs no YAML

        parse = parse_text
    try:
        return parse(block)
    except TextYAMLError:
        from .repair import repair_block

        return repair_block(block, diagnostics)
