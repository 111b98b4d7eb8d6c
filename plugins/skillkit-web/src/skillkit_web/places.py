"""Where sessions are: in this process, or in another one of this user, to which this server attaches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from skillkit_commands import changes_of
from skillkit_frontend import as_before, last_answer
from skillkit_live import FellBehind, RpcClient

from skillkit_core import Origin, Session, SessionLocked, SkillKitError, UsageError, project_content

from .shell_lines import ShellLine

if TYPE_CHECKING:
    from skillkit_frontend import Choices
    from skillkit_live import Live, Lives

    from skillkit_core import AgentConfig, Host

__all__ = ["ORIGIN", "Place", "Places"]

ORIGIN = Origin("web")
_MOST = 1_000  # entries of all sessions among which those of one are looked for
_ROOM = 5_000  # messages of another process that wait for a tab, more than it replays; one that reads slower comes back


class Place(Protocol):
    """A session, wherever it is."""

    here: bool

    def messages(self, after: str | None) -> AsyncGenerator[dict[str, Any], None]:
        """Yield what happens after a message, or from a snapshot on, until the session is closed there."""

    async def act(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a method of the protocol asks."""

    def untrusted(self) -> list[str]:
        """Return what the folder brings and what does not count, because nobody trusted it."""


class Here:
    """A session of this process.

    Args:
        live: the session.
        answers: the kinds of questions that tabs answer.
        line: the shell line that may go on in the session.
    """

    here = True

    def __init__(self, live: Live, answers: Collection[str], line: ShellLine) -> None:
        self.live, self._answers, self.line = live, answers, line

    async def messages(self, after: str | None) -> AsyncGenerator[dict[str, Any], None]:
        """Yield what happens."""
        async with self.live.attach(after, answers=self._answers) as client:
            try:
                async for message in client:
                    yield message.to_dict()
            except FellBehind:
                return  # the tab comes back

    async def act(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a method asks."""
        if method == "shell":
            return await self.line.run(self.live, str(params.get("line", "")))
        if method == "abort" and self.line.stop():
            return {}
        return await self.live.act(method, params, ORIGIN)

    def untrusted(self) -> list[str]:
        """Return what does not count."""
        host = self.live.agent.host
        return [
            str(folder / part)
            for folder in changes_of(host)
            for part in project_content(host, str(folder))
            if (folder / part).exists()
        ]


class There:
    """A session of another process: a terminal, an editor, a program.

    Args:
        endpoint: its socket.
    """

    here = False

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    async def messages(self, after: str | None) -> AsyncGenerator[dict[str, Any], None]:
        """Yield what happens."""
        waiting: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        async with RpcClient(endpoint=self._endpoint, name="web", on_message=waiting.put_nowait, after=after) as client:
            gone = asyncio.create_task(client.ended.wait())
            gone.add_done_callback(lambda _: waiting.put_nowait(None))
            try:
                while (message := await waiting.get()) is not None:
                    yield dict(message)
                    if waiting.qsize() > _ROOM:
                        return
            finally:
                gone.cancel()

    async def act(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a method asks."""
        if method == "shell":
            raise UsageError("a shell line is for the process that has the session open", hint="type it there")
        async with RpcClient(endpoint=self._endpoint, name="web") as client:
            return await client.call(method, params)

    def untrusted(self) -> list[str]:
        """Return nothing: the process that has the session says it."""
        return []


class Places:
    """Finds sessions, and begins them.

    Args:
        lives: the sessions of this process.
        config: the agents of sessions.
        choices: what the command line says.
        folders: folders beside that of the command in which sessions may begin.
    """

    def __init__(self, lives: Lives, config: AgentConfig, choices: Choices, folders: Collection[Path]) -> None:
        self._lives, self._config, self._choices = lives, config, choices
        self._lines: dict[str, ShellLine] = {}
        self._answers = ("survey",) if choices.approvals == "deny" else ("approval", "survey")
        self.folders = list(dict.fromkeys(folder.resolve() for folder in (self.host.cwd, *folders)))

    @property
    def host(self) -> Host:
        """The host of the folder in which the command was started."""
        return self._lives.host()

    async def begin(self, folder: str | None) -> str:
        """Begin a session in a folder; return its id.

        Raises:
            UsageError: no session may begin there.
        """
        wanted = Path(folder).resolve() if folder else self.folders[0]
        if wanted not in [*self.folders, *(await self._known())]:
            raise UsageError(f"no session begins in {wanted} here", hint="start 'skillkit web --folder' with it")
        return (await self._lives.open("new", folder=wanted, origin=ORIGIN, config=self._config)).id

    async def _known(self) -> set[Path]:
        rows = await self.host.session_store().list()
        return {Path(str(row["cwd"])).resolve() for row in rows if row.get("cwd")}

    async def place(self, session: str) -> Place:
        """Return a session, opened if nobody has it open.

        Raises:
            UnknownSession: there is none. SkillKitError: it cannot be opened.
        """
        for live in self._lives:
            if live.id == session and live.state != "closed":
                return self._here(live)
        folder, before = await self._last(session)
        try:
            config = replace(self._config, **before) if before else self._config
            live = await self._lives.open(session, folder=folder, origin=ORIGIN, config=config)
        except SessionLocked as locked:
            if locked.owner is None or locked.owner.endpoint is None:
                hint = "close it there; this page tries again by itself"
                raise SkillKitError(f"another process has session {session} open", hint=hint) from locked
            return There(locked.owner.endpoint)
        return self._here(live)

    def _here(self, live: Live) -> Here:
        return Here(live, self._answers, self._lines.setdefault(live.id, ShellLine()))

    async def _last(self, session: str) -> tuple[Path, dict[str, Any]]:
        """Return the folder of a session, and the model that answered last."""
        store = self.host.session_store()
        seen = await Session.open(store, await store.find(session), time.time, read_only=True)
        await seen.close()
        made_in = seen.handle.header.cwd
        folder = Path(made_in) if made_in else self.host.cwd
        if not folder.is_dir():
            raise UsageError(f"the folder of session {session} is gone: {folder}")
        return folder, as_before(self._lives.host(folder), self._choices, last_answer(seen))

    async def sessions(self, limit: int) -> list[dict[str, Any]]:
        """Return the sessions, newest first: those of the store in which something was said, with what they do now."""
        states = {live.id: live.state for live in self._lives}
        rows = await self.host.session_store().list(limit=limit)
        return [
            {
                "id": row["id"],
                "title": row.get("title") or "",
                "folder": str(row.get("cwd") or ""),
                "updated": row.get("updated"),
                "state": states.get(row["id"]) or ("suspended" if row.get("suspended") else "closed"),
            }
            for row in rows
            if row.get("messages") and not row.get("nested")
        ]

    async def search(self, query: str, session: str | None, limit: int) -> dict[str, Any]:
        """Return the entries that contain a text, as ``skillkit sessions search`` finds them, of all sessions or of one."""
        store, found, unread = self.host.session_store(), list[dict[str, Any]](), 0
        rows = {row["id"]: row for row in await store.list()}
        async for hit in store.search(query, limit=limit if session is None else _MOST):
            if hit.get("error"):
                unread += 1
            elif (
                (row := rows.get(hit["session_id"])) is not None and session in (None, row["id"]) and len(found) < limit
            ):
                facts = {"title": row.get("title") or "", "folder": str(row.get("cwd") or "")}
                found.append(
                    {"session": row["id"], "entry": hit["entry_id"], "ts": hit["ts"], "text": hit["excerpt"], **facts}
                )
        return {"found": self.host.redact(found), "unread": unread}

    async def inbox(self) -> list[dict[str, Any]]:
        """Return the questions that wait, of all sessions."""
        found = await self._lives.inbox(ORIGIN.principal)
        titles = {row["id"]: row.get("title") for row in await self.host.session_store().list()} if found else {}
        return [
            {
                "session": one.session,
                "title": one.title or titles.get(one.session) or "",
                "folder": one.folder,
                "question": one.question,
            }
            for one in found
        ]
