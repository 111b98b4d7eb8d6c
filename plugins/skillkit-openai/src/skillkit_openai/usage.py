"""Token counts: the provider's own numbers into disjoint buckets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.models import TokenUsage

__all__ = ["chat_usage", "responses_usage"]


_MOST = 10**12  # more is no count of tokens


def _count(value: Any) -> int:
    """``value`` as a number of tokens; 0 for what cannot be one."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST:
        return int(value)
    return 0


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
    ``num_cached_tokens``, and servers in front of Anthropic models ``cache_read_input_tokens``.
    """
    prompt = _details(raw, "prompt_tokens_details")
    completion = _details(raw, "completion_tokens_details")
    read = (
        prompt.get("cached_tokens")
        or raw.get("prompt_cache_hit_tokens")
        or raw.get("num_cached_tokens")
        or raw.get("cache_read_input_tokens")
    )
    return _buckets(
        raw,
        _count(raw.get("prompt_tokens")),
        _count(raw.get("completion_tokens")),
        _count(read),
        _count(prompt.get("cache_write_tokens") or raw.get("cache_creation_input_tokens")),
        _count(completion.get("reasoning_tokens") or raw.get("reasoning_tokens")),
    )


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
