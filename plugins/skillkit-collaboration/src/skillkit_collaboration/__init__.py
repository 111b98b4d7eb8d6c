"""Sessions of several skills: they write to each other by rules, are led, and come to one result.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checking import Reason as Reason, reasons as reasons
    from .desk import Choice as Choice, Desk as Desk, Strategy as Strategy
    from .engine import CollaborationEngine as CollaborationEngine
    from .exports import as_json as as_json, as_spans as as_spans, as_text as as_text
    from .models import (
        AgentMessage as AgentMessage,
        CollaborationConfig as CollaborationConfig,
        CollaborationSession as CollaborationSession,
        CollaborationTrace as CollaborationTrace,
        Convergence as Convergence,
        Decision as Decision,
        MessageType as MessageType,
        Refusal as Refusal,
    )
    from .participants import Participants as Participants
    from .protocol import (
        Rules as Rules,
        State as State,
        Verdict as Verdict,
        Violation as Violation,
        allowed as allowed,
        receive as receive,
    )
    from .record import Record as Record, records_of as records_of

_WHERE = {
    "checking": ("Reason", "reasons"),
    "desk": ("Choice", "Desk", "Strategy"),
    "engine": ("CollaborationEngine",),
    "exports": ("as_json", "as_spans", "as_text"),
    "models": (
        "AgentMessage", "CollaborationConfig", "CollaborationSession", "CollaborationTrace", "Convergence", "Decision",
        "MessageType", "Refusal",
    ),
    "participants": ("Participants",),
    "protocol": ("Rules", "State", "Verdict", "Violation", "allowed", "receive"),
    "record": ("Record", "records_of"),
}  # fmt: skip
__all__ = [
    "AgentMessage", "Choice", "CollaborationConfig", "CollaborationEngine", "CollaborationSession", "CollaborationTrace",
    "Convergence", "Decision", "Desk", "MessageType", "Participants", "Reason", "Record", "Refusal", "Rules", "State",
    "Strategy", "Verdict", "Violation", "allowed", "as_json", "as_spans", "as_text", "reasons", "receive", "records_of",
]  # fmt: skip

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    module = next((module for module, names in _WHERE.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
