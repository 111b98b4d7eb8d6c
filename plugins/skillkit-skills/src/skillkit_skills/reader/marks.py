"""Where the keys of YAML text stand: read a second time, and only for who asks, so that reading costs nothing for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from .composing import compose, convert
from .repair import KEY, same_lines, segments
from .yamltext import Parsed, TextYAMLError, parse_text

__all__ = ["Mark", "error_line", "mark_block", "mark_text"]


@dataclass(slots=True)
class Mark:
    """A value where it stands.

    Attributes:
        line: of the file, from 1; that of its key, if it has one. Of a value that does not parse, the one where it breaks.
        pairs: its keys in order, also those given twice. items: what is in a list.
        node: as the parser gave it; ``None``: it does not parse.
    """

    line: int
    pairs: list[tuple[str, Mark]] = field(default_factory=list)
    items: list[Mark] = field(default_factory=list)
    node: Any = None
    _last: dict[str, Mark] = field(default_factory=dict)

    def find(self, *path: str | int) -> Mark | None:
        """What is at ``path``; of a key that is given twice the last one counts."""
        here: Mark | None = self
        for step in path:
            if here is None:
                return None
            if isinstance(step, int):
                here = here.items[step] if step < len(here.items) else None
            else:
                here._last = here._last or dict(here.pairs)
                here = here._last.get(step)
        return here

    def walk(self) -> Iterator[Mark]:
        """Itself and everything in it, outer before inner."""
        yield self
        for inner in (*(mark for _, mark in self.pairs), *self.items):
            yield from inner.walk()

    @property
    def value(self) -> Any:
        """What the reader makes of it."""
        parsed = Parsed()
        parsed.seen = set()
        try:
            return convert(parsed, self.node) if self.node is not None else None
        except TextYAMLError:
            return None


def _mark(node: Any, line: int, above: int, seen: set[int]) -> Mark:
    """``node``, whose key stands on ``line``; ``above``: what its own lines, from 0, lack to those of the file."""
    mark = Mark(line, node=node)
    if id(node) in seen:  # an alias
        return mark
    seen.add(id(node))
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                mark.pairs.append((key.value, _mark(value, key.start_mark.line + above, above, seen)))
    elif isinstance(node, SequenceNode):
        mark.items = [_mark(item, item.start_mark.line + above, above, seen) for item in node.value]
    return mark


def mark_text(text: str, first: int = 1) -> Mark | None:
    """YAML text that begins on the line ``first``; ``None``: the reader does not take it as it is."""
    try:
        parse_text(text)
        node = compose(text)
        return _mark(node, node.start_mark.line + first, first, set()) if node is not None else None
    except (TextYAMLError, RecursionError):
        return None


def mark_block(block: str, first: int) -> tuple[Mark, list[tuple[int, str]]]:
    """The keys of a frontmatter as the reader takes it, repairs included, and the values that do not parse with their lines."""
    for text in (block, same_lines(block)):
        if (mark := mark_text(text, first)) is not None:
            return mark, []
    whole = Mark(first)
    broken: list[tuple[int, str]] = []
    for number, lines in segments(same_lines(block))[0]:
        text, line = "\n".join(lines), first + number
        if (mark := mark_text(text, line)) is not None:
            whole.pairs += mark.pairs
        elif match := KEY.match(lines[0]):
            line = min(error_line(text, line) or line, line + len(lines) - 1)  # not behind its end
            broken.append((line, text[match.end() :].strip()))
            whole.pairs.append((match[1].strip("\"'"), Mark(line)))
    return whole, broken


def error_line(text: str, first: int = 1) -> int | None:
    """The line on which the parser gave up; ``None``: it did not, or does not say."""
    try:
        parse_text(text)
    except TextYAMLError as error:
        return first + error.line - 1 if error.line else None
    return None
