"""The live sessions of a process: a host for each folder, and each session once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core import AgentConfig, Clock, Host, Origin, Session

from .connection import Connection
from .door import Door, address_of
from .live import IDLE, PATIENCE, Live
from .server import Server
from .shown import Waiting, waiting_question

if TYPE_CHECKING:
    from types import TracebackType

    from skillkit_core import AgentRunner

__all__ = ["Lives"]


class Lives:
    """All live sessions of a process. Use it as an async context manager.

    Configuration, trust, context files and commands belong to a folder, so each folder has a host of its own, which closes
    when no session has needed it for a while.

    Args:
        host: a host that the caller closes, for sessions in its folder; other folders get hosts of the same distribution.
        make_host: returns a new host for a folder; default: one of the distribution of ``host``.
        clock: the clock of agents and waits, which tests replace.
        patience: seconds that a question waits while no client is attached; then the run is suspended.
        idle: seconds that a session stays open while no client is attached and nothing runs.
        approvers: the principals whose answers to questions count, asked with each; ``owner`` is the user of this machine.
        listen: let other processes of this user attach to the sessions of this one.
    """

    def __init__(
        self,
        host: Host | None = None,
        *,
        make_host: Callable[[Path], Host] | None = None,
        clock: Clock | None = None,
        patience: float = PATIENCE,
        idle: float = IDLE,
        approvers: Collection[str] = ("owner",),
        listen: bool = False,
    ) -> None:
        self._given = host
        self._make_host = make_host or self._another
        self._hosts: dict[Path, Host] = {} if host is None else {host.cwd.resolve(): host}
        self._clock, self._patience, self._idle = clock, patience, idle
        self._approvers, self._listen = approvers, listen
        self._lives: dict[Live, asyncio.Task[None]] = {}
        self._opening = asyncio.Lock()

    def _another(self, folder: Path) -> Host:
        if self._given is None:
            return Host(cwd=folder)
        plan = self._given.plan  # the same distribution, also a file's, and the same choice of plugins
        return Host(plan.wanted, selection=plan.selection, environ=self._given.environ, cwd=folder)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._lives))

    async def open(
        self,
        session: str | None = "new",
        *,
        folder: Path | None = None,
        origin: Origin,
        config: AgentConfig | None = None,
    ) -> Live:
        """Return a live session, opened if it is not open yet.

        Args:
            session: the id of a session or the start of one, ``new``, or ``None`` for one that is kept in memory alone.
            folder: the workspace of a session that is opened now; default: that of the given host.
            origin: who opens it.
            config: the configuration of the agent, without approver and user interface, which are the clients.

        Raises:
            SessionLocked: another process has the session; ``RpcClient(endpoint=error.owner.endpoint)`` attaches to it there.
            SkillKitError: as ``AgentRunner.open``.
        """
        async with self._opening:
            host = self.host(folder)
            if session is not None and session != "new":
                session = await host.session_store().find(session)
                for live in self:
                    if live.id == session and live.state != "closed":
                        return live
            live = Live(
                config or AgentConfig(),
                host,
                session,
                clock=self._clock,
                patience=self._patience,
                idle=self._idle,
                approvers=self._approvers,
                door=self._door if self._listen and session is not None else None,
            )
            try:
                await live.start()
            except BaseException:
                await live.aclose()
                raise
            self._lives[live] = asyncio.get_running_loop().create_task(self._until_over(live))
            return live

    async def adopt(self, agent: AgentRunner) -> Live:
        """Return a live session around an agent that a front end of this process holds; others attach to it."""
        live = Live(
            agent.config,
            agent.host,
            agent.session.id,
            clock=self._clock,
            patience=self._patience,
            idle=self._idle,
            approvers=self._approvers,
            door=self._door if self._listen else None,
            agent=agent,
        )
        await live.start()
        self._lives[live] = asyncio.get_running_loop().create_task(self._until_over(live))
        return live

    def _door(self, live: Live) -> Door:
        """Open the door of a session."""

        def serve(connection: Connection) -> Server:
            async def leave() -> None:
                connection.ended.set()

            server = Server(self, live, "socket", leave)
            server.connection = connection
            return server

        return Door(address_of(live.id, live.folder_of_sockets), serve)

    def host(self, folder: Path | None = None) -> Host:
        """Return the host of a folder, made if there is none yet."""
        if folder is None:
            if self._given is None:
                folder = Path.cwd()
            else:
                return self._given
        folder = folder.resolve()
        if folder not in self._hosts:
            self._hosts[folder] = self._make_host(folder)
        return self._hosts[folder]

    async def _until_over(self, live: Live) -> None:
        """Close a session that nobody needs any more, and later its host."""
        while live in self._lives:
            await live.over.wait()
            async with self._opening:
                if live.rest():
                    del self._lives[live]
                    await live.aclose()
        host = live.agent.host
        await live.agent.clock.sleep(self._idle)
        async with self._opening:
            if host is not self._given and not any(other.agent.host is host for other in self):
                self._hosts = {folder: kept for folder, kept in self._hosts.items() if kept is not host}
                await host.aclose()

    async def inbox(self, principal: str = "owner") -> Sequence[Waiting]:
        """Return the questions that wait: of live sessions, and of suspended ones in the store.

        Args:
            principal: who asks; only the owner sees sessions.
        """
        if principal != "owner":
            return []
        found = [
            Waiting(live.id, None, str(live.folder), question, True) for live in self for question in live.waiting()
        ]
        known = {live.id for live in self}
        store = self.host().session_store()
        for row in await store.list():
            # what waits in an agent inside a call is a question of the session above, where it is answered
            if not row.get("suspended") or row.get("nested") or row["id"] in known:
                continue
            session = await Session.open(store, row["id"], time.time, read_only=True)
            try:
                suspension = session.suspension()
            finally:
                await session.close()
            for call in suspension.calls if suspension is not None else ():
                for waiting in call.waiting:
                    if waiting.questions:
                        question = waiting_question(waiting)
                        found.append(Waiting(row["id"], row.get("title"), str(row.get("cwd", "")), question, False))
        return found

    async def aclose(self) -> None:
        """Leave every session: what waits for an answer is suspended, other runs are aborted. Close the hosts made here."""
        tasks = list(self._lives.values())
        for live in self:
            await live.aclose()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lives.clear()
        for host in self._hosts.values():
            if host is not self._given:
                await host.aclose()

    async def __aenter__(self) -> Lives:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
