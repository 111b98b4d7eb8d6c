"""Markdown as a tree of elements from a short list; HTML in it is text, and nothing in it is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["tree"]

Node: TypeAlias = "str | list[Any]"  # a text, or [tag, attributes, children]
_LINKS = ("http", "https", "mailto")
_TAGS = frozenset(
    {"p", "ul", "ol", "li", "blockquote", "em", "strong", "s", "table", "thead", "tbody", "tr", "th", "td", "hr"}
)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])


def tree(text: str) -> list[Node]:
    """Return the elements of a text."""
    return _nodes(iter(_parser().parse(text)))


def _nodes(tokens: Iterator[Token]) -> list[Node]:
    """Return the elements up to the end of the one that is open."""
    found: list[Node] = []
    for token in tokens:
        if token.nesting == -1:
            break
        if token.type == "inline":
            found += _nodes(iter(token.children or ()))
        elif token.nesting == 1:
            inner = _nodes(tokens)
            # the paragraphs of a tight list are no elements
            found += inner if token.hidden else [_element(token, inner)]
        else:
            found += _single(token)
    return found


def _element(token: Token, inner: list[Node]) -> Node:
    if token.tag == "a":
        target = str(token.attrGet("href") or "")
        return ["a", {"href": target}, inner] if _may_link(target) else ["span", {}, [*inner, f" ({target})"]]
    if token.tag.startswith("h") and token.tag[1:].isdigit():
        return [f"h{min(6, int(token.tag[1:]) + 2)}", {}, inner]  # the page and the message stand above
    attributes = {"start": str(token.attrGet("start"))} if token.tag == "ol" and token.attrGet("start") else {}
    return [token.tag if token.tag in _TAGS else "span", attributes, inner]


def _single(token: Token) -> Sequence[Node]:
    match token.type:
        case "text" | "html_block" | "html_inline":
            return [token.content]
        case "softbreak":
            return ["\n"]
        case "hardbreak":
            return [["br", {}, []]]
        case "code_inline":
            return [["code", {}, [token.content]]]
        case "fence" | "code_block":
            return [["pre", {"language": token.info.split()[0] if token.info.split() else ""}, [token.content]]]
        case "image":  # never fetched: a link where that may be one
            target = str(token.attrGet("src") or "")
            words = f"image: {token.content or target}"
            return [["a", {"href": target}, [words]]] if _may_link(target) else [f"{words} ({target})"]
        case "hr":
            return [["hr", {}, []]]
    return [token.content] if token.content else []


def _may_link(target: str) -> bool:
    try:
        return urlsplit(target).scheme in _LINKS
    except ValueError:
        return False
