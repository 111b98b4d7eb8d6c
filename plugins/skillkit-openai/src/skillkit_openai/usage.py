"""Token counts: the provider's own numbers into disjoint buckets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.models import TokenUsage

__all__ = ["chat_usage", "responses_usage"]


_PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_MOST = 10**12  # more is no count of tokens


def _count(value: Any) -> int:
    """``value`` as a number of tokens; 0 for what cannot be one."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST:
        return int(value)
    return 0


def _first(raw: Mapping[str, Any], *names: str) -> int:
    """The first of these numbers that is more than 0."""
    return next((n for name in names if (n := _count(raw.get(name)))), 0)


def _details(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def _buckets(raw: Mapping[str, Any], prompt: int, completion: int, read: int, write: int, thought: int) -> TokenUsage:
    """Disjoint buckets of a wire whose prompt count includes cached tokens and whose completion count includes reasoning.

    xAI, and Gemini behind some gateways, count reasoning beside the completion: the total, or reasoning that exceeds the
    completion, says so. So do cached tokens that exceed the prompt (Grok on Azure, Mistral).
    """
    total = _count(raw.get("total_tokens"))
    beside = thought > completion or (thought > 0 and total >= prompt + completion + thought)
    return TokenUsage(
        input=prompt if read > prompt else max(0, prompt - read - write),
        output=completion if beside else completion - thought,
        cache_read=read,
        cache_write=write,
        reasoning=thought,
        raw=raw,
    )


def chat_usage(raw: Mapping[str, Any]) -> TokenUsage:
    """The ``usage`` object of Chat Completions and of the servers that imitate it.

    Cached tokens are ``prompt_tokens_details.cached_tokens``; DeepSeek also says ``prompt_cache_hit_tokens``, Mistral
    ``num_cached_tokens``, Together and Moonshot ``cached_tokens``, and servers in front of Anthropic models
    ``cache_read_input_tokens``. Written ones are ``cache_write_tokens`` there (OpenRouter), ``cache_creation_tokens``
    (LiteLLM) or ``cache_creation_input_tokens`` (Alibaba). Gemini tells thinking by the total alone, Mistral the tokens of
    recordings: beside ``prompt_audio_seconds`` the prompt is what the total has more than the completion.
    """
    prompt = _details(raw, "prompt_tokens_details")
    completion = _details(raw, "completion_tokens_details")
    read = _first(prompt, "cached_tokens") or _first(
        raw, "prompt_cache_hit_tokens", "num_cached_tokens", "cache_read_input_tokens", "cached_tokens"
    )
    write = _first(prompt, "cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens") or _first(
        raw, "cache_creation_input_tokens"
    )
    asked, said = _count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens"))
    if _count(raw.get("prompt_audio_seconds")):
        asked = max(asked, _count(raw.get("total_tokens")) - said)
    thought = _first(completion, "reasoning_tokens") or _first(raw, "reasoning_tokens")
    if raw.keys() <= _PLAIN:
        thought = max(0, _count(raw.get("total_tokens")) - asked - said)
    return _buckets(raw, asked, said, read, write, thought)


def responses_usage(raw: Mapping[str, Any]) -> TokenUsage:
    """The ``usage`` object of the Responses API."""
    inputs = _details(raw, "input_tokens_details")
    outputs = _details(raw, "output_tokens_details")
    return _buckets(
        raw,
        _count(raw.get("input_tokens")),
        _count(raw.get("output_tokens")),
        _count(inputs.get("cached_tokens")),
        _count(inputs.get("cache_write_tokens")),
        _count(outputs.get("reasoning_tokens")),
    )
