"""A page as text for a model: HTML as Markdown, JSON and plain text as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from skillkit_core import ToolError

from .client import Page

__all__ = ["Text", "text_of"]

_NOT_SHOWN = ["script", "style", "noscript", "template", "svg", "iframe", "form", "nav", "canvas", "dialog"]
_TEXT = re.compile(r"(text/.*|application/(.*\+)?(json|xml|yaml|javascript|x-ndjson))\Z")
_BLANKS = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a page.

    Attributes:
        title: of an HTML page; may be empty.
        text: Markdown, or the text as it was sent.
    """

    title: str
    text: str


def text_of(page: Page) -> Text:
    """Return the text of a page.

    Raises:
        ToolError: the page is no text (an image, an archive, a PDF).
    """
    if page.media_type in ("text/html", "application/xhtml+xml"):
        return _from_html(page)
    if not _TEXT.match(page.media_type):
        raise ToolError(f"{page.url} is {page.media_type}, which cannot be shown as text")
    try:
        return Text("", page.body.decode(page.charset or "utf-8", "replace"))
    except LookupError:  # an encoding that nobody knows
        return Text("", page.body.decode("utf-8", "replace"))


def _from_html(page: Page) -> Text:
    soup = BeautifulSoup(page.body, "html.parser", from_encoding=page.charset)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    for element in soup(_NOT_SHOWN):
        element.decompose()
    for element in soup.select("[hidden], [aria-hidden=true]"):
        element.decompose()
    for link in soup.find_all("a", href=True):
        link["href"] = urljoin(page.url, str(link["href"]))
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    part = soup.find("main") or soup.find("article") or soup.body or soup
    converter = MarkdownConverter(heading_style="ATX", bullets="-", strip=["head", "title"])
    markdown = converter.convert_soup(part)
    lines = (line.rstrip() for line in markdown.splitlines())
    return Text(title, _BLANKS.sub("\n\n", "\n".join(lines)).strip())
