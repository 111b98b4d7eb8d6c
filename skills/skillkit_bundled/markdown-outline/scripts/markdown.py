"""Reading a Markdown file: headings with their lines and anchors, and links with theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from command import Problem

if TYPE_CHECKING:
    from markdown_it.token import Token

LARGEST_FILE = 20_000_000  # bytes; longer than any document
ANCHOR = re.compile(r"<[a-z][^>]*?\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)", re.I)
UNRESOLVED = re.compile(r"(?<!\\)\[[^\]\[]+\]\[([^\]\[]*)\]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level from 1 to 6, its plain text, its line counted from 1, and the anchor that links use."""

    level: int
    text: str
    line: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link or an image: where it points, what it says, and its line."""

    target: str
    text: str
    line: int
    image: bool = False
    undefined: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """What was read of a file."""

    headings: Sequence[Heading]
    links: Sequence[Link]
    anchors: frozenset[str]


def read(path: Path, name: str) -> Document:
    """Return the headings and links of a Markdown file; front matter is skipped."""
    from markdown_it import MarkdownIt

    if path.stat().st_size > LARGEST_FILE:
        raise Problem(f"{name} is larger than {LARGEST_FILE / 1e6:.0f} MB; is it really Markdown?")
    data = path.read_bytes()
    if b"\0" in data:
        raise Problem(f"{name} is a binary file, not Markdown")
    text = data.decode("utf-8-sig", "replace")
    tokens = MarkdownIt("commonmark").enable("table").parse(_without_front_matter(text))
    headings = list(_headings(tokens))
    anchors = {heading.anchor for heading in headings}
    for token in _all(tokens):
        if token.type in ("html_block", "html_inline"):
            anchors.update(found.lower() for found in ANCHOR.findall(token.content))
    return Document(headings, list(_links(tokens)), frozenset(anchors))


def _without_front_matter(text: str) -> str:
    """Return the text with YAML front matter replaced by blank lines, so that line numbers stay."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return text
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    return "\n" * (end + 1) + "".join(lines[end + 1 :]) if end else text


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    used: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open" or opening.map is None:
            continue
        text = plain(inline.children or [])
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")  # as GitHub makes them
        copies = used.get(anchor, 0)
        used[anchor] = copies + 1
        yield Heading(int(opening.tag[1]), text, opening.map[0] + 1, f"{anchor}-{copies}" if copies else anchor)


def plain(children: Sequence[Token]) -> str:
    """Return the text of inline tokens without marks."""
    parts = []
    for token in children:
        if token.type in ("text", "code_inline", "text_special"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "image":
            parts.append(plain(token.children or []))
    return " ".join("".join(parts).split())


def _links(tokens: Sequence[Token]) -> Iterator[Link]:
    for block in tokens:
        if block.type != "inline" or block.map is None:
            continue
        line = block.map[0] + 1
        children = block.children or []
        for place, token in enumerate(children):
            if token.type in ("softbreak", "hardbreak"):
                line += 1
            elif token.type == "link_open":
                end = next(n for n, later in enumerate(children[place:], place) if later.type == "link_close")
                yield Link(str(token.attrGet("href") or ""), plain(children[place:end]), line)
            elif token.type == "image":
                yield Link(str(token.attrGet("src") or ""), plain(token.children or []), line, image=True)
            elif token.type == "text":
                for label in UNRESOLVED.findall(token.content):
                    yield Link(label, token.content, line, undefined=True)
