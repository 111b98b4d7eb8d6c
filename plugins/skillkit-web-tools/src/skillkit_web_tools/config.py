"""The section ``web`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["WebConfig"]


@dataclass(frozen=True, slots=True)
class WebConfig:
    """What the web tools may reach, and how much of it."""

    private_hosts: tuple[str, ...] = setting(
        (), "hosts (or host:port) that may be fetched although their addresses are private or local"
    )
    robots: bool = setting(True, "keep to a site's robots.txt")
    max_bytes: int = setting(5_000_000, "bytes of a page, after decompression", ge=1_000)
    max_redirects: int = setting(5, "redirects that are followed", ge=0, le=20)
    timeout: float = setting(30.0, "seconds for a page, redirects included", gt=0, le=600)
    user_agent: str = setting("skillkit-web-tools", "what the tools call themselves", min_length=1)
    search: str | None = setting(None, "search provider; default: the first one that can be used")
    searxng_url: str | None = setting(None, "base address of a SearXNG instance with its JSON format on")
    brave_url: str = setting("https://api.search.brave.com", "base address of the Brave Search API")
    tavily_url: str = setting("https://api.tavily.com", "base address of the Tavily API")
    wikipedia_url: str = setting("https://en.wikipedia.org", "base address of the Wikipedia to search")
