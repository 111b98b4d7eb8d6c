"""Values of the core as JSON and back, each written as briefly as it can be: a field with its default is left out."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from skillkit_core import (
    AgentMessage,
    ApprovalDecision,
    AssistantMessage,
    ErrorKind,
    ModelCost,
    ModelDefinition,
    ModelSettings,
    ProviderError,
    SkillKitError,
    StopReason,
    StreamEvent,
    TokenUsage,
    Tool,
    ToolOutput,
    UserMessage,
    errors,
    message_from_dict,
    message_to_dict,
    redact_headers,
)
from skillkit_core.messages import Block
from skillkit_core.stream import StreamType
from skillkit_core.tools import plain_details

__all__ = [
    "blocks_from_json",
    "blocks_to_json",
    "build",
    "decision_from_json",
    "decision_to_json",
    "error_from_json",
    "error_to_json",
    "message_to_json",
    "model_from_json",
    "model_to_json",
    "output_from_json",
    "output_to_json",
    "plain",
    "settings_from_json",
    "settings_to_json",
    "sparse",
    "stream_from_json",
    "stream_to_json",
    "tool_from_json",
    "tool_to_json",
    "usage_from_json",
]

JSON = dict[str, Any]
T = TypeVar("T")
STREAM_TYPES = frozenset(StreamType.__args__)  # type: ignore[attr-defined]


def plain(value: Any) -> Any:
    """``value`` as changeable JSON; what JSON does not know becomes a text."""
    kind = type(value)
    if kind in (str, int, float, bool) or value is None:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(str(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return sparse(value)
    return str(value)


def sparse(value: Any, leave_out: Iterable[str] = ()) -> JSON:
    """The fields of a dataclass that differ from their defaults."""
    out: JSON = {}
    for f in fields(value):
        if f.name in leave_out or f.name.startswith("_"):
            continue
        given = getattr(value, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if given is not default and given != default:
            out[f.name] = plain(given)
    return out


def build(cls: type[T], data: Any, **more: Any) -> T:
    """The dataclass that :func:`sparse` wrote; raises :class:`ValueError` when it is not one."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{cls.__name__} must be an object")
    try:
        return cls(**{**data, **more})
    except (TypeError, AttributeError) as error:
        raise ValueError(f"{cls.__name__}: {error}") from None


# --- messages and streams -------------------------------------------------------------------------------------------


def message_to_json(message: AgentMessage) -> JSON:
    """A message without its time."""
    out: JSON = plain(message_to_dict(message))
    out.pop("ts", None)
    return out


def blocks_to_json(blocks: Sequence[Block]) -> list[JSON]:
    """Content blocks."""
    found: list[JSON] = plain(message_to_dict(UserMessage(content=tuple(blocks)))["content"])
    return found


def blocks_from_json(data: Any) -> tuple[Block, ...]:
    """Content blocks; raises :class:`ValueError`."""
    if not isinstance(data, list) or not all(isinstance(block, Mapping) for block in data):
        raise ValueError("content blocks must be a list of objects")
    try:
        return message_from_dict({"role": "user", "content": data}).content
    except TypeError as error:
        raise ValueError(f"content block: {error}") from None


def usage_from_json(data: Any) -> TokenUsage:
    """Tokens; raises :class:`ValueError`."""
    usage = build(TokenUsage, data)
    if any(type(v) is not int for k, v in data.items() if k != "raw"):
        raise ValueError("tokens must be whole numbers")
    return usage


def stream_to_json(event: StreamEvent) -> JSON:
    """One event of an adapter's stream."""
    out: JSON = {"type": event.type}
    if event.content:
        out["content"] = event.content
    if event.index is not None:
        out["index"] = event.index
    for name in ("tool_name", "tool_call_id", "raw_stop_reason", "response_id"):
        value = getattr(event, name)
        if value is not None:
            out[name] = value
    if event.usage is not None:
        out["usage"] = sparse(event.usage)
    if event.stop_reason is not None:
        out["stop_reason"] = str(event.stop_reason)
    if event.block is not None:
        out["block"] = blocks_to_json((event.block,))[0]
    if event.message is not None:
        out["message"] = message_to_json(event.message)
    if event.error is not None:
        out["error"] = error_to_json(event.error)
    return out


def stream_from_json(data: Any) -> StreamEvent:
    """One event of an adapter's stream; raises :class:`ValueError`."""
    if not isinstance(data, Mapping) or data.get("type") not in STREAM_TYPES:
        raise ValueError("a stream event needs one of the types " + ", ".join(sorted(STREAM_TYPES)))
    values = dict(data)
    if "usage" in values:
        values["usage"] = usage_from_json(values["usage"])
    if "stop_reason" in values:
        values["stop_reason"] = StopReason(values["stop_reason"])
    if "block" in values:
        values["block"] = blocks_from_json([values["block"]])[0]
    if "error" in values:
        values["error"] = error_from_json(values["error"])
    if "message" in values:
        message = message_from_dict(values["message"])
        values["message"] = message if isinstance(message, AssistantMessage) else None
    return build(StreamEvent, values)


# --- errors ---------------------------------------------------------------------------------------------------------


def error_to_json(error: BaseException) -> JSON:
    """An exception: its type, what it says, and of a provider's failure everything that decides what happens next."""
    out: JSON = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, ProviderError):
        out["message"], out["kind"] = error.message, str(error.kind)
        more = {"status": error.status, "code": error.type, "retry_after": error.retry_after}
        out |= {k: v for k, v in more.items() if v is not None}
        out |= {k: v for k, v in (("provider", error.provider), ("hint", error.hint)) if v is not None}
        if error.where != error.provider:  # adapters add the server
            out["where"] = error.where
        if error.retryable != ProviderError("", kind=error.kind).retryable:
            out["retryable"] = error.retryable
        if error.sent:
            out["sent"] = True
    elif isinstance(error, SkillKitError):
        out |= {"message": error.message, "skillkit": True}
        out |= {k: v for k, v in (("where", error.where), ("hint", error.hint)) if v is not None}
    return out


def error_from_json(data: Any) -> Exception:
    """An exception that reads like the one that was written; raises :class:`ValueError` when it is none."""
    if (
        not isinstance(data, Mapping)
        or not isinstance(data.get("message"), str)
        or not isinstance(data.get("type"), str)
    ):
        raise ValueError("an error needs a type and a message")
    name, message = data["type"], data["message"]
    about = {k: data.get(k) for k in ("status", "retry_after", "provider", "hint")}
    if "kind" in data:
        about["retryable"] = data.get("retryable")
        sent = data.get("sent") is True
        failure = ProviderError(message, kind=ErrorKind(data["kind"]), type=data.get("code"), sent=sent, **about)
        failure.where = data.get("where", failure.where)
        return failure
    if data.get("skillkit"):
        known = getattr(errors, name, None)
        plainly = (
            isinstance(known, type) and known.__dict__.get("__init__") is None and issubclass(known, SkillKitError)
        )
        cls: Any = known if plainly else type(name, (SkillKitError,), {})
        made: Exception = cls(message, where=data.get("where"), hint=data.get("hint"))
        return made
    found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, Exception):
        try:
            built = found(message)
            if str(built) == message:
                return built
        except TypeError:
            pass
    other: Exception = type(name, (Exception,), {})(message)
    return other


def cancelled_inside(data: Mapping[str, Any]) -> asyncio.CancelledError | None:
    """The cancellation that a tool let escape by itself, if the error is one."""
    return asyncio.CancelledError(data["message"]) if data.get("type") == "CancelledError" else None


# --- what an agent is made of ---------------------------------------------------------------------------------------


def model_to_json(model: ModelDefinition) -> JSON:
    """A model with everything that is known about it."""
    out = sparse(model)
    if model.display_name == model.id:
        out.pop("display_name", None)
    return out


def model_from_json(data: Any) -> ModelDefinition:
    """A model; raises :class:`ValueError`."""
    if not isinstance(data, Mapping):
        raise ValueError("a model must be an object")
    more: JSON = {}
    if (cost := data.get("cost")) is not None:
        tiers = tuple(build(ModelCost, tier) for tier in cost.get("tiers", ())) if isinstance(cost, Mapping) else ()
        more["cost"] = build(ModelCost, cost, tiers=tiers)
    return build(ModelDefinition, data, **more)


def settings_to_json(settings: ModelSettings) -> JSON:
    """How a model should answer; credentials in headers are hidden."""
    out = sparse(settings)
    if "headers" in out:
        out["headers"] = redact_headers(out["headers"])
    return out


def settings_from_json(data: Any) -> ModelSettings:
    """How a model should answer; raises :class:`ValueError`."""
    settings = build(ModelSettings, data)
    return build(ModelSettings, {**data, "stop": tuple(settings.stop)}) if settings.stop else settings


def tool_to_json(tool: Tool, source: str | None) -> JSON:
    """A tool without its body. ``source``: the plugin that brought it, ``None``: the application."""
    out = sparse(tool, leave_out=("execute", "opt_in", "annotations"))
    if tool.annotations:
        out["annotations"] = plain_details(tool.annotations)
    if source is not None:
        out["source"] = source
    return out


async def _not_here(args: Mapping[str, Any], ctx: Any) -> ToolOutput:
    return ToolOutput("this tool is only known from a recording", is_error=True)


def tool_from_json(data: Any) -> Tool:
    """A tool whose body is not there; raises :class:`ValueError`."""
    if not isinstance(data, Mapping):
        raise ValueError("a tool must be an object")
    return build(Tool, {k: v for k, v in data.items() if k != "source"}, execute=_not_here)


def output_to_json(output: ToolOutput) -> JSON:
    """What a tool answered."""
    content = output.content
    out: JSON = {"content": content if isinstance(content, str) else blocks_to_json(output.blocks)}
    if output.details is not None:
        out["details"] = plain_details(output.details)
    out |= {name: True for name in ("is_error", "terminate") if getattr(output, name)}
    if output.usage is not None:
        out["usage"] = sparse(output.usage)
    return out


def output_from_json(data: Any) -> ToolOutput:
    """What a tool answered; raises :class:`ValueError`."""
    if not isinstance(data, Mapping) or "content" not in data:
        raise ValueError("the output of a tool needs a content")
    values = dict(data)
    if not isinstance(values["content"], str):
        values["content"] = blocks_from_json(values["content"])
    if values.get("usage") is not None:
        values["usage"] = usage_from_json(values["usage"])
    return build(ToolOutput, values)


def decision_to_json(decision: Any) -> Any:
    """A decision about a call: ``allow``, ``deny``, ``defer``, or an object with a reason."""
    if not isinstance(decision, ApprovalDecision):
        return decision if isinstance(decision, str) else repr(decision)
    return sparse(decision) if decision.reason or decision.remember else decision.decision


def decision_from_json(data: Any) -> ApprovalDecision:
    """A decision about a call; raises :class:`ValueError`."""
    decision = build(ApprovalDecision, data) if isinstance(data, Mapping) else ApprovalDecision(data)
    if decision.decision not in ("allow", "deny", "defer"):
        raise ValueError(f"{decision.decision!r} is no decision: allow, deny or defer")
    return decision
