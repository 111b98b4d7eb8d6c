"""Values as JSON and back: events, answers, messages, models, tools, and what they are made of.

Only the classes of :func:`_classes` are ever made of what the other side says, so that it can name no other code.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from skillkit_core import AbortSignal, AgentMessage, ErrorKind, Event, ProviderError, SkillKitError, Tool
from skillkit_core.errors import in_words
from skillkit_core.frozen import FrozenDict, FrozenList
from skillkit_core.messages import message_from_dict, message_to_dict

__all__ = ["ELSEWHERE", "pack", "unpack"]

TAG = "$"
ELSEWHERE = "skillkit_isolation.values:elsewhere"
"""What stands for the body of a tool that the other process has."""
_PLAIN = frozenset((str, int, float, bool, type(None)))


async def elsewhere(args: Any, ctx: Any) -> str:
    """Refuse: the body is in the other process."""
    raise SkillKitError("this tool runs in another process")


@cache
def _classes() -> Mapping[str, type[Any]]:
    """Return the classes that travel, by name."""
    from skillkit_core import CompactionResult, ExecutionResult, Limits, ModelSettings, StreamEvent, ToolOutput
    from skillkit_core.contracts.approver import Question
    from skillkit_core.events import results, types
    from skillkit_core.messages import BLOCK_TYPES, Origin, Outcome, StopReason
    from skillkit_core.models import ModelCost, ModelDefinition, TokenUsage

    answers = (getattr(results, name) for name in results.__all__)
    found: list[type[Any]] = [
        *(cls for cls in answers if hasattr(cls, "__dataclass_fields__")), *types.EVENTS.values(), *BLOCK_TYPES.values(),
        CompactionResult, ExecutionResult, Limits, ModelCost, ModelDefinition, ModelSettings, Origin, Outcome, Question,
        StopReason, StreamEvent, TokenUsage, Tool, ToolOutput,
    ]  # fmt: skip
    return {cls.__name__: cls for cls in found}


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a class that travel, with their defaults."""
    left_out = ("execute",) if cls is Tool else ()
    return tuple((f.name, f.default) for f in fields(cls) if f.name[:1] != "_" and f.init and f.name not in left_out)


def pack(value: Any) -> Any:
    """Return a value as JSON. An event goes without those of its fields that cannot travel.

    Raises:
        TypeError: an object of code, such as an adapter or a driver.
    """
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, AgentMessage):
        return {TAG: "message", "v": message_to_dict(value)}
    if isinstance(value, Mapping):
        if TAG in value or not all(type(key) is str for key in value):
            return {TAG: "pairs", "v": [[pack(k), pack(v)] for k, v in value.items()]}
        return {k: v if type(v) in _PLAIN else pack(v) for k, v in value.items()}
    if _classes().get(kind.__name__) == kind:
        if isinstance(value, Enum):
            return {TAG: kind.__name__, "v": value.value}
        told = {TAG: kind.__name__}
        for name, default in _fields(kind):
            given = getattr(value, name)
            if given is default:
                continue
            try:
                told[name] = given if type(given) in _PLAIN else pack(given)
            except TypeError:
                if not isinstance(
                    value, Event
                ):  # an event goes without what cannot travel, such as a compaction's functions
                    raise
        return told
    if isinstance(value, (list, FrozenList)):
        return [pack(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return {TAG: "set", "v": sorted(map(pack, value), key=repr)}
    if isinstance(value, BaseException):
        return _told_error(value)
    if isinstance(value, Path):
        return {TAG: "path", "v": str(value)}
    if isinstance(value, bytes):
        return {TAG: "bytes", "v": base64.b64encode(value).decode("ascii")}
    if isinstance(value, AbortSignal):
        return {TAG: "signal"}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Sequence):
        return {TAG: "tuple", "v": [pack(item) for item in value]}
    raise TypeError(f"{kind.__name__} cannot be passed to another process")


def _told_error(error: BaseException) -> dict[str, Any]:
    if isinstance(error, ProviderError):
        names = ("status", "type", "retry_after", "provider", "hint", "retryable", "sent")
        more = {name: getattr(error, name) for name in names}
        return {TAG: "provider_error", "message": error.message, "kind": error.kind.value, **more}
    return {TAG: "error", "message": str(error) if isinstance(error, SkillKitError) else in_words(error)}


def unpack(told: Any) -> Any:
    """Return the value that :func:`pack` told; mappings and lists are immutable.

    Raises:
        ValueError: it is no such value.
    """
    kind = type(told)
    if kind in _PLAIN:
        return told
    if kind is list:
        return FrozenList([v if type(v) in _PLAIN else unpack(v) for v in told])
    if TAG not in told:
        return FrozenDict({k: v if type(v) in _PLAIN else unpack(v) for k, v in told.items()})
    name, inner = told[TAG], told.get("v")
    try:
        match name:
            case "message":
                return message_from_dict(inner)
            case "tuple":
                return tuple([unpack(item) for item in inner])
            case "pairs":
                return {unpack(k): unpack(v) for k, v in inner}
            case "set":
                return frozenset(map(unpack, inner))
            case "path":
                return Path(inner)
            case "bytes":
                return base64.b64decode(inner)
            case "signal":
                return AbortSignal()
            case "error":
                return SkillKitError(str(told["message"]))
            case "provider_error":
                more = {k: v for k, v in told.items() if k not in (TAG, "message", "kind")}
                return ProviderError(str(told["message"]), kind=ErrorKind(told["kind"]), **more)
        cls: Any = _classes()[name]
        if "v" in told:
            return cls(inner)
        values = {k: unpack(told[k]) for k, _ in _fields(cls) if k in told}
        return cls(**values, execute=ELSEWHERE) if cls is Tool else cls(**values)
    except (KeyError, TypeError, AttributeError, SkillKitError) as error:
        raise ValueError(f"no {name!r} can be made of what the other process said: {error}") from None
