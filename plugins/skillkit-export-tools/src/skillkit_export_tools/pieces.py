"""A Markdown text as pieces: headings, paragraphs, items, quotes, code, tables. Writers of formats walk over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

__all__ = ["Piece", "Run", "parser", "pieces_of", "plain"]


_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


class Run(NamedTuple):
    """Text of one look; ``link``: where it leads."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""


class Piece(NamedTuple):
    """A piece of a text.

    Attributes:
        kind: ``heading``, ``paragraph``, ``item``, ``quote``, ``code``, ``table`` or ``rule``.
        runs: its text.
        level: of a heading, from 1; how deep an item lies, from 0.
        marker: of an item: ``-``, or its number; empty: it goes on.
        rows: of a table, the head first.
    """

    kind: str
    runs: tuple[Run, ...] = ()
    level: int = 0
    marker: str = ""
    rows: tuple[tuple[tuple[Run, ...], ...], ...] = ()


@cache
def parser() -> MarkdownIt:
    """Return the parser: CommonMark with tables, without HTML. A picture from elsewhere becomes a link to it."""
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    assert isinstance(made.renderer, RendererHTML)
    own = made.renderer.rules["image"]

    def image(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        source = str(tokens[at].attrs.get("src", ""))
        if _ELSEWHERE.match(source):
            return f'<a href="{escape(source)}">{escape(tokens[at].content or source)}</a>'
        return str(own(tokens, at, options, env))

    made.add_render_rule("image", image)
    return made


def pieces_of(text: str) -> list[Piece]:
    """Return the pieces of a text, in order."""
    from markdown_it.tree import SyntaxTreeNode

    return list(_blocks(SyntaxTreeNode(parser().parse(text)).children, "paragraph", -1))


def plain(runs: tuple[Run, ...]) -> str:
    """Return the text of runs."""
    return "".join(run.text for run in runs)


def _blocks(nodes: list[SyntaxTreeNode], kind: str, depth: int, marker: str = "") -> Iterator[Piece]:
    for node in nodes:
        if node.type == "heading":
            yield Piece("heading", _inline(node), int(node.tag[1:]))
        elif node.type == "paragraph":
            yield Piece(kind, _inline(node), max(depth, 0), marker)
            marker = ""
        elif node.type in ("fence", "code_block"):
            yield Piece("code", (Run(node.content.rstrip("\n"), code=True),))
        elif node.type == "hr":
            yield Piece("rule")
        elif node.type == "blockquote":
            yield from _blocks(node.children, "quote", depth)
        elif node.type in ("bullet_list", "ordered_list"):
            first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
            for number, item in enumerate(node.children, first):
                yield from _blocks(
                    item.children, "item", depth + 1, f"{number}." if node.type == "ordered_list" else "-"
                )
        elif node.type == "table":
            rows = (row for part in node.children for row in part.children)
            yield Piece("table", rows=tuple(tuple(_inline(cell) for cell in row.children) for row in rows))


def _inline(node: SyntaxTreeNode) -> tuple[Run, ...]:
    return tuple(run for child in node.children for run in _runs(child, Run("")))


def _runs(node: SyntaxTreeNode, look: Run) -> Iterator[Run]:
    if node.type in ("text", "code_inline"):
        yield look._replace(text=node.content, code=look.code or node.type == "code_inline")
        return
    if node.type in ("softbreak", "hardbreak"):
        yield look._replace(text=" " if node.type == "softbreak" else "\n")
        return
    if node.type == "image":
        yield look._replace(text=node.content or str(node.attrs.get("src", "")))
        return
    looks: dict[str, dict[str, Any]] = {"strong": {"bold": True}, "em": {"italic": True}, "s": {"strike": True}}
    inner = look._replace(**looks.get(node.type, {}))
    if node.type == "link":
        inner = inner._replace(link=str(node.attrs.get("href", "")))
    for child in node.children:
        yield from _runs(child, inner)
