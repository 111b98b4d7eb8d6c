"""What the servers of one wire want differently: :class:`Dialect`, chosen by provider and host, changed by options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from skillkit_core.errors import UsageError

__all__ = ["NO_THINKING", "OPENAI_URL", "THINKING", "Dialect", "dialect_for"]

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences between servers.

    Attributes:
        max_tokens_field: what chat calls the limit of an answer (``max_completion_tokens`` at OpenAI).
        stream_usage: send ``stream_options.include_usage``.
        strict: the server takes ``strict`` in tools and response schemas.
        cache_key: the server takes ``prompt_cache_key``, which keeps a session's requests on one cache.
        thinking: how chat asks for a thinking level: ``effort`` (``reasoning_effort``), ``reasoning`` (OpenRouter's
            object), ``switch`` (``thinking.type`` of DeepSeek, Z.ai and Moonshot) or ``none``.
        call_ids: ``any``, or ``mistral`` for exactly nine letters and digits.
        store: whether the server keeps Responses; with ``False`` reasoning travels encrypted.
        image_results: chat tool results may hold images.
        document_urls: chat takes documents by their address.
        summaries: ask Responses for summaries of the reasoning.
        cache_control: breakpoints for prompt caching in chat messages: ``auto`` (for models in ``cached``), ``off``, or for
            every model ``5m`` or ``1h``, which is how long they hold.
        cached: models that cache by breakpoints behind this server: pattern of the id, and how many breakpoints help.
        image_types: types of images that the server takes; ``None``: nobody knows, all are sent.
        routes: the server hands requests on, so that what a model can do depends on who serves it.
    """

    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    strict: bool = False
    cache_key: bool = False
    thinking: Literal["effort", "reasoning", "switch", "none"] = "effort"
    call_ids: Literal["any", "mistral"] = "any"
    store: bool | None = None
    image_results: bool = False
    document_urls: bool = True
    summaries: bool = False
    cache_control: Literal["auto", "off", "5m", "1h"] = "auto"
    cached: tuple[tuple[str, int], ...] = ()
    image_types: frozenset[str] | None = None
    routes: bool = False


# How chat asks for a thinking level, by ``Dialect.thinking``: the fields of the body for the wire's word of the level.
THINKING: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "effort": lambda word: {"reasoning_effort": word},
    "reasoning": lambda word: {"reasoning": {"effort": word}},
    "switch": lambda word: {"thinking": {"type": "enabled"}},
    "none": lambda word: {},
}
# How chat says that the model shall not think, where the server takes that.
NO_THINKING: Mapping[str, dict[str, Any]] = {"switch": {"thinking": {"type": "disabled"}}}

# Claude reads what was written before; Gemini looks at one breakpoint alone and caches the rest by itself, so that one
# stays where it is. https://openrouter.ai/docs/features/prompt-caching
_OPENROUTER_CACHED = (("anthropic/*", 3), ("google/gemini-*", 1))
# https://platform.openai.com/docs/guides/images-vision#image-input-requirements; Azure names the same in its refusals
_IMAGES = frozenset({"image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif"})
_OPENAI = Dialect(
    "max_completion_tokens",
    strict=True,
    cache_key=True,
    store=False,
    document_urls=False,
    summaries=True,
    image_types=_IMAGES,
)
_AZURE = replace(_OPENAI, cache_key=False)
_BY_HOST: dict[str, Dialect] = {
    "openai.com": _OPENAI,
    "openai.azure.com": _AZURE,
    "services.ai.azure.com": _AZURE,
    "cognitiveservices.azure.com": _AZURE,
    "openrouter.ai": Dialect(thinking="reasoning", strict=True, cached=_OPENROUTER_CACHED, routes=True),
    "ai-gateway.vercel.sh": Dialect(thinking="reasoning", routes=True),
    "mistral.ai": Dialect(stream_usage=False, thinking="none", call_ids="mistral"),
    "deepseek.com": Dialect(thinking="switch"),
    "z.ai": Dialect(thinking="switch"),
    "bigmodel.cn": Dialect(thinking="switch"),
    "moonshot.ai": Dialect(thinking="switch"),
    "x.ai": Dialect("max_completion_tokens", store=False),
    "groq.com": Dialect("max_completion_tokens"),
    "cerebras.ai": Dialect("max_completion_tokens"),
    "perplexity.ai": Dialect(stream_usage=False),
}
_NAMES = {f.name for f in fields(Dialect)} - {"cached", "image_types", "routes"}


def dialect_for(base_url: str, options: Mapping[str, Any]) -> Dialect:
    """The dialect of the server at ``base_url``, with ``options`` on top.

    Raises:
        UsageError: an option that no adapter of this plugin knows.
    """
    host = (urlsplit(base_url).hostname or "").lower()
    found = next((d for h, d in _BY_HOST.items() if host == h or host.endswith("." + h)), Dialect())
    unknown = sorted(set(options) - _NAMES)
    if unknown:
        raise UsageError(
            f"unknown option {unknown[0]!r} of an OpenAI provider", hint=f"known: {', '.join(sorted(_NAMES))}"
        )
    return replace(found, **options)
