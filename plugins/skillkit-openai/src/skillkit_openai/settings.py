"""How a request's settings read on the wires: tools, schemas, thinking levels, choices, and what a model refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.contracts.adapter import LLMRequest

from .dialect import Dialect
from .handover import undescribed

__all__ = ["add_extra", "has_tools", "problems_of", "server_tools", "strict_schema", "thinking_value"]

_RESERVED = frozenset({"input", "messages", "model", "stream", "tools"})
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

    The model's own table decides; ``off`` of a model that cannot stop is its least level. Without a table the levels are
    OpenAI's effort words, and a model that is known not to reason is not asked to.
    """
    level, model = request.settings.thinking, request.model
    if level is None:
        return None
    if model.thinking_levels:
        least = model.thinking_levels.get("minimal") if level == "off" else None
        return model.thinking_levels.get(level, least)
    if level == "off" or not (model.reasoning or undescribed(model)):
        return None
    return level


def add_extra(fields: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """Put the caller's own fields into the body: objects join with what is there, lists too, anything else replaces it.

    What the request itself says stays; its tools are put in elsewhere.
    """
    for name, value in extra.items():
        if name in _RESERVED:
            continue
        old = fields.get(name)
        if isinstance(old, dict) and isinstance(value, Mapping):
            fields[name] = {**old, **value}
        elif isinstance(old, list) and isinstance(value, (list, tuple)):
            fields[name] = [*old, *(v for v in value if v not in old)]
        else:
            fields[name] = value


def server_tools(request: LLMRequest) -> tuple[Mapping[str, Any], ...]:
    """Tools that the server runs itself, ``settings.extra["tools"]``."""
    return tuple(t for t in request.settings.extra.get("tools") or () if isinstance(t, Mapping))


def has_tools(request: LLMRequest) -> bool:
    """Whether the model may call anything."""
    return bool(request.tools or server_tools(request))


def problems_of(request: LLMRequest, dialect: Dialect, *, stops: bool = True) -> list[str]:
    """Settings that cannot be, one line each; ``stops``: the wire has stop sequences.

    ``model.options["unsupported_parameters"]`` lists settings (``temperature``, ``top_p``, ``stop``, ...) that the model refuses.
    """
    settings, model = request.settings, request.model
    out = []
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
    if settings.thinking and model.thinking_levels and settings.thinking not in (*model.thinking_levels, "off"):
        known = ", ".join(level for level in _LEVELS if level in model.thinking_levels)
        out.append(f"model {model.id} has no thinking level {settings.thinking!r}; known: {known}")
    if settings.timeout is not None and not settings.timeout > 0:
        out.append(f"timeout is {settings.timeout}; it must be more than 0 seconds")
    choice = settings.tool_choice
    known_tools = {t.name for t in request.tools} | {t.get(n) for t in server_tools(request) for n in ("name", "type")}
    if choice not in (None, "auto", "none", "required") and choice not in known_tools:
        out.append(f"tool_choice names {choice!r}, which is not among the tools of the request")
    schemas = dialect.routes or undescribed(model) or "structured_output" in model.capabilities
    if settings.response_schema is not None and not schemas:
        hint = "leave response_schema out, or add structured_output to the model's capabilities if it has"
        out.append(f"model {model.id} has no structured output; {hint}")
    if settings.stop and not stops:
        out.append("the Responses API has no stop sequences; leave the setting stop out, or use the api openai-chat")
    return out
