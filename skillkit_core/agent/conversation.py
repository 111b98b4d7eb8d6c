"""The session that an agent talks in: opened, left for another one, forked, gone back in; and the events that tell of it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Literal, TypeVar

from ..contracts.session_store import SessionHeader, SessionStore, fork_entries, new_session_id
from ..errors import AgentError, UsageError
from ..events.results import UNSET, SessionBeforeResult, SessionBeforeTreeResult, SessionStartResult, Unset
from ..events.types import (
    Event,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionTreeEvent,
)
from ..host.memory import MemoryStore
from ..host.text import without_secrets
from .part import Part
from .session import Session

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Conversation"]

Reason = Literal["new", "resume", "fork", "reload"]
E = TypeVar("E", bound=Event)


class Conversation(Part):
    """Holds the session of an agent.

    Args:
        given: an open session, the id of one in the host's store, ``"new"`` for a new one there, ``None``: in memory.
    """

    def __init__(self, agent: AgentRunner, given: Session | str | None) -> None:
        super().__init__(agent)
        self._given = given
        self._store: SessionStore | None = None
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
        if (opened := self._opened) and self.session is not None:  # other threads need not wait for the lock
            return self.session
        async with self._opening:
            if not opened and self._opened:
                return self.required
            self._agent.events.run_on(asyncio.get_running_loop())
            self._agent.host.learn_secrets()
            session, reason = await self._find(self._given)
            self.session = session
            self._agent.events.open_session(session.id)
            self._agent.begin_context(session)
            self._opened = True
        await self._started(reason)
        return self.required

    async def _find(self, given: Session | str | None) -> tuple[Session, Reason]:
        """The session that is meant, opened."""
        agent, clock = self._agent, self._agent.clock.time
        if isinstance(given, Session):
            return given, "resume" if given.entries else "new"
        if given is not None and given != "new":
            self._store = agent.host.session_store()
            return await Session.open(self._store, given, clock), "resume"
        self._store = MemoryStore() if given is None else agent.host.session_store()
        asking = agent.nesting.parent
        parent = asking.run.agent.session_id if asking is not None and given is not None else None
        return await Session.create(self._store, clock, cwd=str(agent.cwd), parent=parent), "new"

    async def _started(self, reason: Reason, previous: str | None = None) -> None:
        """Emit ``session_start`` and keep what its handlers put into the context."""
        bus, session = self._agent.events, self.required
        answer = await bus.fire(SessionStartEvent, reason=reason, previous=previous, path=session.location)
        if isinstance(answer, SessionStartResult) and answer.context is not UNSET:
            for message in answer.context:  # type: ignore[union-attr]
                await session.append_message(without_secrets(message, self._agent.host.redact))

    async def switch(self, target: str) -> Session:
        """Leave the session for another one of the host's store (``"new"``: a new one); see :meth:`AgentRunner.switch`."""
        old = await self.open()
        new = target == "new"
        if target == old.id:
            raise UsageError(f"the agent talks in session {target!r} already", hint="reload() reads it again")
        asked = None if new else target
        await self._ask(SessionBeforeSwitchEvent, "switch", target=asked, reason="new" if new else "resume")
        session, reason = await self._find(target)
        await self._leave_for(session, reason)
        return session

    async def fork(self, at: str | Unset | None) -> Session:
        """Go on in a copy of the session up to an entry; see :meth:`AgentRunner.fork`."""
        old, clock = await self.open(), self._agent.clock.time
        entry_id = old.leaf_id if isinstance(at, Unset) else at
        old.require(entry_id)
        await self._ask(SessionBeforeForkEvent, "fork", target=entry_id)
        if self._store is not None:
            handle = await self._store.fork(old.id, entry_id)
        else:  # the application has opened the session, and nobody knows where
            kept = fork_entries(old.entries, entry_id, where=old.location or old.id)
            now = time.time()
            header = SessionHeader(new_session_id(now), now, old.handle.header.cwd, parent_session=old.id)
            self._store = MemoryStore() if old.location is None else self._agent.host.session_store()
            handle = await self._store.restore(header, kept)
        session = Session(handle, clock)
        await self._leave_for(session, "fork")
        return session

    async def reload(self) -> Session:
        """Read the session again from where it is kept; see :meth:`AgentRunner.reload`."""
        old = await self.open()
        if self._store is None:
            raise UsageError("the session was opened by the application", hint="open it again there")
        await old.close()
        session = await Session.open(self._store, old.id, self._agent.clock.time)
        await self._leave_for(session, "reload")
        return session

    async def move_to(self, entry_id: str | None, summary: str | None, label: str | None) -> None:
        """Go on from another entry of the session; see :meth:`AgentRunner.move_to`."""
        session = await self.open()
        session.require(entry_id)
        answer = await self._ask(SessionBeforeTreeEvent, "move", target=entry_id)
        if isinstance(answer, SessionBeforeTreeResult):
            summary = answer.summary if isinstance(answer.summary, str) else summary
            label = answer.label if isinstance(answer.label, str) else label
        previous = session.leaf_id
        await session.move_to(entry_id)
        summary_id = await session.append_branch_summary(summary) if summary else None
        place = summary_id or entry_id
        if label and place is not None:
            await session.label(place, label)
        self._agent.allow_compaction()
        named = label if label and place is not None else None
        await self._agent.events.fire(
            SessionTreeEvent, target=entry_id, previous=previous, summary_id=summary_id, label=named
        )

    async def _ask(self, cls: type[E], what: str, **values: object) -> object:
        """Ask the handlers of a ``session_before_*`` event; a cancel is an :class:`AgentError`."""
        answer = await self._agent.events.fire(cls, **values)
        if isinstance(answer, SessionBeforeResult) and answer.cancel is True:
            why = f": {answer.reason}" if isinstance(answer.reason, str) else ""
            raise AgentError(f"the {what} was cancelled by a handler{why}")
        return answer

    async def _leave_for(self, session: Session, reason: Reason) -> None:
        """Talk in another session from now on; what was known about the old one is forgotten."""
        old, self.session = self.required, session
        self._agent.events.open_session(session.id)
        self._agent.talk_in(session)
        await old.close()
        await self._started(reason, None if reason == "reload" else old.id)

    async def shut_down(self) -> None:
        """Emit ``session_shutdown``."""
        if self._opened:
            await self._agent.events.fire(SessionShutdownEvent, reason="exit")

    async def close(self) -> None:
        """Close the session's file."""
        if self.session is not None:
            await self.session.close()
