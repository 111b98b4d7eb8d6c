"""The section ``anthropic`` of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["AnthropicConfig"]


class AnthropicConfig(BaseModel):
    """How requests to the Messages API are made.

    Attributes:
        cache: prompt caching; how long the provider keeps a prefix, or ``off``.
        timeout: seconds that may pass without an event that says something; comments and ``ping`` events say nothing.
        connect_timeout: seconds until the connection must stand.
        proxy: proxy for all requests; default: the usual environment variables (``HTTPS_PROXY``, ``NO_PROXY``).
        headers: further HTTP headers.
        betas: values of the ``anthropic-beta`` header, for the provider ``anthropic`` alone.
        signed_thinking: the server signs all thinking, and refuses any that is not; ``false`` for a server that signs none and
            wants it back all the same, as DeepSeek and Kimi do. Endpoints of this plugin's other providers are known.
        max_tokens: most tokens of an answer where neither the request nor the model says it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cache: Literal["5m", "1h", "off"] = "5m"
    timeout: float = Field(default=600.0, gt=0)
    connect_timeout: float = Field(default=60.0, gt=0)
    proxy: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    betas: tuple[str, ...] = ()
    signed_thinking: bool = True
    max_tokens: int = Field(default=16_384, gt=0)
