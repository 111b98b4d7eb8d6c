"""The session of an agent: open, switch, fork, reload and move, and the events of each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

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
from .context import ContextView
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
        given: an open session, a session id of the host's store, ``"new"`` for that store; ``None``: in memory.
        endpoint: the address, by the id of a session, under which this process takes clients; ``None``: it takes none.

    Attributes:
        context: what a model gets of the session; set when the session is opened.
        states: what plugins keep in memory about the session, by plugin.
        sticky_approvals: tool, plugin and key of the questions that a person answered for the rest of the session.
    """

    context: ContextView

    def __init__(
        self, agent: AgentRunner, given: Session | str | None, endpoint: Callable[[str], str] | None = None
    ) -> None:
        super().__init__(agent)
        self._given = given
        self._endpoint = endpoint
        self._store: SessionStore | None = None
        self._opened = False
        self._opening = asyncio.Lock()
        self.states: dict[str, dict[str, Any]] = {}
        self.sticky_approvals: set[tuple[str, str | None, str | None]] = set()
        self.session: Session | None = given if isinstance(given, Session) else None

    @property
    def required(self) -> Session:
        """The session; raise :class:`UsageError` before the session is open."""
        if self.session is None:
            raise UsageError("the session is not open yet", hint="await agent.open()")
        return self.session

    async def open(self) -> Session:
        """Open the session unless it is open, and emit ``session_start``; raise as :meth:`SessionStore.open`."""
        if (opened := self._opened) and self.session is not None:  # without the lock, which belongs to one loop
            return self.session
        async with self._opening:
            if not opened and self._opened:
                return self.required
            self._agent.events.run_on(asyncio.get_running_loop())
            self._agent.host.secrets.learn()
            session, reason = await self._find(self._given)
            if self.session is None:
                self._agent.scheduler.name_in(session)
            self.session = session
            self._agent.events.open_session(session.id)
            self._begin_context(session)
            self._opened = True
        await self._started(reason)
        return self.required

    def _begin_context(self, session: Session) -> None:
        session.keep_out(self._agent.host.secrets)
        session.watch_notes(self._agent.events.arm)
        self.context = ContextView(self._agent.host, session)

    async def _find(self, given: Session | str | None) -> tuple[Session, Reason]:
        """Open or create the session that ``given`` names; return it with the reason for ``session_start``."""
        agent, clock = self._agent, self._agent.clock.time
        if isinstance(given, Session):
            return given, "resume" if given.entries else "new"
        if given is not None and given != "new":
            self._store = agent.host.session_store()
            return await self._open(self._store, given), "resume"
        self._store = MemoryStore() if given is None else agent.host.session_store()
        asking = agent.nesting.parent
        parent = asking.run.agent.session_id if asking is not None and given is not None else None
        made = await Session.create(self._store, clock, cwd=str(agent.cwd), parent=parent)
        return await self._reachable(made, self._store), "new"

    async def _open(self, store: SessionStore, session_id: str) -> Session:
        endpoint = self._endpoint(session_id) if self._endpoint is not None else None
        return await Session.open(store, session_id, self._agent.clock.time, endpoint=endpoint)

    async def _reachable(self, session: Session, store: SessionStore) -> Session:
        """Open a new session again under the address of this process, if this process takes clients."""
        if self._endpoint is None:
            return session
        await session.close()
        return await self._open(store, session.id)

    async def _started(self, reason: Reason, previous: str | None = None) -> None:
        """Emit ``session_start``, and persist the messages that its handlers add to the context."""
        bus, session = self._agent.events, self.required
        answer = await bus.fire(SessionStartEvent, reason=reason, previous=previous, path=session.location)
        if isinstance(answer, SessionStartResult) and answer.context is not UNSET and not self._agent.config.bare:
            for message in answer.context:  # type: ignore[union-attr]
                await session.append_message(message)

    async def switch(self, target: str) -> Session:
        """Switch to another session of the host's store; see :meth:`AgentRunner.switch`."""
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
        """Switch to a copy of the session up to an entry; see :meth:`AgentRunner.fork`."""
        old = await self.open()
        entry_id = old.leaf_id if isinstance(at, Unset) else at
        old.require(entry_id)
        await self._ask(SessionBeforeForkEvent, "fork", target=entry_id)
        if self._store is not None:
            handle = await self._store.fork(old.id, entry_id)
        else:
            # the application opened the session, whose store is unknown here
            kept = fork_entries(old.entries, entry_id, where=old.location or old.id)
            now = time.time()
            header = SessionHeader(new_session_id(now), now, old.handle.header.cwd, parent_session=old.id)
            self._store = MemoryStore() if old.location is None else self._agent.host.session_store()
            handle = await self._store.restore(header, kept)
        session = await self._reachable(Session(handle, self._agent.clock.time), self._store)
        await self._leave_for(session, "fork")
        return session

    async def reload(self) -> Session:
        """Read the session again from its store; see :meth:`AgentRunner.reload`."""
        old = await self.open()
        if self._store is None:
            raise UsageError("the session was opened by the application", hint="open it again there")
        await old.close()
        session = await self._open(self._store, old.id)
        await self._leave_for(session, "reload")
        return session

    async def move_to(self, entry_id: str | None, summary: str | None, label: str | None) -> None:
        """Continue after another entry of the session; see :meth:`AgentRunner.move_to`."""
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
        self.context.allow_compaction()
        named = label if label and place is not None else None
        await self._agent.events.fire(
            SessionTreeEvent, target=entry_id, previous=previous, summary_id=summary_id, label=named
        )

    async def _ask(self, cls: type[E], what: str, **values: object) -> object:
        """Emit a ``session_before_*`` event; return the answer, or raise :class:`AgentError` when a handler cancels."""
        answer = await self._agent.events.fire(cls, **values)
        if isinstance(answer, SessionBeforeResult) and answer.cancel is True:
            why = f": {answer.reason}" if isinstance(answer.reason, str) else ""
            raise AgentError(f"the {what} was cancelled by a handler{why}")
        return answer

    async def _leave_for(self, session: Session, reason: Reason) -> None:
        """Replace the session by another one, close the old session, and emit ``session_start``."""
        old, self.session = self.required, session
        self._agent.events.open_session(session.id)
        self._begin_context(session)
        self.states = {}
        self.sticky_approvals = set()
        await old.close()
        await self._started(reason, None if reason == "reload" else old.id)

    async def shut_down(self) -> None:
        """Emit ``session_shutdown`` if the session was opened."""
        if self._opened:
            await self._agent.events.fire(SessionShutdownEvent, reason="exit")

    async def close(self) -> None:
        """Close the session's file."""
        if self.session is not None:
            await self.session.close()
