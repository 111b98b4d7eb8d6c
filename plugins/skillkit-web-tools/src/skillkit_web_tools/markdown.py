"""A page as text for a model: HTML as Markdown, JSON and plain text as they are.

What others wrote decides how long this takes, so it runs in a process of its own (:mod:`.apart`), within limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

__all__ = ["Text", "text_of"]

_NOT_SHOWN = ["script", "style", "noscript", "template", "svg", "iframe", "form", "nav", "canvas", "dialog"]
_BLANKS = re.compile(r"\n{3,}")
_DEPTH = 100  # elements in elements; text that lies deeper belongs to the last of them
_TITLE, _ADDRESS, _TEXT = 300, 2_000, 10_000_000  # characters that are kept of each


class Text(NamedTuple):
    """The text of a page.

    Attributes:
        title: of an HTML page; may be empty.
        text: Markdown, or the text as it was sent.
    """

    title: str
    text: str


def text_of(url: str, media_type: str, charset: str | None, body: bytes) -> Text:
    """Return the text of a page that is text."""
    if media_type in ("text/html", "application/xhtml+xml"):
        return _from_html(url, charset, body)
    try:
        return Text("", body.decode(charset or "utf-8", "replace"))
    except (LookupError, UnicodeError):  # an encoding that nobody knows, or that is none of texts
        return Text("", body.decode("utf-8", "replace"))


class _Shallow(BeautifulSoup):
    """A page whose elements are at most so many levels deep: what walks over them takes a multiple of their depth."""

    def reset(self) -> None:
        """Begin."""
        super().reset()
        self._left_out: dict[int, Counter[str]] = {}  # names of elements, by the level that they would have

    def handle_starttag(self, name: str, namespace: Any, nsprefix: Any, attrs: Any, *args: Any, **options: Any) -> Any:
        """Leave out an element that is too deep, but not the first of those whose text is not shown."""
        level, here = len(self.tagStack), self.tagStack[-1]
        changes_nothing = _hidden(here.name, here.attrs) or not _hidden(name, attrs)
        if level > _DEPTH and changes_nothing and not self.builder.can_be_empty_element(name):
            self._left_out.setdefault(level, Counter())[name] += 1
            return None
        return super().handle_starttag(name, namespace, nsprefix, attrs, *args, **options)

    def handle_endtag(self, name: str, nsprefix: str | None = None) -> None:
        """End an element that was not left out."""
        left = self._left_out.get(len(self.tagStack))
        if left is not None and left[name]:
            left[name] -= 1
            return
        super().handle_endtag(name, nsprefix)
        for level in [one for one in self._left_out if one > len(self.tagStack)]:
            del self._left_out[level]


def _hidden(name: str, attrs: Mapping[str, Any]) -> bool:
    return name in _NOT_SHOWN or "hidden" in attrs or str(attrs.get("aria-hidden", "")).lower() == "true"


def _from_html(url: str, charset: str | None, body: bytes) -> Text:
    soup = _Shallow(body, "html.parser", from_encoding=charset)
    title = " ".join(soup.title.get_text()[: 10 * _TITLE].split())[:_TITLE] if soup.title else ""
    for element in [one for one in soup.find_all(True) if _hidden(one.name, one.attrs)]:
        element.extract()
    for link in soup.find_all("a", href=True):
        if (whole := _whole(url, str(link["href"]))) is None:
            del link["href"]
        else:
            link["href"] = whole
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    part = soup.find("main") or soup.find("article") or soup.body or soup
    converter = MarkdownConverter(heading_style="ATX", bullets="-", strip=["head", "title"])
    assert isinstance(part, Tag)
    markdown = converter.convert_soup(part)[:_TEXT]
    lines = (line.rstrip() for line in markdown.splitlines())
    return Text(title, _BLANKS.sub("\n\n", "\n".join(lines)).strip())


def _whole(url: str, reference: str) -> str | None:
    """Return the whole address of a link; ``None``: it leads nowhere, or is too long to be one."""
    try:
        whole = urljoin(url, reference[: _ADDRESS + 1])
    except ValueError:
        return None
    return whole if len(whole) <= _ADDRESS else None
