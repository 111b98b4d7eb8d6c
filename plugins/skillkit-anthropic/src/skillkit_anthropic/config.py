"""The section ``anthropic`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillkit_core.config import setting

__all__ = ["AnthropicConfig"]


@dataclass(frozen=True, slots=True)
class AnthropicConfig:
    """How requests to the Messages API are made."""

    cache: Literal["5m", "1h", "off"] = setting("5m", "prompt caching: how long the provider keeps a prefix, or off")
    timeout: float = setting(
        600.0, "seconds that may pass without an event that says something; comments and pings say nothing", gt=0
    )
    connect_timeout: float = setting(60.0, "seconds until the connection must stand", gt=0)
    proxy: str | None = setting(None, "proxy for all requests; default: HTTPS_PROXY, NO_PROXY")
    headers: dict[str, str] = setting(dict, "further HTTP headers")
    betas: tuple[str, ...] = setting((), "values of the anthropic-beta header, for the provider anthropic alone")
    signed_thinking: bool = setting(
        True,
        "the server signs all thinking, and refuses any that is not; false for one that signs none and wants it back all the "
        "same, as DeepSeek and Kimi do. Endpoints of this plugin's other providers are known",
    )
    max_tokens: int = setting(16_384, "most tokens of an answer where neither the request nor the model says it", gt=0)
