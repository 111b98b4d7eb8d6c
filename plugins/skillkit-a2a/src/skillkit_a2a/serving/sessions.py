"""The sessions behind contexts: a context of the protocol is a session of this host, and has one owner."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import InvalidParamsError, UnsupportedOperationError

from skillkit_core import Origin, Session, SessionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillkit_live import Live, Lives

    from skillkit_core import AgentConfig, Host, SessionEntry

    from .keys import Caller

__all__ = ["CONTEXT", "Sessions", "name_in"]

CONTEXT = "a2a.context"  # the note that says whose context a session is
_ID = re.compile(r"[A-Za-z0-9-]{1,64}\Z")


class Sessions:
    """The sessions of callers, each with one agent in this process.

    Args:
        host: the host of the folder that is served.
        lives: the live sessions.
        config: the configuration of their agents.
    """

    def __init__(self, host: Host, lives: Lives, config: AgentConfig) -> None:
        self.host, self._lives, self._config = host, lives, config
        self._owners: dict[str, tuple[Any, str | None]] = {}  # of sessions that were read: when they changed, and whose
        self._named: dict[str, dict[str, str]] = {}  # by owner: the sessions of contexts, by the name of the context

    async def begin(self, caller: Caller, skill: str = "", name: str = "") -> Live:
        """Return a new session of a caller.

        Args:
            caller: who owns the context.
            skill: the skill that is active from the start; empty: none is.
            name: what the caller calls the context; empty: as the session is called.
        """
        skills = (skill,) if skill else self._config.skills
        config = replace(self._config, skills=skills)
        live = await self._open("new", caller.principal, config)
        about = {"owner": caller.principal, "skills": list(skills), "name": name or live.id}
        await live.agent.session.note(CONTEXT, about)
        self._named.setdefault(caller.principal, {})[name or live.id] = live.id
        return live

    async def live(self, session: str, principal: str) -> Live:
        """Return a session of a caller, opened if it is not open.

        Raises:
            InvalidParamsError: there is none. UnsupportedOperationError: another process has it open.
        """
        note = note_in(await self.entries(session))
        if note is None or note["owner"] != principal:
            raise InvalidParamsError(message=f"there is no context {session!r}")
        config = replace(self._config, skills=tuple(note.get("skills", ())))
        return await self._open(session, principal, config)

    async def _open(self, session: str, principal: str, config: AgentConfig) -> Live:
        try:
            return await self._lives.open(session, origin=Origin("a2a", principal), config=config)
        except SessionError as error:
            raise UnsupportedOperationError(message=f"the context cannot be used now: {error}") from None

    async def find(self, context: str, principal: str) -> str | None:
        """Return the session of a context by the name that the caller gave it; ``None``: there is none."""
        if principal not in self._named:
            self._named[principal] = {}
            async for session, entries in self.of(principal):
                self._named[principal].setdefault(name_in(entries), session)
        return self._named[principal].get(context)

    async def entries(self, session: str) -> Sequence[SessionEntry]:
        """Return the entries of a session; none where there is no such session."""
        for live in self._lives:
            if live.id == session and live.state != "closed":
                return live.agent.session.entries
        if not _ID.match(session):
            return ()
        try:
            opened = await Session.open(self.host.session_store(), session, time.time, read_only=True)
        except SessionError:
            return ()
        try:
            return list(opened.entries)
        finally:
            await opened.close()

    async def of(self, principal: str) -> AsyncIterator[tuple[str, Sequence[SessionEntry]]]:
        """Yield the sessions of a caller with their entries, the newest first."""
        for row in await self.host.session_store().list():
            session, changed = str(row["id"]), row.get("updated")
            elsewhere = Path(str(row.get("cwd"))).resolve() != self.host.cwd.resolve()
            if row.get("nested") or row.get("error") or elsewhere:
                continue
            known = self._owners.get(session)
            if known is not None and known[0] == changed and known[1] != principal:
                continue
            entries = await self.entries(session)
            note = note_in(entries)
            owner = None if note is None else str(note["owner"])
            self._owners[session] = changed, owner
            if owner == principal:
                yield session, entries


def note_in(entries: Sequence[SessionEntry]) -> Mapping[str, Any] | None:
    """Return the note that says whose context a session is; ``None``: it is none."""
    return next((e.data for e in entries if e.type == "custom" and e.data.get("custom_type") == CONTEXT), None)


def name_in(entries: Sequence[SessionEntry]) -> str:
    """Return what its caller calls the context of a session; empty: it is none."""
    note = note_in(entries)
    return "" if note is None else str(note.get("name", ""))
