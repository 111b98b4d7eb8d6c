"""The hooks of sessions of several skills."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.descriptors import Factory

    from .events import (
        CollaborationCompactedEvent,
        CollaborationEndEvent,
        CollaborationMessageEvent,
        CollaborationViolationEvent,
    )
    from .models import CollaborationSession


@hookspec
def register_strategies(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer strategies: ``register(Factory("loudest", "acme.strategy:Loudest"))``, which makes a :class:`Strategy`."""


@hookspec
def register_participants(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer a kind of participants: ``register(Factory("robot", "acme.robots:Robots"))``, for participants ``robot:NAME``.

    The factory makes a :class:`Participants` of the host.
    """


@hookspec
async def choose_speaker(session: CollaborationSession, agent: AgentRunner) -> str | None:
    """Choose who speaks next, before the strategy does; the first answer that names a participant counts.

    An implementation that fails is reported, and counts as no answer.
    """


@hookspec
def collaboration_message(event: CollaborationMessageEvent, ctx: HandlerContext) -> None:
    """See a message join the thread. Observed."""


@hookspec
def collaboration_violation(event: CollaborationViolationEvent, ctx: HandlerContext) -> None:
    """See a message that broke a rule, or a turn that failed. Observed."""


@hookspec
def collaboration_compacted(event: CollaborationCompactedEvent, ctx: HandlerContext) -> None:
    """See that a participant was given a shortened thread. Observed."""


@hookspec
def collaboration_end(event: CollaborationEndEvent, ctx: HandlerContext) -> None:
    """See that a session has ended. Observed."""
