"""Events as JSON, for logs, ``--json --events`` and other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ..errors import SkillKitError
from ..messages import AgentMessage, message_to_dict
from ..models import ModelDefinition, TokenUsage
from ..tools import Tool
from .types import Event

__all__ = ["event_to_dict"]


def _value(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, AgentMessage):
        return message_to_dict(value)
    if isinstance(value, Tool):
        return value.name
    if isinstance(value, (ModelDefinition, TokenUsage, SkillKitError)):
        return value.to_dict()
    if isinstance(value, BaseException):
        return {"type": type(value).__name__, "message": str(value)}
    if isinstance(value, Mapping):
        return {str(k): _value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_value(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        shown = {f.name: _value(getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_")}
        shown = {k: v for k, v in shown.items() if v is not None}
        kind = getattr(value, "type", None)
        return {"type": kind, **shown} if isinstance(kind, str) else shown
    return repr(value)


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return the event as JSON: ``type``, then the fields without ``None`` and private ones, secrets of the host as ``***``."""
    values = [(f.name, getattr(event, f.name)) for f in fields(event) if not f.name.startswith("_")]
    out = {"type": event.type, **{name: _value(value) for name, value in values if value is not None}}
    return out if event._redact is None else event._redact(out)
