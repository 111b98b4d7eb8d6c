"""The events of sessions of several skills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skillkit_core import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationMessageEvent(Event):
    """A message has joined the thread of ``session``, in ``turn``; its fields are those of :class:`AgentMessage`."""

    type: ClassVar[str] = "collaboration_message"
    session: str = ""
    turn: int = 0
    sender: str = ""
    recipient: str = ""
    message_type: str = ""
    content: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationViolationEvent(Event):
    """A message of ``sender`` broke ``rule``, or its turn failed; ``outcome``: ``resend``, ``retry``, ``skip`` or ``fail``."""

    type: ClassVar[str] = "collaboration_violation"
    session: str = ""
    turn: int = 0
    sender: str = ""
    rule: str = ""
    text: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationCompactedEvent(Event):
    """``participant`` was given ``shown`` of the ``chars`` characters of the thread, with ``shortened`` messages cut."""

    type: ClassVar[str] = "collaboration_compacted"
    session: str = ""
    turn: int = 0
    participant: str = ""
    chars: int = 0
    shown: int = 0
    shortened: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationEndEvent(Event):
    """A session has ended with ``status``, after ``turns`` turns."""

    type: ClassVar[str] = "collaboration_end"
    session: str = ""
    status: str = ""
    reason: str = ""
    turns: int = 0
