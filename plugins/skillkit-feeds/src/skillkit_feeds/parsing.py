"""What is in a feed: RSS, Atom and their relatives, read from bytes that were fetched already."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from io import BytesIO
from time import strftime
from typing import Any

from skillkit_core import ToolError

__all__ = ["Feed", "Item", "parse"]

_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a feed.

    Attributes:
        id: what the feed calls it, else its address or title.
        title, link: as the feed says.
        published: UTC, ISO 8601; empty where the feed says nothing that can be read.
        summary: plain text.
    """

    id: str
    title: str
    link: str = ""
    published: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed: its title, and its items in the order of the feed."""

    title: str
    items: tuple[Item, ...]


def parse(data: bytes, url: str, media_type: str, summary_chars: int) -> Feed:
    """Return what is in a feed.

    Args:
        data: the bytes.
        url: where they come from; links are relative to it.
        media_type: as the server said.
        summary_chars: how much of a summary is wanted.

    Raises:
        ToolError: the bytes are no feed.
    """
    import feedparser  # type: ignore[import-untyped]

    headers = {"content-location": url, "content-type": media_type}
    # a file object: feedparser would take a text for an address, and fetch it past the guards
    found = feedparser.parse(BytesIO(data), response_headers=headers)
    if not found.version and not found.entries:
        raise ToolError(f"{url} is no RSS or Atom feed")
    items = [_item(entry, summary_chars) for entry in found.entries]
    return Feed(_plain(found.feed.get("title")) or url, tuple(item for item in items if item.id))


def _item(entry: Any, summary_chars: int) -> Item:
    title, link = _plain(entry.get("title")), str(entry.get("link") or "")
    when = entry.get("published_parsed") or entry.get("updated_parsed")
    try:
        published = strftime("%Y-%m-%dT%H:%M:%SZ", when) if when else ""
    except ValueError:
        published = ""
    summary = _plain(entry.get("summary"))
    if len(summary) > summary_chars:
        summary = f"{summary[:summary_chars].rstrip()} …"
    return Item(str(entry.get("id") or link or title), title or "(no title)", link, published, summary)


def _plain(text: Any) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", str(text or ""))).split())
