"""The agent that an editor speaks with: what its requests do, and what it is told when they cannot be done."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acp import PROTOCOL_VERSION, RequestError, schema as s
from skillkit_commands import changes_of

from skillkit_core import Origin, SessionLocked, SkillKitError, UsageError, project_content
from skillkit_core.cli.output import short_path

from .choices import modes_of, options_of
from .files import EditorFiles
from .prompts import said
from .servers import Servers, configured
from .session import EditorSession
from .terminals import TerminalExecutor, offer_terminals

if TYPE_CHECKING:
    from acp.interfaces import Client
    from skillkit_live import Lives

    from skillkit_core import AgentConfig, Host

__all__ = ["EditorAgent"]

log = logging.getLogger("skillkit.acp")
_PAGE = 100  # sessions of one answer
_INVALID_PARAMS, _FAILED = -32602, -32603
T = TypeVar("T")


def _told(method: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Let the editor read an error of SkillKit."""

    @functools.wraps(method)
    async def wrapper(self: EditorAgent, *args: Any, **given: Any) -> T:
        try:
            return await method(self, *args, **given)
        except SkillKitError as error:
            code = _INVALID_PARAMS if isinstance(error, UsageError) else _FAILED
            raise RequestError(code, str(error), error.to_dict()) from None
        except (RequestError, ConnectionError):
            raise
        except Exception as error:
            log.exception("%s failed", method.__name__)
            raise RequestError(_FAILED, f"{type(error).__name__}: {error}") from None

    return wrapper


class EditorAgent:
    """Answers the requests of one editor.

    Args:
        lives: the sessions of this process.
        config: the agents of sessions.
        asks: the person at the editor is asked where a guard asks.
    """

    def __init__(self, lives: Lives, config: AgentConfig, *, asks: bool) -> None:
        self._lives, self._config, self._asks = lives, config, asks
        self._origin = Origin("acp")
        self._can = s.ClientCapabilities()
        self._sessions: dict[str, EditorSession] = {}
        self._begins: dict[
            str, list[str]
        ] = {}  # sessions whose id the editor does not know yet, and what it is told first

    def on_connect(self, client: Client) -> None:
        """Take the editor's side of the connection."""
        self._client = client

    def answered(self, message: dict[str, Any]) -> None:
        """Begin to tell what happens in a new session, once the editor knows its id."""
        result = message.get("result")
        session = result.get("sessionId") if isinstance(result, dict) else None
        if session in self._begins:
            self._sessions[session].begin(self._begins.pop(session))

    # --- the editor -------------------------------------------------------------------------------------------

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: s.ClientCapabilities | None = None,
        client_info: s.Implementation | None = None,
        **_: Any,
    ) -> s.InitializeResponse:
        """Say what this agent can."""
        from skillkit_core import __version__

        self._can = client_capabilities or s.ClientCapabilities()
        self._origin = Origin("acp", id=client_info.name if client_info is not None else None)
        return s.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=s.Implementation(name="skillkit", title="SkillKit", version=__version__),
            agent_capabilities=s.AgentCapabilities(
                load_session=True,
                prompt_capabilities=s.PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=s.McpCapabilities(http=True, sse=False),
                session_capabilities=s.SessionCapabilities(
                    list=s.SessionListCapabilities(),
                    resume=s.SessionResumeCapabilities(),
                    close=s.SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: Any) -> s.AuthenticateResponse:
        """Refuse: keys come from the environment, the keyring or ``skillkit login``."""
        raise RequestError(_INVALID_PARAMS, f"there is no way {method_id!r} to authenticate here")

    # --- sessions ---------------------------------------------------------------------------------------------

    @_told
    async def new_session(self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any) -> s.NewSessionResponse:
        """Begin a session in a folder."""
        session, problems = await self._open("new", cwd, mcp_servers or ())
        self._begins[session.id] = problems
        modes, options = modes_of(session.live.agent), await options_of(session.live.agent)
        return s.NewSessionResponse(session_id=session.id, modes=modes, config_options=options)

    @_told
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> s.LoadSessionResponse:
        """Go on in a session; everything that was said is told first."""
        session, problems = await self._open(session_id, cwd, mcp_servers or ())
        await session.replay()
        session.begin(problems)
        agent = session.live.agent
        return s.LoadSessionResponse(modes=modes_of(agent), config_options=await options_of(agent))

    @_told
    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> s.ResumeSessionResponse:
        """Go on in a session that the editor has in sight already."""
        session, problems = await self._open(session_id, cwd, mcp_servers or ())
        session.begin(problems)
        agent = session.live.agent
        return s.ResumeSessionResponse(modes=modes_of(agent), config_options=await options_of(agent))

    async def _open(self, name: str, cwd: str, servers: Any) -> tuple[EditorSession, list[str]]:
        """Open a session in the folder ``cwd``; return it, and what is to be said about servers."""
        folder = _folder(cwd)
        wanted = configured(servers)
        if (known := self._sessions.pop(name, None)) is not None:
            await known.leave(close=True)
        files, terminals = EditorFiles(self._client, self._can.fs), TerminalExecutor(self._client)
        config = self._config
        if files.offered:
            config = replace(config, options={**config.options, EditorFiles.OPTION: files})
        if self._can.terminal and await offer_terminals(self._lives.host(folder)):
            config = replace(config, executor=terminals)
        try:
            live = await self._lives.open(name, folder=folder, origin=self._origin, config=config)
        except SessionLocked as locked:
            hint = f"close it there, or see it at a terminal: skillkit attach {name}"
            raise SkillKitError(f"another process has the session {name}", hint=hint) from locked
        files.session = live.id
        answers = ["approval"] if self._asks else []
        forms = self._can.elicitation is not None and self._can.elicitation.form is not None
        own = Servers(live.agent, wanted) if wanted else None
        problems = [*_not_trusted(live.agent.host), *(await own.start() if own is not None else [])]
        session = EditorSession(self._client, live, self._origin, [*answers, *(["survey"] if forms else [])], own)
        self._sessions[session.id] = terminals.session = session
        return session, problems

    @_told
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> s.ListSessionsResponse:
        """List the sessions of a folder, or of all, newest first."""
        folder = _folder(cwd) if cwd is not None else None
        first = int(cursor) if cursor and cursor.isdecimal() else 0
        rows = [
            row
            for row in await self._lives.host().session_store().list()
            if row.get("messages") and not row.get("nested") and row.get("cwd")
            if folder is None or Path(row["cwd"]).resolve() == folder
        ]
        page = rows[first : first + _PAGE]
        more = str(first + _PAGE) if len(rows) > first + _PAGE else None
        return s.ListSessionsResponse(sessions=[_info(row) for row in page], next_cursor=more)

    @_told
    async def close_session(self, session_id: str, **_: Any) -> s.CloseSessionResponse:
        """Close a session; it is kept."""
        session = self._session(session_id)
        del self._sessions[session_id]
        await session.leave(close=True)
        return s.CloseSessionResponse()

    def _session(self, session: str) -> EditorSession:
        found = self._sessions.get(session)
        if found is None or found.live.state == "closed":
            raise UsageError(f"no session {session!r} is open here", hint="load it, or begin another one")
        return found

    # --- what goes on in one ----------------------------------------------------------------------------------

    @_told
    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> s.PromptResponse:
        """Do what the person says."""
        session = self._session(session_id)
        return await session.prompt(said(prompt, session.live.folder))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End what goes on in a session."""
        if (session := self._sessions.get(session_id)) is not None:
            await session.cancel()

    @_told
    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> s.SetSessionModeResponse:
        """Let another mode count."""
        await self._session(session_id).set_mode(mode_id)
        return s.SetSessionModeResponse()

    @_told
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> s.SetSessionConfigOptionResponse:
        """Choose a mode, a model, or how hard it thinks."""
        options = await self._session(session_id).choose(config_id, value)
        return s.SetSessionConfigOptionResponse(config_options=options)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse: there are no methods of our own."""
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Hear nothing of others' own."""

    async def leave(self) -> None:
        """Leave all sessions: the editor is gone."""
        for session in self._sessions.values():
            await session.leave()


def _folder(cwd: str) -> Path:
    """Return the folder of a session.

    Raises:
        UsageError: it is no absolute path, or no folder.
    """
    path = Path(cwd)
    if not path.is_absolute():
        raise UsageError(f"cwd must be absolute, and {cwd!r} is not")
    if not path.is_dir():
        raise UsageError(f"{cwd} is no folder")
    return path.resolve()


def _not_trusted(host: Host) -> list[str]:
    """Return a line for each folder that brings what does not count yet, as a conversation at a terminal says it."""
    told: list[str] = []
    for folder in changes_of(host):
        found = [part for part in project_content(host, str(folder)) if (folder / part).exists()]
        if found:
            what = f"what {short_path(str(folder))} brings does not count: {', '.join(sorted(found))}"
            told.append(f"{what}; /trust shows it, and lets it count, as 'skillkit config trust' does")
    return told


def _info(row: Any) -> s.SessionInfo:
    updated = row.get("updated")
    when = datetime.fromtimestamp(float(updated), UTC).isoformat() if updated else None
    return s.SessionInfo(session_id=row["id"], cwd=str(row["cwd"]), title=row.get("title") or None, updated_at=when)
