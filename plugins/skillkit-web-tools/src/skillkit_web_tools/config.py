"""The section ``web`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class WebConfig(BaseModel):
    """What the web tools may reach, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    private_hosts: tuple[str, ...] = Field(
        (), description="Hosts (or host:port) that may be fetched although their addresses are private or local."
    )
    robots: bool = Field(True, description="Whether web_fetch keeps to a site's robots.txt.")
    max_bytes: int = Field(5_000_000, ge=1_000, description="Bytes of a page, after decompression.")
    max_redirects: int = Field(5, ge=0, le=20, description="Redirects that are followed.")
    timeout: float = Field(30.0, gt=0, le=600, description="Seconds for a page, redirects included.")
    user_agent: str = Field("skillkit-web-tools", min_length=1, description="What the tools call themselves.")
    search: str | None = Field(None, description="The search provider; default: the first one that can be used.")
    searxng_url: str | None = Field(None, description="Base address of a SearXNG instance with its JSON format on.")
    brave_url: str = Field("https://api.search.brave.com", description="Base address of the Brave Search API.")
    tavily_url: str = Field("https://api.tavily.com", description="Base address of the Tavily API.")
    wikipedia_url: str = Field("https://en.wikipedia.org", description="Base address of the Wikipedia to search.")
