"""The provider's list of models as definitions. Source: https://platform.claude.com/docs/en/api/models-list"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.models import ModelDefinition

from .thinking import BUDGETS

__all__ = ["definitions"]


def definitions(answer: Any, provider: str) -> list[ModelDefinition] | None:
    """The models of a ``GET /v1/models`` answer; what it does not say stays unknown. ``None``: it is no list."""
    listed = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(listed, list):
        return None
    return [_definition(m, provider) for m in listed if isinstance(m, Mapping) and m.get("id")]


def _tokens(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _definition(model: Mapping[str, Any], provider: str) -> ModelDefinition:
    able = model.get("capabilities")
    able = able if isinstance(able, Mapping) else {}
    names = {"text", "tool_use"}
    for theirs, ours in (
        ("image_input", "image"),
        ("pdf_input", "pdf"),
        ("thinking", "reasoning"),
        ("structured_outputs", "structured_output"),
    ):
        if _supported(able, theirs):
            names.add(ours)
    return ModelDefinition(
        id=str(model["id"]),
        provider=provider,
        api="anthropic-messages",
        display_name=str(model.get("display_name") or ""),
        context_window=_tokens(model.get("max_input_tokens")),
        max_output_tokens=_tokens(model.get("max_tokens")),
        capabilities=names,
        reasoning="reasoning" in names,
        thinking_levels=_levels(able),
    )


def _supported(able: Mapping[str, Any], name: str) -> bool:
    entry = able.get(name)
    return isinstance(entry, Mapping) and bool(entry.get("supported"))


def _levels(able: Mapping[str, Any]) -> dict[str, Any]:
    thinking, effort = able.get("thinking"), able.get("effort")
    if not isinstance(thinking, Mapping) or not thinking.get("supported"):
        return {}
    types = thinking.get("types")
    types = types if isinstance(types, Mapping) else {}
    levels: dict[str, Any] = {"off": "disabled" if _supported(types, "disabled") else None}
    if _supported(types, "adaptive") and isinstance(effort, Mapping) and effort.get("supported"):
        best = next((w for w in ("xhigh", "max", "high") if _supported(effort, w)), "high")
        return levels | {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": best}
    return levels | dict(BUDGETS)
