"""The pages of one site, nearest first: through the guarded client, one after the other, no more than was asked for."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from skillkit_web_tools import client_of

from skillkit_core import ToolError

if TYPE_CHECKING:
    from skillkit_web_tools import Page

    from skillkit_core import ToolContext

__all__ = ["Crawled", "crawl", "links_of"]

_LINK = re.compile(r"\]\(<?([^)\s>]+)")
_NO_PAGE = re.compile(
    r"\.(?:png|jpe?g|gif|webp|svg|ico|css|m?js|woff2?|zip|t?gz|tar|7z|pdf|mp[34]|avi|mov|exe|dmg|iso)\Z", re.I
)
_MOST_NOTES = 10


class Crawled(NamedTuple):
    """What was read.

    Attributes:
        pages: the pages, nearest first.
        notes: what was not read, and why.
    """

    pages: tuple[Page, ...]
    notes: tuple[str, ...]


async def crawl(ctx: ToolContext, url: str, most: int, depth: int, pause: float, seconds: float) -> Crawled:
    """Read a page, and the pages of its site that lie within ``depth`` links.

    The client checks each address, also behind redirects, and keeps to robots.txt.

    Raises:
        ToolError: the first page cannot be read.
    """
    client, clock = client_of(ctx.agent.host), asyncio.get_running_loop().time
    first = await client.page(url)
    pages, notes, ends = [first], [], clock() + seconds
    seen = {_key(url), _key(first.url)}
    waiting = deque(_near(first, 1, seen) if depth else ())
    while waiting and len(pages) < most and clock() < ends:
        ctx.on_output(f"{len(pages)} of {most} pages\n")
        await asyncio.sleep(pause)
        link, far = waiting.popleft()
        try:
            page = await client.page(link)
        except ToolError as error:
            notes.append(f"not read: {error}")
            continue
        if urlsplit(page.url).netloc != urlsplit(first.url).netloc or (page.url != link and _key(page.url) in seen):
            continue
        seen.add(_key(page.url))
        pages.append(page)
        waiting.extend(_near(page, far + 1, seen) if far < depth else ())
    more = [f"{len(notes) - _MOST_NOTES} more pages could not be read"] if len(notes) > _MOST_NOTES else []
    if waiting and most > 1:
        why = "the time is over" if len(pages) < most else f"{most} were read"
        more.append(f"{len(waiting)} more pages of the site were not read: {why}")
    return Crawled(tuple(pages), (*notes[:_MOST_NOTES], *more))


def _near(page: Page, far: int, seen: set[str]) -> list[tuple[str, int]]:
    """Return the pages of the same site that a page links to and that are not known, which they are from now on."""
    site, found = urlsplit(page.url).netloc, []
    for link in links_of(page.url, page.text):
        parts = urlsplit(link)
        if parts.netloc == site and not _NO_PAGE.search(parts.path) and _key(link) not in seen:
            seen.add(_key(link))
            found.append((link, far))
    return found


def links_of(url: str, text: str) -> list[str]:
    """Return the web addresses that a page of Markdown links to, each once."""
    found = []
    for link in _LINK.findall(text):
        try:
            whole = urldefrag(urljoin(url, link))[0]
        except ValueError:
            continue
        if whole.lower().startswith(("http://", "https://")):
            found.append(whole)
    return list(dict.fromkeys(found))


def _key(url: str) -> str:
    return urldefrag(url)[0].rstrip("/")
