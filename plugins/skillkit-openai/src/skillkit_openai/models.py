"""A server's list of models as definitions: ``GET /models``, and what many servers say there beyond the id.

Sources: https://openrouter.ai/docs/api-reference/list-available-models (windows, answers, prices, modalities),
https://console.groq.com/docs/api-reference#models, https://docs.mistral.ai/api/#tag/models,
https://lmstudio.ai/docs/developer/rest (``/api/v0`` and ``/api/v1``), https://docs.ollama.com/api/ps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.models import ModelCost, ModelDefinition

__all__ = ["definitions"]

# OpenRouter and Ollama, Groq, Mistral and LM Studio, vLLM; OpenAI says nothing about windows
_WINDOWS = ("context_length", "context_window", "max_context_length", "max_model_len")
_ANSWERS = ("max_completion_tokens", "max_output_tokens")
_IDS = ("id", "key", "model", "name")  # ``key``: LM Studio; ``model`` and ``name``: Ollama
_INPUTS = {"image": "image", "file": "pdf", "audio": "audio"}
_PARAMETERS = {"tools": "tool_use", "reasoning": "reasoning", "structured_outputs": "structured_output"}


def definitions(answer: Any, provider: str, api: str) -> tuple[ModelDefinition, ...] | None:
    """The models of an answer, ``{"data": [{"id": ...}]}`` or the list alone; what it does not say stays unknown.

    ``None``: it is no list.
    """
    listed = answer.get("data", answer.get("models")) if isinstance(answer, Mapping) else answer
    if not isinstance(listed, list):
        return None
    return tuple(_definition(m, name, provider, api) for m in listed if isinstance(m, Mapping) and (name := _name(m)))


def _definition(model: Mapping[str, Any], name: str, provider: str, api: str) -> ModelDefinition:
    best = model.get("top_provider")
    able = _capabilities(model) or {"text", "tool_use"}
    return ModelDefinition(
        name,
        provider,
        api,
        context_window=_first(model, _WINDOWS),
        max_output_tokens=_first(model, _ANSWERS) or (_first(best, _ANSWERS) if isinstance(best, Mapping) else 0),
        cost=_cost(model.get("pricing")),
        capabilities=able,
        reasoning="reasoning" in able,
    )


def _name(model: Mapping[str, Any]) -> str | None:
    names = (model.get(key) for key in _IDS)
    return next((n for n in names if isinstance(n, str) and n), None)


def _first(model: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    sizes = (model.get(key) for key in keys)
    return next((s for s in sizes if isinstance(s, int) and not isinstance(s, bool) and s > 0), 0)


def _cost(pricing: Any) -> ModelCost | None:
    """OpenRouter's prices, dollars per token as texts; a negative one is none, a cache price that is left out is the input's."""
    if not isinstance(pricing, Mapping):
        return None
    paid, asked = _price(pricing.get("prompt")), _price(pricing.get("completion"))
    if paid is None or asked is None:
        return None
    cached, kept = _price(pricing.get("input_cache_read")), _price(pricing.get("input_cache_write"))
    return ModelCost(paid, asked, paid if cached is None else cached, paid if kept is None else kept)


def _price(value: Any) -> float | None:
    try:
        price = round(float(value) * 1_000_000, 6)
    except (TypeError, ValueError):
        return None
    return price if 0 <= price < float("inf") else None


def _capabilities(model: Mapping[str, Any]) -> set[str]:
    """What OpenRouter's list says that a model takes and can do; empty where a list says nothing of it."""
    about, parameters = model.get("architecture"), model.get("supported_parameters")
    if not isinstance(about, Mapping) or not isinstance(parameters, list):
        return set()
    inputs = about.get("input_modalities")
    able = {_INPUTS[i] for i in inputs if i in _INPUTS} if isinstance(inputs, list) else set()
    return {"text"} | able | {_PARAMETERS[p] for p in parameters if p in _PARAMETERS}
