"""The lines of keys and of what was repaired: read a second time, only when they are asked for, so that reading is fast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from .repair import CONFLICT, FORBIDDEN, INDENT_TABS, KEY, same_lines, segments
from .text import decode, split
from .yaml_text import compose, convert, parse_text
from .yaml_values import Parsed, TextYAMLError

__all__ = ["FileLines", "KeyLine", "error_line", "lines_of_block", "lines_of_text"]

_PATTERNS = {"merge-conflict-markers": CONFLICT, "yaml-control-chars": FORBIDDEN, "yaml-tabs": INDENT_TABS}


@dataclass(slots=True)
class KeyLine:
    """A value where it stands.

    Attributes:
        line: of the file, from 1; that of its key, if it has one. Of a value that does not parse, the one where it breaks.
        pairs: its keys in order, also those given twice. items: what is in a list.
        node: as the parser gave it; ``None``: it does not parse.
    """

    line: int
    pairs: list[tuple[str, KeyLine]] = field(default_factory=list)
    items: list[KeyLine] = field(default_factory=list)
    node: Any = None
    _last: dict[str, KeyLine] = field(default_factory=dict)

    def find(self, *path: str | int) -> KeyLine | None:
        """What is at ``path``; of a key that is given twice the last one counts."""
        here: KeyLine | None = self
        for step in path:
            if here is None:
                return None
            if isinstance(step, int):
                here = here.items[step] if step < len(here.items) else None
            else:
                here._last = here._last or dict(here.pairs)
                here = here._last.get(step)
        return here

    def walk(self) -> Iterator[KeyLine]:
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


def _lines_of(node: Any, line: int, above: int, seen: set[int]) -> KeyLine:
    """``node``, whose key stands on ``line``; ``above``: what its own lines, from 0, lack to those of the file."""
    mark = KeyLine(line, node=node)
    if id(node) in seen:  # an alias
        return mark
    seen.add(id(node))
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                mark.pairs.append((key.value, _lines_of(value, key.start_mark.line + above, above, seen)))
    elif isinstance(node, SequenceNode):
        mark.items = [_lines_of(item, item.start_mark.line + above, above, seen) for item in node.value]
    return mark


def lines_of_text(text: str, first: int = 1) -> KeyLine | None:
    """YAML text that begins on the line ``first``; ``None``: the reader does not take it as it is."""
    try:
        parse_text(text)
        node = compose(text)
        return _lines_of(node, node.start_mark.line + first, first, set()) if node is not None else None
    except (TextYAMLError, RecursionError):
        return None


def lines_of_block(block: str, first: int) -> tuple[KeyLine, list[tuple[int, str]]]:
    """The keys of a front matter as the reader takes it, repairs included, and the values that do not parse with their lines."""
    for text in (block, same_lines(block)):
        if (mark := lines_of_text(text, first)) is not None:
            return mark, []
    whole = KeyLine(first)
    broken: list[tuple[int, str]] = []
    for number, lines in segments(same_lines(block))[0]:
        text, line = "\n".join(lines), first + number
        if (mark := lines_of_text(text, line)) is not None:
            whole.pairs += mark.pairs
        elif match := KEY.match(lines[0]):
            line = min(error_line(text, line) or line, line + len(lines) - 1)  # not behind its end
            broken.append((line, text[match.end() :].strip()))
            whole.pairs.append((match[1].strip("\"'"), KeyLine(line)))
    return whole, broken


def error_line(text: str, first: int = 1) -> int | None:
    """The line on which the parser gave up; ``None``: it did not, or does not say."""
    try:
        parse_text(text)
    except TextYAMLError as error:
        return first + error.line - 1 if error.line else None
    return None


class FileLines:
    """The lines of a Markdown file.

    Attributes:
        data: the content of the file.
        text: the same as text; empty where it is none.
        block: the front matter; empty where there is none.
        body: what follows, stripped.
        begin: the first line that is not blank: the opening fence, where there is one.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text = decode(data, []) or ""
        found = split(data)
        self.block, self.body = found.block or "", found.body
        blank = len(self.text) - len(self.text.lstrip())
        self.begin = self.text.count("\n", 0, blank) + 1

    @cached_property
    def _parts(self) -> tuple[KeyLine, list[tuple[int, str]]]:
        return lines_of_block(self.block, self.begin + 1)

    @property
    def keys(self) -> KeyLine:
        """The front matter."""
        return self._parts[0]

    @property
    def body_line(self) -> int:
        """The line on which the body begins."""
        return self.text.rstrip().removesuffix(self.body).count("\n") + 1

    def of_code(self, code: str) -> int | None:
        """Return the line that a code of the reader is about; ``None``: the code names none."""
        bare, _, detail = code.partition(":")
        if bare.startswith("frontmatter-"):
            return 1 if bare == "frontmatter-leading-blank" else self.begin
        if bare in ("binary-content", "encoding-invalid-utf8"):
            return self._undecodable()
        if bare == "duplicate-key":
            return self._again(detail)
        if bare == "yaml-comment-truncates":
            found = self.keys.find(detail)
            return found.line if found is not None else None
        first = self.begin + 1
        if bare in _PATTERNS:
            match = _PATTERNS[bare].search(self.block)
            return first + self.block.count("\n", 0, match.start()) if match is not None else None
        if bare == "yaml-alias":
            match = re.search(r"(?m)(?:^|[\s\[{,])\*\w", self.block)
            return first + self.block.count("\n", 0, match.end()) if match is not None else None
        if bare == "yaml-stray-lines" and (stray := segments(self.block)[1]) is not None:
            return first + stray
        if bare in ("yaml-unparseable", "yaml-stray-lines"):
            return error_line(self.block, first)
        if bare not in ("metadata-json-repaired", "yaml-unquoted-scalar", "yaml-value-dropped"):
            return None
        json = bare != "yaml-unquoted-scalar"
        return next((line for line, value in self._parts[1] if value.startswith("{") == json), None)

    def _undecodable(self) -> int | None:
        if (at := self.data.find(b"\0")) < 0:
            try:
                self.data.decode()
                return None
            except UnicodeDecodeError as error:
                at = error.start
        return self.data.count(b"\n", 0, at) + 1

    def _again(self, key: str) -> int | None:
        """Return where a key is given for the second time in one mapping."""
        for mark in self.keys.walk():
            found = [m for name, m in mark.pairs if name == key]
            if len(found) > 1:
                return found[1].line
        return None
