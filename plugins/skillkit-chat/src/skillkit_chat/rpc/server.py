"""The server: what each method does with the agent."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from skillkit_frontend import TITLE, EventLines, image_from_file

from skillkit_core import (
    AgentBusy,
    AgentError,
    AgentResponse,
    ImageBlock,
    NoActiveRun,
    RunAborted,
    SkillKitError,
    UsageError,
    message_to_dict,
)
from skillkit_core.cli.output import shorten

from ..waiting import waiting_json
from . import protocol as p
from .connection import Connection, RpcError
from .person import RemoteApprover, RemoteInterface

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, AgentRunner, Host

__all__ = ["serve"]


async def serve(host: Host, config: AgentConfig, session: str | None) -> int:
    """Serve one client on stdin and stdout until it leaves; return the exit code.

    Whatever else prints in this process goes to stderr, so that stdout holds the protocol alone.
    """
    from skillkit_core import AgentRunner

    out = os.fdopen(os.dup(1), "wb")
    sys.stdout.flush()
    os.dup2(2, 1)
    approver, person = RemoteApprover(), RemoteInterface()
    agent = AgentRunner(replace(config, approver=approver, ui=person), host=host, session=session)
    try:
        await agent.open()
        host.freeze()
        server = Server(agent, approver, person)
        connection = Connection(sys.stdin.buffer, out, server.handle)
        server.connection = person.connection = connection
        lines = EventLines(host.secrets)
        agent.events.observe(lambda event: _tell(connection, lines.of(event)))
        await connection.ended.wait()
        await connection.drain()
        agent.abort("the client is gone")
    finally:
        await agent.aclose()
        await host.aclose()
    return 0


def _tell(connection: Connection, events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        connection.notify("event", event)


class Server:
    """Answers the requests of one client.

    Attributes:
        connection: where the client is.
    """

    connection: Connection

    def __init__(self, agent: AgentRunner, approver: RemoteApprover, person: RemoteInterface) -> None:
        self.agent, self.approver, self.person = agent, approver, person
        self.greeted = False

    async def handle(self, method: str, params: Any) -> Any:
        """Do what a request asks; return the result as JSON.

        Raises:
            RpcError: it could not be done.
        """
        known = p.METHODS.get(method)
        if known is None:
            raise RpcError(p.METHOD_NOT_FOUND, f"there is no method {method!r}", {"methods": sorted(p.METHODS)})
        if not self.greeted and method != "initialize":
            raise RpcError(p.INVALID_REQUEST, "the first request must be 'initialize'")
        try:
            given = known.params.model_validate({} if params is None else params)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "params"
            raise RpcError(p.INVALID_PARAMS, f"{method}: {place}: {first['msg']}") from None
        work: Callable[[Any], Awaitable[p.Result]] = getattr(self, f"_{method}")
        try:
            return (await work(given)).model_dump(mode="json")
        except SkillKitError as error:
            raise RpcError(_code(error), str(error), error.to_dict()) from None

    async def _initialize(self, params: p.InitializeParams) -> p.InitializeResult:
        if params.version != p.VERSION:
            raise RpcError(
                p.INVALID_PARAMS, f"this server speaks version {p.VERSION} of the protocol, not {params.version}"
            )
        self.greeted = True
        self.approver.connection = self.connection if params.approvals else None
        self.person.asks = params.questions
        from skillkit_core import __version__

        return p.InitializeResult(version=p.VERSION, server=f"skillkit {__version__}", state=self._now())

    async def _prompt(self, params: p.PromptParams) -> p.RunResult:
        images = [self._image(image) for image in params.images]
        session = await self.agent.open()
        if not any(entry.type == "session_info" for entry in session.entries):
            await session.append("session_info", {"title": shorten(params.text, TITLE)})
        return await self._run(self.agent.chat(params.text, images=images))

    async def _steer(self, params: p.TextParams) -> p.QueuedResult:
        return p.QueuedResult(item=await self.agent.steer(params.text))

    async def _follow_up(self, params: p.TextParams) -> p.QueuedResult:
        return p.QueuedResult(item=await self.agent.follow_up(params.text))

    async def _cancel(self, params: p.CancelParams) -> p.CancelResult:
        return p.CancelResult(status=self.agent.cancel(params.item))

    async def _abort(self, params: p.AbortParams) -> p.AbortResult:
        unsaid = self.agent.abort(params.reason or "the client ended it")
        await self.agent.wait_idle()
        return p.AbortResult(unsaid=[p.QueuedMessage(id=i.id, kind=i.kind, text=i.text) for i in unsaid])

    async def _resume(self, params: p.ResumeParams) -> p.RunResult:
        return await self._run(self.agent.resume(dict(params.decisions)))

    async def _state(self, params: p.Nothing) -> p.State:
        return self._now()

    async def _messages(self, params: p.Nothing) -> p.MessagesResult:
        return p.MessagesResult(messages=[message_to_dict(m) for m in self.agent.messages])

    async def _entries(self, params: p.Nothing) -> p.EntriesResult:
        session = self.agent.session
        entries = [
            {"id": e.id, "parent_id": e.parent_id, "type": e.type, "ts": e.ts, "data": _plain(e.data)}
            for e in session.entries
        ]
        return p.EntriesResult(leaf=session.leaf_id, entries=entries)

    async def _sessions(self, params: p.ListParams) -> p.SessionsResult:
        rows = await self.agent.host.session_store().list(limit=params.limit)
        return p.SessionsResult(sessions=[dict(row) for row in rows])

    async def _open(self, params: p.OpenParams) -> p.State:
        wanted = params.session
        if wanted != "new":
            wanted = await self.agent.host.session_store().find(wanted)
        await self.agent.switch(wanted)
        return self._now()

    async def _fork(self, params: p.EntryParams) -> p.State:
        await (self.agent.fork(params.entry) if params.entry is not None else self.agent.fork())
        return self._now()

    async def _move(self, params: p.EntryParams) -> p.State:
        await self.agent.move_to(params.entry)
        return self._now()

    async def _models(self, params: p.ModelsParams) -> p.ModelsResult:
        models = self.agent.host.models
        found = models.find(params.query) if params.query else models.items()
        return p.ModelsResult(models=[m.to_dict() for m in found])

    async def _set_model(self, params: p.ModelParams) -> p.State:
        self.agent.set_model(params.model, params.provider)
        return self._now()

    async def _commands(self, params: p.Nothing) -> p.CommandsResult:
        from skillkit_commands import SlashCommands

        found = SlashCommands(self.agent).all()
        return p.CommandsResult(
            commands=[p.CommandInfo(name=c.name, arguments=c.arguments, help=c.help, origin=c.origin) for c in found]
        )

    async def _complete(self, params: p.LineParams) -> p.CompletionsResult:
        from skillkit_commands import SlashCommands

        found = SlashCommands(self.agent).complete(params.line)
        return p.CompletionsResult(
            completions=[p.CompletionInfo(text=c.text, label=c.label, help=c.help) for c in found]
        )

    async def _command(self, params: p.LineParams) -> p.CommandResult:
        from skillkit_commands import Edit, Prompt, SlashCommands

        commands = SlashCommands(self.agent)
        invocation = commands.match(params.line)
        if invocation is None:
            raise UsageError(f"{params.line!r} does not look like a command", hint="write /name, or use 'prompt'")
        answer = await commands.run(invocation)
        if isinstance(answer, Prompt):
            return p.CommandResult(text=None, run=await self._run(self.agent.chat(answer.text)))
        if isinstance(answer, Edit):
            return p.CommandResult(text=f"Edit {answer.path}; what is in it counts from then on.", run=None)
        return p.CommandResult(text=answer, run=None)

    async def _compact(self, params: p.Nothing) -> p.CompactResult:
        return p.CompactResult(compacted=await self.agent.compact())

    async def _shutdown(self, params: p.Nothing) -> p.Done:
        self.agent.abort("the client shut the server down")
        await self.agent.wait_idle()
        asyncio.get_running_loop().call_soon(self.connection.ended.set)
        return p.Done()

    async def _run(self, work: Awaitable[AgentResponse]) -> p.RunResult:
        """Wait for the end of a run; one that failed after it said something is an error that carries the response."""
        try:
            response = await work
        except AgentError as error:
            if error.response is None:
                raise
            told = {**error.to_dict(), "response": self._ended(error.response).model_dump(mode="json")}
            raise RpcError(_code(error), str(error), told) from None
        return self._ended(response)

    def _ended(self, response: AgentResponse) -> p.RunResult:
        return p.RunResult(**response.to_dict(), reason=response.reason, waiting=self._waiting())

    def _waiting(self) -> list[p.WaitingCall]:
        now = self.agent.suspension
        return [p.WaitingCall(**_plain(call)) for call in waiting_json(now.calls if now is not None else ())]

    def _now(self) -> p.State:
        agent, session, target = self.agent, self.agent.session, self.agent.target
        return p.State(
            running=agent.running,
            session=session.id,
            session_path=session.location,
            messages=len(session.messages),
            model=target.model.id if target is not None else _name(agent.config.model),
            provider=target.model.provider if target is not None else agent.config.provider,
            cwd=str(agent.cwd),
            tools=[tool.name for tool in agent.tools],
            waiting=self._waiting(),
            usage=p.Usage(**session.usage.to_dict()),
            cost=session.cost,
        )

    def _image(self, image: p.Image) -> ImageBlock:
        if (image.path is None) == (image.data is None):
            raise UsageError("an image needs either 'path' or 'data'")
        if image.path is not None:
            return image_from_file(self.agent.cwd / image.path)
        try:
            base64.b64decode(image.data or "", validate=True)
        except (ValueError, binascii.Error):
            raise UsageError("the data of an image must be base64") from None
        return ImageBlock(data=image.data or "", mime_type=image.media_type or "image/png")


def _name(model: Any) -> str | None:
    """Return the name of a configured model."""
    return model if isinstance(model, str) or model is None else str(model.id)


def _plain(value: Any) -> Any:
    """Return JSON values without the frozen kinds."""
    return json.loads(json.dumps(value, default=dict))


def _code(error: SkillKitError) -> int:
    """Return the code of an error of the agent."""
    if isinstance(error, RunAborted):
        return p.ABORTED
    if isinstance(error, AgentBusy):
        return p.BUSY
    if isinstance(error, NoActiveRun):
        return p.IDLE
    if isinstance(error, UsageError):
        return p.INVALID_PARAMS
    return p.FAILED
