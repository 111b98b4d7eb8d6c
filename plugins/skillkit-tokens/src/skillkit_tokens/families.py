"""Which weights belong to a model: families of tokenizers, and within them models or wires with another hidden prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["FAMILIES", "family_of", "table", "tokenizer_of"]

# (family, tokenizer, pattern of the model's id, pattern of "provider api"); the first that fits counts
FAMILIES = tuple(
    (family, tokenizer, re.compile(model), re.compile(wire))
    for family, tokenizer, model, wire in (
        ("claude-new", "claude-new", r"claude.*(opus-4[.-][78]|4[.-][78]-opus|(opus|sonnet|haiku|fable)-5)", ""),
        ("claude-4.5", "claude", r"claude.*4[.-][56]", ""),
        ("claude-4", "claude", r"claude", ""),
        ("gpt-oss", "gpt-oss", r"gpt-oss", ""),
        ("gpt-5-chat", "gpt", r"gpt-5|(^|/)o\d", r"^(openai|azure)\S* openai-chat"),
        ("gpt-5", "gpt", r"gpt-5|(^|/)o\d", ""),
        ("gpt-cl100k", "gpt", r"gpt-3\.5|gpt-4($|-\d|-turbo|-vision|-32k)", ""),
        ("gpt-4", "gpt", r"gpt|davinci", ""),
        ("grok-code", "grok", r"grok-code", ""),
        ("grok-3", "grok", r"grok.*(mini|-[23])", ""),
        ("grok-4.3", "grok", r"grok-(4\.[2-9]|[5-9])", ""),
        ("grok-4", "grok", r"grok", ""),
        ("llama-4", "llama", r"llama-?4", ""),
        ("llama-3", "llama", r"llama", ""),
        ("kimi-k2.5", "kimi", r"kimi-k(2\.[5-9]|[3-9])", ""),
        ("kimi-k2", "kimi", r"kimi", ""),
        ("deepseek-responses", "deepseek", r"deepseek", r"openai-responses"),
        ("deepseek-chat", "deepseek", r"deepseek", ""),
        ("gemini-3", "gemini", r"gemini-[3-9]", ""),
        ("gemini-2", "gemini", r"gemini|gemma", ""),
        ("glm", "glm", r"glm", ""),
        ("mistral", "mistral", r"mistral|mixtral|ministral|magistral|codestral|pixtral|devstral", ""),
        ("qwen", "qwen", r"qwen|qwq", ""),
    )
)
OTHER = "other"


@cache
def _placed(model_id: str, provider: str, api: str) -> tuple[str, str]:
    model, wire = model_id.lower(), f"{provider} {api}"
    found = (f[:2] for f in FAMILIES if f[2].search(model) and f[3].search(wire))
    return next(found, (OTHER, OTHER))


def family_of(model_id: str, provider: str = "", api: str = "") -> str:
    """Return the family of a model on a wire; ``other`` for models that no row of the fit knows."""
    return _placed(model_id, provider, api)[0]


def tokenizer_of(model_id: str, provider: str = "", api: str = "") -> str:
    """Return the tokenizer of a model: families with the same one share the weights of texts."""
    return _placed(model_id, provider, api)[1]


@cache
def table() -> Mapping[str, Any]:
    """Return what the last fit wrote: ``date``, ``source``, ``rows``, ``weights`` by family, ``error`` by group."""
    found: Mapping[str, Any] = json.loads(Path(__file__).with_name("weights.json").read_text("utf-8"))
    return found
