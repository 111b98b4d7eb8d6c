"""A server's list of models as definitions: ``GET /models``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.models import ModelDefinition

__all__ = ["definitions"]

# OpenRouter, Groq, Mistral, vLLM; OpenAI says nothing about windows
_WINDOWS = ("context_length", "context_window", "max_context_length", "max_model_len")


def definitions(answer: Any, provider: str, api: str) -> tuple[ModelDefinition, ...] | None:
    """The models of an answer, ``{"data": [{"id": ...}]}`` or the list alone; what it does not say stays unknown.

    ``None``: it is no list.
    """
    listed = answer.get("data") if isinstance(answer, Mapping) else answer
    if not isinstance(listed, list):
        return None
    named = (m for m in listed if isinstance(m, Mapping) and isinstance(m.get("id"), str) and m["id"])
    return tuple(ModelDefinition(m["id"], provider, api, context_window=_window(m)) for m in named)


def _window(model: Mapping[str, Any]) -> int:
    sizes = (model.get(name) for name in _WINDOWS)
    return next((s for s in sizes if isinstance(s, int) and not isinstance(s, bool) and s > 0), 0)
