"""Thinking levels: what the Messages API wants for ``off`` .. ``xhigh``, per model.

Sources: https://platform.claude.com/docs/en/build-with-claude/thinking (budgets, adaptive thinking) and
https://platform.claude.com/docs/en/build-with-claude/effort (words that a model takes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.contracts.adapter import ThinkingLevel
from skillkit_core.frozen import thaw
from skillkit_core.models import ModelDefinition

from .generation import Generation, generation_of

__all__ = ["BUDGETS", "LEAST_BUDGET", "is_unknown", "thinking_fields"]

LEAST_BUDGET = 1_024
BUDGETS: Mapping[str, int] = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768}
_EFFORT = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}


def is_unknown(model: ModelDefinition) -> bool:
    """Whether the definition says nothing beyond the name, so that nobody knows what the model can do."""
    return (
        not model.context_window and not model.max_output_tokens and not model.reasoning and not model.thinking_levels
    )


def thinking_fields(model: ModelDefinition, level: ThinkingLevel) -> dict[str, Any]:
    """``thinking`` and ``output_config`` of the request's body for ``level``; empty when the model has no such thing.

    ``model.thinking_levels`` decides: a number is a budget of tokens, a word an effort with adaptive thinking, a mapping
    the fields themselves, ``None`` nothing; a level that a table lacks is refused before. Without a table, and for ``off``,
    the name of a Claude model tells its generation, and every other model that can think gets a budget.
    """
    levels = model.thinking_levels
    if level in levels:
        return _of_value(levels[level])
    if not _can_think(model):
        return {}
    generation = generation_of(model.id)
    if level == "off":
        return {"thinking": {"type": "disabled"}} if generation is None else generation.without_thinking
    if generation is not None and generation.adaptive:
        return _adaptive(_word(generation, level), shown=generation.hides_thinking)
    return _of_value(BUDGETS[level])


def _of_value(value: Any) -> dict[str, Any]:
    if value is None or value is False:
        return {}
    if isinstance(value, Mapping):
        return dict(thaw(value))
    if isinstance(value, int) and value is not True:
        return {"thinking": {"type": "enabled", "budget_tokens": max(LEAST_BUDGET, value)}} if value > 0 else {}
    if value == "disabled":
        return {"thinking": {"type": "disabled"}}
    return _adaptive(str(value), shown=False)


def _adaptive(word: str, *, shown: bool) -> dict[str, Any]:
    thinking = {"type": "adaptive"}
    if shown:  # these models leave the text of their thinking out unless asked
        thinking["display"] = "summarized"
    return {"thinking": thinking, "output_config": {"effort": word}}


def _word(generation: Generation, level: str) -> str:
    if level == "xhigh" and generation.version < (4, 7):
        return "max" if generation.line == "opus" else "high"  # 4.6 has no xhigh
    return _EFFORT[level]


def _can_think(model: ModelDefinition) -> bool:
    if model.reasoning or model.thinking_levels:
        return True
    if not is_unknown(model):
        return False
    generation = generation_of(model.id)
    return generation is None or generation.version >= (3, 7)
