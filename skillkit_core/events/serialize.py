"""Events as JSON, for logs, ``--json --events`` and other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeAlias

from ..errors import SkillKitError
from ..messages import AgentMessage, Block, DocumentBlock, ImageBlock, Origin, message_to_dict
from ..models import ModelDefinition, TokenUsage
from ..tools import Tool
from .types import Event

__all__ = ["event_to_dict"]


_Blobs: TypeAlias = Callable[[Block], str] | None


def _value(value: Any, blobs: _Blobs) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, AgentMessage):
        told = message_to_dict(value)
        if blobs is not None:
            told["content"] = [_apart(b, shown, blobs) for b, shown in zip(value.content, told["content"], strict=True)]
        return told
    if isinstance(value, Tool):
        return value.name
    if isinstance(value, (ModelDefinition, TokenUsage, SkillKitError, Origin)):
        return value.to_dict()
    if isinstance(value, BaseException):
        return {"type": type(value).__name__, "message": str(value)}
    if isinstance(value, Mapping):
        return {str(k): _value(v, blobs) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_value(v, blobs) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        shown = {f.name: _value(getattr(value, f.name), blobs) for f in fields(value) if not f.name.startswith("_")}
        shown = {k: v for k, v in shown.items() if v is not None}
        kind = getattr(value, "type", None)
        return _apart(value, {"type": kind, **shown} if isinstance(kind, str) else shown, blobs)
    return repr(value)


def _apart(block: Any, shown: dict[str, Any], blobs: _Blobs) -> dict[str, Any]:
    """Replace the data of an image or a document by the name that ``blobs`` gives."""
    if blobs is not None and isinstance(block, (ImageBlock, DocumentBlock)) and block.data is not None:
        del shown["data"]
        shown["blob"] = blobs(block)
    return shown


def event_to_dict(event: Event, *, history: bool = True, blobs: Callable[[Block], str] | None = None) -> dict[str, Any]:
    """Return the event as JSON: ``type``, then the fields without ``None`` and private ones, secrets of the host as ``***``.

    Args:
        history: include the fields that hold messages of earlier turns. Without them, the events of a turn grow with the turn,
            not with the conversation.
        blobs: keep the data of an image or document block, and return the name that stands in ``blob`` in place of ``data``.
    """
    told = [f for f in fields(event) if not f.name.startswith("_") and (history or "history" not in f.metadata)]
    values = [(f.name, getattr(event, f.name)) for f in told]
    out = {"type": event.type, **{name: _value(value, blobs) for name, value in values if value is not None}}
    return out if event._redact is None else event._redact(out)
