"""A request as the bytes that are sent: settings, tools and system first, so that requests share their beginning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from skillkit_transport import clean_text, encode

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.frozen import thaw
from skillkit_core.models import ModelDefinition

from .encode import Target, tool_entries
from .generation import generation_of
from .history import History
from .thinking import BUDGETS, LEAST_BUDGET, is_unknown, thinking_fields

__all__ = ["BINDING_BETA", "CACHE_MARKS", "Body", "RequestEncoder", "drops_foreign_thinking"]

CACHE_MARKS: Mapping[str, dict[str, str] | None] = {
    "off": None,
    "5m": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
}
# Above this the provider asks for a stream, because an idle connection would be cut (the SDK refuses such calls).
MOST_UNSTREAMED = 21_333
_USUAL_MAX_TOKENS = 32_000
_LEAST_TOP_P = 0.95  # beside a thinking budget
# With it the provider takes thinking out whose messages before have changed (a compaction), instead of failing the request.
BINDING_BETA = "thinking-binding-controls-2026-08-01"
_BINDING = {"prefix_mismatch_behavior": "drop_block"}
_RESERVED = frozenset({"model", "messages", "system", "stream"})


class Body:
    """What will be sent. ``stream``: whether the wire was asked for a stream."""

    __slots__ = ("content", "stream")

    def __init__(self, content: bytes, stream: bool) -> None:
        self.content = content
        self.stream = stream


class RequestEncoder:
    """Encodes the requests of one session; lives in ``request.scratch`` and remembers what it has encoded.

    Args:
        provider: name of the provider; thinking replays to its own messages only.
        cache: ``5m``, ``1h`` or ``off``.
        max_tokens: where neither settings nor model say.
        signs: the server signs all thinking; what came without a signature goes back as text.

    Attributes:
        container: the provider's sandbox of the last answer; sent back with tools that run code there, so that files stay
            and code that waits for the result of a tool goes on. Stands behind the messages: it is no part of the prompt.
    """

    def __init__(self, provider: str, cache: str = "5m", max_tokens: int = 16_384, *, signs: bool = True) -> None:
        self.provider = provider
        self._mark = CACHE_MARKS[cache]
        self._tail = b"" if self._mark is None else b',"cache_control":' + encode(self._mark)
        self._max_tokens = max_tokens
        self._signs = signs
        self._history: History | None = None
        self._head_key: tuple[Any, ...] | None = None
        self._head = b""
        self._stream = True
        self._runs_code = False
        self.container: str | None = None

    def encode(self, request: LLMRequest) -> Body:
        """The body of ``request``.

        Raises:
            ProviderError: a setting is out of range or this model cannot do what is asked (kind ``invalid_request``).
            ValueError: something in the history is not JSON.
        """
        target = Target.of(self.provider, request.model, signs=self._signs)
        history = self._history
        if history is None or history.target != target:
            history = self._history = History(target)
        history.update(request.messages)
        thought = history.starts_with_thinking
        key = (request.model, request.settings, request.tools, request.system, request.stream, thought is False)
        old = self._head_key
        if old is None or any(a is not b and a != b for a, b in zip(key, old, strict=True)):
            self._head, self._stream = self._encode_head(request, thought is not False)
            self._head_key = key
        # Else the caller lets the provider place the breakpoints, or has used them up.
        own = "cache_control" not in request.settings.extra and _marked(request) < 3
        messages = history.render(self._tail if own else b"")
        end = b"]}"
        if self.container and self._runs_code and "container" not in request.settings.extra:
            end = b'],"container":' + encode(self.container) + b"}"
        return Body(b"".join((self._head, *messages, end)), self._stream)

    def _encode_head(self, request: LLMRequest, may_think: bool) -> tuple[bytes, bool]:
        settings, model = request.settings, request.model
        check_settings(settings, model)
        fields: dict[str, Any] = {"model": model.id}
        fields |= self._lengths(request)
        fields["stream"] = request.stream or fields["max_tokens"] > MOST_UNSTREAMED
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if settings.top_p is not None:
            fields["top_p"] = settings.top_p
        if settings.stop:
            fields["stop_sequences"] = list(settings.stop)
        self._think(fields, request, may_think)
        if settings.response_schema is not None:
            config = fields.setdefault("output_config", {})
            config["format"] = {"type": "json_schema", "schema": output_schema(settings.response_schema)}
        extra = {k: v for k, v in settings.extra.items() if k not in _RESERVED}
        more_tools = extra.pop("tools", ())
        for name, value in extra.items():
            old = fields.get(name)
            fields[name] = {**old, **value} if isinstance(old, dict) and isinstance(value, Mapping) else value
        if drops_foreign_thinking(self.provider, model):
            thinking = fields.get("thinking", {"type": "adaptive"})
            if _forces(request):
                fields |= thinking_fields(model, "off")
            elif isinstance(thinking, Mapping) and thinking.get("type") == "adaptive":
                fields["thinking"] = {"block_binding": _BINDING, **thinking}
        self._runs_code = any(str(t.get("type", "")).startswith("code_execution") for t in more_tools)
        known = is_unknown(model) or "structured_output" in model.capabilities
        tools: list[Any] = [*tool_entries(request.tools, strict=known), *more_tools]
        mark = self._mark if "cache_control" not in extra else None
        if tools:
            choice = tool_choice(settings)
            if choice is not None:
                if choice.get("name") not in (None, *(t.get("name") for t in tools)):
                    _refuse(f"tool_choice names {choice['name']!r}", "name one of the tools of the request")
                fields.setdefault("tool_choice", choice)
            if mark is not None and not _marked(request):
                tools[-1] = {**tools[-1], "cache_control": mark}
            fields["tools"] = tools
        if request.system.strip():
            block: dict[str, Any] = {"type": "text", "text": clean_text(request.system)}
            if mark is not None and _marked(request) < 2:
                block["cache_control"] = mark
            fields["system"] = [block]
        return encode(fields)[:-1] + b',"messages":[', bool(fields["stream"])

    def _lengths(self, request: LLMRequest) -> dict[str, int]:
        model, wanted = request.model, request.settings.max_tokens
        if wanted is not None:
            return {"max_tokens": wanted}
        most = min(model.max_output_tokens, _USUAL_MAX_TOKENS) or self._max_tokens
        return {"max_tokens": most if request.stream else min(most, MOST_UNSTREAMED)}

    def _think(self, fields: dict[str, Any], request: LLMRequest, may_think: bool) -> None:
        """Add thinking; a budget is fitted into ``max_tokens``, or ``max_tokens`` around the budget where nobody set it.

        Beside thinking the wire refuses a forced tool, beside a budget also an open tool loop whose first answer has no
        thinking (a history of another model): such a request goes without thinking.
        """
        settings, model = request.settings, request.model
        if settings.thinking is None:
            return
        wanted = thinking_fields(model, settings.thinking)
        thinking = wanted.get("thinking")
        budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
        forced = _forces(request)
        if forced and isinstance(thinking, Mapping) and thinking.get("type") == "adaptive":
            fields |= thinking_fields(model, "off")
            return
        if isinstance(budget, int):
            if forced or not may_think:
                return
            if settings.max_tokens is None:
                most = model.max_output_tokens or (budget + self._max_tokens)
                fields["max_tokens"] = min(budget + fields["max_tokens"], most)
            budget = min(budget, fields["max_tokens"] - LEAST_BUDGET)
            if budget < LEAST_BUDGET:
                return  # no room to think in
            if settings.temperature not in (None, 1):
                _refuse(f"temperature is {settings.temperature} beside a thinking budget", "leave one of the two out")
            if settings.top_p is not None and settings.top_p < _LEAST_TOP_P:
                _refuse(f"top_p is {settings.top_p} beside a thinking budget", f"it must be at least {_LEAST_TOP_P}")
            wanted = {**wanted, "thinking": {**wanted["thinking"], "budget_tokens": budget}}
        fields |= wanted


def tool_choice(settings: ModelSettings) -> dict[str, Any] | None:
    """``tool_choice`` of the body, ``None`` for the provider's default."""
    wanted, parallel = settings.tool_choice, settings.parallel_tool_calls
    if wanted is None and parallel is not False:
        return None
    choice: dict[str, Any]
    if wanted in (None, "auto"):
        choice = {"type": "auto"}
    elif wanted == "none":
        return {"type": "none"}
    elif wanted == "required":
        choice = {"type": "any"}
    else:
        choice = {"type": "tool", "name": wanted}
    if parallel is False:
        choice["disable_parallel_tool_use"] = True
    return choice


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` as the wire's structured output takes it: the SDK's own transformation (closed objects, known keywords).

    Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    """
    from anthropic import transform_schema

    return transform_schema(thaw(schema))


def check_settings(settings: ModelSettings, model: ModelDefinition) -> None:
    """Refuse what the wire would refuse, with a sentence that says which setting it is.

    Raises:
        ProviderError: of kind ``invalid_request``.
    """
    for name in ("temperature", "top_p"):
        value = getattr(settings, name)
        if value is None:
            continue
        if not 0 <= value <= 1:
            _refuse(f"{name} is {value}", f"the Messages API takes a {name} from 0 to 1")
        if name in model.options.get("unsupported_parameters", ()):
            _refuse(f"model {model.id!r} does not take {name}", "leave the setting out")
    _check_generation(settings, model)
    most = settings.max_tokens
    if most is not None:
        if most < 1:
            _refuse(f"max_tokens is {most}", "it must be at least 1")
        if model.max_output_tokens and most > model.max_output_tokens:
            _refuse(f"max_tokens is {most}", f"model {model.id!r} writes at most {model.max_output_tokens}")
    levels = model.thinking_levels
    if settings.thinking not in (None, "off", *levels) and levels:
        known = ", ".join(level for level in ("off", *BUDGETS) if level in levels)
        _refuse(f"model {model.id!r} has no thinking level {settings.thinking!r}", f"known: {known}")
    if settings.timeout is not None and not settings.timeout > 0:
        _refuse(f"timeout is {settings.timeout}", "it must be more than 0 seconds")
    if any(not s.strip() for s in settings.stop):
        _refuse("a stop sequence is empty or whitespace", "remove it")
    if settings.response_schema is not None:
        if not is_unknown(model) and "structured_output" not in model.capabilities:
            _refuse(f"model {model.id!r} has no structured output", "choose another model or leave response_schema out")
        if settings.response_schema.get("type", "object") != "object":
            _refuse("response_schema is not an object schema", "wrap it in an object")


def _marked(request: LLMRequest) -> int:
    """Breakpoints on server-side tools: each takes the place of one of ours, in the order tools, system, messages."""
    return sum("cache_control" in t for t in request.settings.extra.get("tools", ()))


def _forces(request: LLMRequest) -> bool:
    return bool(request.tools) and request.settings.tool_choice not in (None, "auto", "none")


def _check_generation(settings: ModelSettings, model: ModelDefinition) -> None:
    """Refuse what this generation of Claude takes no more; 1 is the default of both numbers, and taken everywhere."""
    generation = generation_of(model.id)
    if generation is None:
        return
    given = [name for name in ("temperature", "top_p") if getattr(settings, name) not in (None, 1)]
    if given and not generation.samples:
        _refuse(f"model {model.id!r} does not take {given[0]}", "leave the setting out")
    if len(given) == 2 and not generation.samples_both:
        _refuse(f"model {model.id!r} does not take temperature and top_p together", "leave one of the two out")
    if settings.tool_choice not in (None, "auto", "none") and not generation.takes_forced_tools:
        _refuse(f"model {model.id!r} cannot be made to call a tool", "leave tool_choice out, or set it to auto or none")


def drops_foreign_thinking(provider: str, model: ModelDefinition) -> bool:
    """Whether requests ask for :data:`BINDING_BETA`: where thinking is tied to what was before it, and at Anthropic alone."""
    generation = generation_of(model.id)
    return provider == "anthropic" and generation is not None and generation.binds_thinking


def _refuse(message: str, hint: str) -> NoReturn:
    raise ProviderError(message, kind=ErrorKind.invalid_request, hint=hint)
