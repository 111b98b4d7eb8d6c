"""The server of one client: what it asks is done with the session that it is in, and it is told what happens there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from skillkit_frontend import offer_what_asks

from skillkit_core import (
    AgentBusy,
    AgentConfig,
    NoActiveRun,
    Origin,
    RunAborted,
    SkillKitError,
    UsageError,
)

from . import protocol as p
from .acts import RunFailed, checked, state_of
from .connection import Connection, RpcError
from .first_version import FirstVersion
from .journal import Client, FellBehind, Message
from .shown import APPROVAL, SURVEY, Waiting

if TYPE_CHECKING:
    from .live import Live

__all__ = ["Server"]


class Sessions(Protocol):
    """The sessions of this process, as a client moves between them: :class:`~skillkit_live.Lives`."""

    def __iter__(self) -> Iterator[Live]:
        """Yield those that are live."""

    async def open(
        self, session: str | None, *, folder: Path | None, origin: Origin, config: AgentConfig | None
    ) -> Live:
        """Return a live session, opened if it is not open yet."""

    async def inbox(self, principal: str) -> Sequence[Waiting]:
        """Return the questions that wait, as far as ``principal`` may see them."""


class Teller(Protocol):
    """How messages of a session are told to a client."""

    def tell(self, message: Message) -> None:
        """Tell the client a message."""

    def close(self) -> None:
        """Ask the client nothing more."""


class SecondVersion:
    """A client of version 2 is told each message as it is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def tell(self, message: Message) -> None:
        """Tell the client a message."""
        self._connection.notify("message", message.to_dict())

    def close(self) -> None:
        """The client is asked nothing."""


class Server:
    """Answers the requests of one client.

    Args:
        lives: all sessions of this process.
        live: the session that the client is in first.
        kind: the kind of the client's origin.
        leave: called when the client asks for the end.

    Attributes:
        connection: where the client is; set before it is served.
    """

    connection: Connection

    def __init__(self, lives: Sessions, live: Live, kind: str, leave: Callable[[], Awaitable[None]]) -> None:
        self.lives, self.live = lives, live
        self._kind, self._leave = kind, leave
        self._origin = Origin(kind)
        self._version = 0
        self._answers: frozenset[str] = frozenset()
        self._client: Client | None = None
        self._pump: asyncio.Task[None] | None = None
        self._teller: Teller | None = None
        self._told = ""
        self._progress = asyncio.Event()

    async def handle(self, method: str, params: Any) -> Any:
        """Do what a request asks; return the result as JSON.

        Raises:
            RpcError: it could not be done.
        """
        if method not in p.METHODS:
            raise RpcError(p.METHOD_NOT_FOUND, f"there is no method {method!r}", {"methods": sorted(p.METHODS)})
        if not self._version and method != "initialize":
            raise RpcError(p.INVALID_REQUEST, "the first request must be 'initialize'")
        try:
            result = await self._do(method, params)
        except RunFailed as failed:
            told = {**failed.error.to_dict(), "response": failed.result.model_dump(mode="json")}
            failure = RpcError(_code(failed.error), str(failed.error), told)
        except SkillKitError as error:
            failure = RpcError(_code(error), str(error), error.to_dict())
        else:
            await self._caught_up()
            return result
        await self._caught_up()
        raise failure from None

    async def _do(self, method: str, params: Any) -> dict[str, Any]:
        if method in p.ACTS:
            return await self.live.act(method, {} if params is None else params, self._origin)
        given = checked(method, p.METHODS, params)
        work: Callable[[Any], Awaitable[p.Result]] = getattr(self, f"_{method}")
        return (await work(given)).model_dump(mode="json")

    # --- methods ----------------------------------------------------------------------------------------------

    async def _initialize(self, params: p.InitializeParams) -> p.InitializeResult:
        if params.version not in p.VERSIONS:
            known = " and ".join(f"version {one}" for one in reversed(p.VERSIONS))
            raise UsageError(f"this server speaks {known} of the protocol, not {params.version}")
        from skillkit_core import __version__

        self._version = params.version
        self._origin = Origin(self._kind, id=params.client or None)
        kinds = {APPROVAL: params.approvals, SURVEY: params.questions}
        self._answers = frozenset(kind for kind, wanted in kinds.items() if wanted)
        if params.approvals and self._kind != "socket":  # a guest changes nothing of the process that holds the session
            offer_what_asks(self.live.agent.host)
        if params.version == 1:
            self._greet_first()
            self._follow(self.live.last)
        else:
            self._teller = SecondVersion(self.connection)
        state = state_of(self.live)
        return p.InitializeResult(version=params.version, server=f"skillkit {__version__}", state=state)

    def _greet_first(self) -> None:
        """Begin to tell a client of version 1 about the session that it is in, with the questions that are open."""
        if self._teller is not None:
            self._teller.close()
        self._teller = FirstVersion(self.connection, self.live, self._answers, self._origin)
        for question in self.live.agent.redact(self.live.questions.shown()):
            self._teller.tell(Message(self.live.last, "question", {"question": question}))

    async def _attach(self, params: p.AttachParams) -> p.AttachResult:
        if self._version == 1:
            raise UsageError("a client of version 1 is told everything anyway", hint="initialize with version 2")
        self._follow(params.after)
        return p.AttachResult(last=self.live.last)

    async def _sessions(self, params: p.ListParams) -> p.SessionsResult:
        rows = await self.live.agent.host.session_store().list(limit=params.limit)
        return p.SessionsResult(sessions=[dict(row) for row in rows])

    async def _inbox(self, params: p.Nothing) -> p.InboxResult:
        found = await self.lives.inbox(self._origin.principal)
        return p.InboxResult(waiting=[p.WaitingQuestion(**asdict(one)) for one in found])

    async def _open(self, params: p.OpenParams) -> p.State:
        """Go on in another session: with the same agent where nobody else is in its session, else with another one.

        A client that came through a socket is a guest of the process that holds the session.
        """
        live, wanted = self.live, params.session
        if wanted != "new":
            wanted = await live.agent.host.session_store().find(wanted)
        alone = self._kind != "socket" and live.clients <= (self._client is not None)
        if alone and not any(other.id == wanted for other in self.lives):
            await live.agent.switch(wanted)
            return state_of(live)
        following = self._client is not None
        config = replace(live.agent.config, approver=None, ui=None)
        self.live = await self.lives.open(wanted, folder=live.folder, origin=self._origin, config=config)
        if self._version == 1:
            self._greet_first()
        if following:
            self._follow(None if self._version > 1 else self.live.last)
        return state_of(self.live)

    async def _shutdown(self, params: p.Nothing) -> p.Done:
        await self._leave()
        asyncio.get_running_loop().call_soon(self.connection.ended.set)
        return p.Done()

    # --- telling ----------------------------------------------------------------------------------------------

    def _follow(self, after: str | None) -> None:
        """Tell the client the messages from now on, beginning behind ``after``."""
        self.stop()
        self._client = self.live.attach(after, answers=self._answers, whole=self._version == 1)
        self._told = self._client.after
        self._pump = asyncio.get_running_loop().create_task(self._tell(self._client))

    async def _tell(self, client: Client) -> None:
        """Tell messages as fast as the client reads them; one that reads too slowly is told where it must go on."""
        assert self._teller is not None
        try:
            while True:
                try:
                    async for message in client:
                        await self.connection.room()
                        self._teller.tell(message)
                        self._told = message.id
                        self._progress.set()
                    return
                except FellBehind as behind:
                    if self._version > 1:
                        self.connection.notify("dropped", {"after": behind.after})
                        self._client = None
                        return
                    self._client = client = self.live.attach(behind.after, answers=self._answers, whole=True)
        finally:
            self._progress.set()

    async def _caught_up(self) -> None:
        """Wait until the client was told what had happened when its request was done."""
        number = int(self.live.last.rpartition(".")[2])
        while self._client is not None and self._pump is not None and not self._pump.done():
            if int(self._told.rpartition(".")[2]) >= number:
                return
            self._progress.clear()
            await self._progress.wait()

    def stop(self) -> None:
        """Tell the client nothing more; it leaves the session."""
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None
        if self._client is not None:
            self._client.close()
            self._client = None

    def close(self) -> None:
        """End: the client is told and asked nothing more."""
        self.stop()
        if self._teller is not None:
            self._teller.close()


def _code(error: SkillKitError) -> int:
    """Return the code of an error."""
    if isinstance(error, RunAborted):
        return p.ABORTED
    if isinstance(error, AgentBusy):
        return p.BUSY
    if isinstance(error, NoActiveRun):
        return p.IDLE
    return p.INVALID_PARAMS if isinstance(error, UsageError) else p.FAILED
