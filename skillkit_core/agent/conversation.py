"""The session that an agent talks in: how it is opened and closed, and the events that tell of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from ..errors import UsageError
from ..events.results import UNSET, SessionStartResult
from ..events.types import SessionShutdownEvent, SessionStartEvent
from .session import Session

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Conversation"]


class Conversation:
    """Holds the session of an agent.

    Args:
        given: an open session, the id of one in the host's store, ``"new"`` for a new one there, ``None``: in memory.
    """

    def __init__(self, agent: AgentRunner, given: Session | str | None) -> None:
        self._agent = agent
        self._given = given
        self._opened = False
        self._opening = asyncio.Lock()
        self.session: Session | None = given if isinstance(given, Session) else None

    @property
    def required(self) -> Session:
        """The session; raises :class:`UsageError` before it is open."""
        if self.session is None:
            raise UsageError("the session is not open yet", hint="await agent.open()")
        return self.session

    async def open(self) -> Session:
        """Open the session if it is not; raises as :class:`SessionStore`."""
        async with self._opening:
            if self._opened:
                return self.required
            reason = await self._find()
            self._opened = True
        await self._started(reason)
        return self.required

    async def _find(self) -> Literal["new", "resume"]:
        agent, given = self._agent, self._given
        cwd, clock = str(agent.cwd), agent.clock.time
        reason: Literal["new", "resume"] = "new"
        if isinstance(given, Session):
            self.session = given
            reason = "resume" if given.entries else "new"
        elif given is None:
            self.session = await Session.create(None, clock, cwd=cwd)
        elif given == "new":
            above = agent.nesting.above
            parent = above.run.agent.session_id if above is not None else None
            self.session = await Session.create(agent.host.session_store(), clock, cwd=cwd, parent=parent)
        else:
            self.session = await Session.open(agent.host.session_store(), str(given), clock)
            reason = "resume"
        agent.events.session_id = self.session.id
        return reason

    async def _started(self, reason: Literal["new", "resume"]) -> None:
        """Emit ``session_start`` and keep what its handlers put into the context."""
        bus, session = self._agent.events, self.required
        if not bus.has("session_start"):
            return
        answer = await bus.emit(bus.make(SessionStartEvent, reason=reason, path=session.location))
        if isinstance(answer, SessionStartResult) and answer.context is not UNSET:
            for message in answer.context:  # type: ignore[union-attr]
                await session.append_message(message)

    async def shut_down(self) -> None:
        """Emit ``session_shutdown``."""
        bus = self._agent.events
        if self._opened and bus.has("session_shutdown"):
            await bus.emit(bus.make(SessionShutdownEvent, reason="exit"))

    async def close(self) -> None:
        """Close the session's file."""
        if self.session is not None:
            await self.session.close()
