"""Testing SkillKit plugins: a scripted model server, conformance suites, a recorder of sessions, and pytest fixtures.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_WHERE: dict[str, str] = {
    **dict.fromkeys(("Call", "Cut", "Fail", "Gate", "Hang", "Raw", "Reply"), "turns"),
    "Difference": "recorder.differences",
    "LLMServer": "server",
    "ReceivedRequest": "received",
    "Recorder": "recorder.recorder",
    "Recording": "recorder.recording",
    "RecordingError": "recorder.recording",
    "Replay": "recorder.replay",
    "Terminal": "terminal",
    "auto": "auto_rule",
    "replay": "recorder.replay",
}


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)
