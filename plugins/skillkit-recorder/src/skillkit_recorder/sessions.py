"""The sessions of a replay: none is kept on a disk, and what another one holds comes from the recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillkit_core import AgentRunner, Clock, Conversation, MemoryStore, Session, SessionError, UnknownSession
from skillkit_core.contracts.session_store import OFF_PATH, SessionEntry, SessionHeader
from skillkit_core.frozen import freeze

from .records import Kept, Talked

__all__ = ["FIRST", "PlayedConversation", "entry_at", "session_of"]

FIRST = "replay"  # the id of the session that a replay begins in


async def session_of(name: str, entries: Sequence[Kept], clock: Clock) -> tuple[MemoryStore, Session]:
    """A session in memory that holds these entries."""
    now, store = clock.time(), MemoryStore()
    kept = [SessionEntry(e.seq, e.id, e.parent, e.kind, now, freeze(e.data)) for e in entries]
    return store, Session(await store.restore(SessionHeader(name, now), kept), clock.time)


def entry_at(agent: AgentRunner, place: int | str | None) -> str | None:
    """The id of an entry whose place was recorded; raises :class:`SessionError`: there is none there."""
    if not isinstance(place, int):
        return place
    path = [entry.id for entry in agent.session.entries if entry.type not in OFF_PATH]
    if place >= len(path):
        raise SessionError(f"the session of the replay has no entry {place + 1}")
    return path[place]


class PlayedConversation(Conversation):
    """Goes where the recorded agent went.

    Args:
        first: the id of the recorded session.

    Attributes:
        coming: what is talked in after the next switch; ``None``: that failed.
    """

    def __init__(self, agent: AgentRunner, session: Session, first: str) -> None:
        super().__init__(agent, session)
        self._first = first
        self._made = 0
        self.coming: Talked | None = None

    async def switch(self, target: str) -> Session:
        """As recorded."""
        return await super().switch(FIRST if target == self._first else target)

    async def reload(self) -> Session:
        """As recorded."""
        old = await self.open()
        session = await self._recorded(old.id)
        await self._leave_for(session, "reload")
        return session

    async def _find(self, given: Session | str | None) -> tuple[Session, Any]:
        if isinstance(given, Session):
            return await super()._find(given)
        if given != "new":
            return await self._recorded(str(given)), "resume"
        self._made += 1
        return await self._recorded(f"{FIRST}-{self._made}"), "new"

    async def _recorded(self, name: str) -> Session:
        if self.coming is None:
            raise UnknownSession(name, ())
        self._store, session = await session_of(name, self.coming.entries, self._agent.clock)
        return session
