"""The search providers that come with the plugin.

Sources: docs.searxng.org/dev/search_api.html, api-dashboard.search.brave.com (web search, query parameters),
docs.tavily.com/documentation/api-reference/endpoint/search, www.mediawiki.org/wiki/API:Search. Wikipedia allows programs
without a key that name themselves in the user agent; search engines whose terms forbid programs are not here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .client import client_of
from .search import SearchHit, SearchProvider

if TYPE_CHECKING:
    from skillkit_core import Host

# ruff: noqa: D102 - the contract says what usable() and search() do

__all__ = ["Brave", "SearXNG", "Tavily", "Wikipedia"]

_TAG = re.compile(r"<[^<>]+>")


def _plain(text: Any) -> str:
    """Return an excerpt without tags and entities, in one line."""
    return " ".join(html.unescape(_TAG.sub("", str(text or ""))).split())


def _hits(rows: Iterable[Any], limit: int, excerpt: str) -> list[SearchHit]:
    """Return the rows that have an address."""
    found = (row for row in rows if isinstance(row, Mapping) and row.get("url"))
    return [SearchHit(_plain(row.get("title")), str(row["url"]), _plain(row.get(excerpt))) for row in found][:limit]


def _list(answer: Any, *path: str) -> list[Any]:
    """Return the list at a path of an answer; empty where there is none."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, Mapping) else None
    return answer if isinstance(answer, list) else []


class _Provider(SearchProvider):
    """What the providers share: the host's client and settings."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.config = host.config.section("web")

    async def _key(self, name: str) -> str:
        return await self.host.find_secret(name) or ""


class SearXNG(_Provider):
    """A SearXNG instance."""

    name = "searxng"

    async def usable(self) -> str | None:
        return None if self.config.searxng_url else "needs web.searxng_url"

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        url = f"{self.config.searxng_url.rstrip('/')}/search"
        answer = await client_of(self.host).json("GET", url, params={"q": query, "format": "json"})
        return _hits(_list(answer, "results"), limit, "content")


class Brave(_Provider):
    """The Brave Search API."""

    name = "brave"

    async def usable(self) -> str | None:
        return None if await self._key("BRAVE_API_KEY") else "needs the key BRAVE_API_KEY"

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        answer = await client_of(self.host).json(
            "GET", f"{self.config.brave_url.rstrip('/')}/res/v1/web/search",
            params={"q": query, "count": str(min(limit, 20))},
            headers={"X-Subscription-Token": await self._key("BRAVE_API_KEY"), "Accept": "application/json"},
        )  # fmt: skip
        return _hits(_list(answer, "web", "results"), limit, "description")


class Tavily(_Provider):
    """The Tavily API."""

    name = "tavily"

    async def usable(self) -> str | None:
        return None if await self._key("TAVILY_API_KEY") else "needs the key TAVILY_API_KEY"

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        answer = await client_of(self.host).json(
            "POST", f"{self.config.tavily_url.rstrip('/')}/search",
            headers={"Authorization": f"Bearer {await self._key('TAVILY_API_KEY')}"},
            body={"query": query, "max_results": min(limit, 20)},
        )  # fmt: skip
        return _hits(_list(answer, "results"), limit, "content")


class Wikipedia(_Provider):
    """The search of a Wikipedia."""

    name = "wikipedia"

    async def usable(self) -> str | None:
        return None

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        base = self.config.wikipedia_url.rstrip("/")
        params = {
            "action": "query",
            "list": "search",
            "srsearch": query,
            "srlimit": str(min(limit, 50)),
            "format": "json",
        }
        answer = await client_of(self.host).json("GET", f"{base}/w/api.php", params=params)
        rows = [
            {**row, "url": f"{base}/?curid={row['pageid']}"}
            for row in _list(answer, "query", "search")
            if isinstance(row, Mapping) and row.get("pageid")
        ]
        return _hits(rows, limit, "snippet")
