"""How Markdown looks on a terminal: in colours that people choose for it, on no background: for light ones and dark ones.

It needs Rich, which ``skillkit-frontend[rich]`` brings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.style import Style
from rich.syntax import ANSI_LIGHT, ANSISyntaxTheme
from rich.text import Text
from rich.theme import Theme

__all__ = ["THEME", "WIDEST", "markdown"]

WIDEST = 120
"""Columns of running text: longer lines are hard to read."""
THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "italic",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.block_quote": "italic",
        "markdown.hr": "dim",
        "markdown.link": "blue",
        "markdown.link_url": "blue underline",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
"""The styles that :func:`markdown` names, for the console that draws it."""
_COLOURS = {
    "Token.Comment": Style(dim=True, italic=True),
    "Token.Keyword": Style(color="magenta"),
    "Token.Keyword.Type": Style(color="magenta"),
    "Token.Operator.Word": Style(color="magenta"),
    "Token.Name.Function": Style(color="blue"),
    "Token.Name.Class": Style(color="blue"),
    "Token.Name.Decorator": Style(color="blue"),
    "Token.Name.Tag": Style(color="blue"),
    "Token.Name.Builtin": Style(color="cyan"),
    "Token.Literal.Number": Style(color="cyan"),
    "Token.Literal.String": Style(color="green"),
    "Token.Generic.Deleted": Style(color="red"),
    "Token.Generic.Inserted": Style(color="green"),
    "Token.Generic.Heading": Style(bold=True),
}
_CODE = ANSISyntaxTheme({token: _COLOURS.get(str(token), Style()) for token in ANSI_LIGHT})


class _PlainHeading(Heading):
    """A heading at the left, without a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        if self.tag in ("h1", "h2"):
            yield Text("")
        yield self.text


class _Markdown(Markdown):
    elements: ClassVar[dict[str, Any]] = {**Markdown.elements, "heading_open": _PlainHeading}

    def __init__(self, text: str, **options: Any) -> None:
        """Keep the ends of lines: tools and people write plain tables and lists, too, which must not become one line."""
        super().__init__(text, **options)
        for part in (part for token in self.parsed for part in token.children or ()):
            part.type = "hardbreak" if part.type == "softbreak" else part.type


def markdown(text: str) -> Markdown:
    """Return Markdown to be drawn. ``text`` holds nothing that a terminal obeys: see ``skillkit_core.cli.output.printable``."""
    return _Markdown(text, code_theme=_CODE, hyperlinks=False)
