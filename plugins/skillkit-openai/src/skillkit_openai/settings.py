"""How a request's settings read on the wires: tools, schemas, thinking levels, choices, and what a model refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.contracts.adapter import LLMRequest

from .handover import undescribed

__all__ = ["problems_of", "strict_schema", "thinking_value"]

_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh")
_NOT_STRICT = frozenset({"allOf", "dependentRequired", "dependentSchemas", "else", "if", "not", "oneOf", "then"})


def strict_schema(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes the schema: every object closed, every property required.

    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    if isinstance(schema, Mapping):
        if not _NOT_STRICT.isdisjoint(schema):
            return False
        if schema.get("type") == "object" or "properties" in schema:
            properties = schema.get("properties") or {}
            if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != set(properties):
                return False
            return all(strict_schema(p) for p in properties.values()) and _definitions(schema)
        return all(strict_schema(v) for k, v in schema.items() if k in ("items", "anyOf")) and _definitions(schema)
    if isinstance(schema, (list, tuple)):
        return all(strict_schema(s) for s in schema)
    return True


def _definitions(schema: Mapping[str, Any]) -> bool:
    return all(strict_schema(d) for name in ("$defs", "definitions") for d in (schema.get(name) or {}).values())


def thinking_value(request: LLMRequest) -> Any:
    """What the wire wants for the thinking level: a word or an object of body fields; ``None``: say nothing.

    The model's own table decides. Without one the levels are OpenAI's effort words, and a model that is known not to
    reason is not asked to.
    """
    level, model = request.settings.thinking, request.model
    if level is None:
        return None
    if model.thinking_levels:
        return model.thinking_levels.get(level)
    if level == "off" or not (model.reasoning or undescribed(model)):
        return None
    return level


def problems_of(request: LLMRequest) -> list[str]:
    """Settings that cannot be, one line each.

    ``model.options["unsupported_parameters"]`` lists settings (``temperature``, ``top_p``, ``stop``, ...) that the model refuses.
    """
    settings, model = request.settings, request.model
    out: list[str] = []
    for name in model.options.get("unsupported_parameters") or ():
        value = getattr(settings, name, None)
        if value not in (None, ()):
            out.append(f"model {model.id} does not take the setting {name}; leave it out")
    if settings.max_tokens is not None and settings.max_tokens < 1:
        out.append(f"max_tokens is {settings.max_tokens}; it must be at least 1")
    if model.max_output_tokens and (settings.max_tokens or 0) > model.max_output_tokens:
        out.append(f"max_tokens is {settings.max_tokens}; model {model.id} gives at most {model.max_output_tokens}")
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        out.append(f"temperature is {settings.temperature}; it must be from 0 to 2")
    if settings.top_p is not None and not 0 <= settings.top_p <= 1:
        out.append(f"top_p is {settings.top_p}; it must be from 0 to 1")
    if settings.thinking is not None and settings.thinking not in _LEVELS:
        out.append(f"thinking is {settings.thinking!r}; it must be one of {', '.join(_LEVELS)}")
    if settings.thinking and model.thinking_levels and settings.thinking not in (*model.thinking_levels, "off"):
        known = ", ".join(level for level in _LEVELS if level in model.thinking_levels)
        out.append(f"model {model.id} has no thinking level {settings.thinking!r}; known: {known}")
    choice = settings.tool_choice
    if choice not in (None, "auto", "none", "required") and choice not in {t.name for t in request.tools}:
        out.append(f"tool_choice names {choice!r}, which is not among the tools of the request")
    return out
