"""Recordings of sessions: what happened to an agent, and a replay of it that asks no provider and runs no tool.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .differences import Difference
    from .recorder import Recorder
    from .recording import Recording, RecordingError
    from .replaying import Replay, replay

__all__ = ["Difference", "Recorder", "Recording", "RecordingError", "Replay", "replay"]
__version__ = "0.2.0"

_WHERE = {
    "Difference": "differences",
    "Recorder": "recorder",
    "Recording": "recording",
    "RecordingError": "recording",
    "Replay": "replaying",
    "replay": "replaying",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
