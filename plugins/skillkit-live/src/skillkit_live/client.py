"""A client of a live session in another process: one that it starts (``skillkit rpc``), or one that has the session open.

.. code-block:: python

    async with RpcClient(["--provider", "offline"]) as client:
        print((await client.prompt("what is 15% of 80")).content)
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from . import protocol as p
from .connection import Connection, RpcError
from .door import knock

__all__ = ["RpcClient", "RpcError"]

R = TypeVar("R", bound=p.Result)
OnMessage = Callable[[Mapping[str, Any]], None]
OnEvent = Callable[[Mapping[str, Any]], None]
OnApprove = Callable[[p.ApproveParams], Awaitable[p.ApproveResult]]
OnAsk = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
OnNotify = Callable[[str, str], None]


class RpcClient:
    """An agent in a process of its own. Use it as an async context manager.

    Args:
        options: options of ``skillkit rpc``, for example ``["--model", "claude-sonnet-4-5"]``.
        on_message: called with each message of the session, by number (version 2); questions among them are answered by
            :meth:`answer`, where neither of the next two does it.
        on_event: called with each event of the agent, in their order.
        on_approve: decides calls that guards ask about; without it they are denied.
        on_ask: answers a survey by the id of the question, ``None`` declines; without it nobody can be asked.
        on_notify: called with texts for the person, and their level.
        name: the name of the client, which the others see with what it says and decides.
        version: the version of the protocol.
        after: the id of the last message that an earlier client of this session got (version 2).
        endpoint: the socket of a process that has the session open; no process is started then.
        argv: how the server is started; default: this Python's ``skillkit rpc``.
        cwd: its workspace; default: this process's.
        env: its whole environment; default: this process's.
    """

    def __init__(
        self,
        options: Sequence[str] = (),
        *,
        on_message: OnMessage | None = None,
        on_event: OnEvent | None = None,
        on_approve: OnApprove | None = None,
        on_ask: OnAsk | None = None,
        on_notify: OnNotify | None = None,
        name: str = "skillkit_live.client",
        version: Literal[1, 2] = 2,
        after: str | None = None,
        endpoint: str | None = None,
        argv: Sequence[str] | None = None,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._argv = [*(argv or [sys.executable, "-P", "-m", "skillkit_core", "rpc"]), *options]
        self._cwd, self._env, self._endpoint = cwd, env, endpoint
        self._process: subprocess.Popen[bytes] | None = None
        self._peer: socket.socket | None = None
        self._on_event, self._on_approve, self._on_ask, self._on_notify = on_event, on_approve, on_ask, on_notify
        self._on_message, self._name, self._version, self.after = on_message, name, version, after
        self._asking: dict[str, asyncio.Task[None]] = {}
        self.started: p.InitializeResult | None = None

    async def __aenter__(self) -> RpcClient:
        if self._endpoint is not None:
            self._peer = await knock(self._endpoint)
            self._reader = self._peer.makefile("rb")
            self._connection = Connection(self._reader, self._peer, self._handle)
        else:
            # A plain process: the connection reads in a thread, so that it works in every loop.
            self._process = subprocess.Popen(  # noqa: ASYNC220
                self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self._cwd, env=self._env
            )
            assert self._process.stdin is not None and self._process.stdout is not None
            self._connection = Connection(self._process.stdout, self._process.stdin, self._handle)
        try:
            itself = self._on_message is not None and self._version > 1  # it answers what it reads
            self.started = await self._call(
                "initialize", p.InitializeResult, version=self._version, client=self._name,
                approvals=itself or self._on_approve is not None, questions=itself or self._on_ask is not None,
            )  # fmt: skip
            if self._version > 1:
                await self.attach(self.after)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the session; end the server that was started here, within 15 seconds, else it is killed."""
        if not self._connection.ended.is_set():
            with contextlib.suppress(RpcError, ConnectionError, TimeoutError):
                async with asyncio.timeout(15):
                    await self._connection.ask("shutdown", {})
        for task in self._asking.values():
            task.cancel()
        if self._peer is not None:
            with contextlib.suppress(OSError):
                self._peer.shutdown(socket.SHUT_RDWR)
        if self._process is not None:
            await self._end(self._process)
        await self._connection.ended.wait()
        self._connection.close()
        if self._peer is not None:
            self._reader.close()
            self._peer.close()
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    @staticmethod
    async def _end(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, 15)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

    @property
    def ended(self) -> asyncio.Event:
        """Set once the other side is gone."""
        return self._connection.ended

    async def attach(self, after: str | None = None) -> str:
        """Be told what happened after a message, else a snapshot, and then what happens; return the newest message's id."""
        return (await self._call("attach", p.AttachResult, after=after)).last

    async def say(self, text: str, delivery: Literal["auto", "steer", "follow_up"] = "auto") -> str:
        """Say something without waiting for the answer; return the id of the queued message, empty where a run began."""
        return (await self._call("say", p.QueuedResult, text=text, delivery=delivery)).item

    async def answer(self, question: str, **given: Any) -> p.AnswerResult:
        """Answer a question, by the fields of :class:`protocol.AnswerParams`; the first answer counts."""
        return await self._call("answer", p.AnswerResult, question=question, **given)

    async def inbox(self) -> list[p.WaitingQuestion]:
        """Return the questions that wait, of all sessions."""
        return (await self._call("inbox", p.InboxResult)).waiting

    async def prompt(self, text: str, images: Sequence[Mapping[str, str]] = ()) -> p.RunResult:
        """Say something, and wait for the end of the run.

        Args:
            text: what the user says.
            images: ``{"path": ...}``, or ``{"data": base64, "media_type": ...}``.

        Raises:
            RpcError: the run failed; ``data["response"]`` holds what was said until then.
        """
        return await self._call("prompt", p.RunResult, text=text, images=list(images))

    async def steer(self, text: str) -> str:
        """Tell the active run something now; return the id of the queued message."""
        return (await self._call("steer", p.QueuedResult, text=text)).item

    async def follow_up(self, text: str) -> str:
        """Say something when the active run would end; return the id of the queued message."""
        return (await self._call("follow_up", p.QueuedResult, text=text)).item

    async def cancel(self, item: str) -> str:
        """Take a queued message back; return what became of it."""
        return (await self._call("cancel", p.CancelResult, item=item)).status

    async def abort(self, reason: str | None = None) -> list[p.QueuedMessage]:
        """End the active run; return the messages that were not said."""
        return (await self._call("abort", p.AbortResult, reason=reason)).unsaid

    async def resume(self, decisions: Mapping[str, Literal["allow", "deny"]] | None = None) -> p.RunResult:
        """Decide calls that wait, and go on."""
        return await self._call("resume", p.RunResult, decisions=dict(decisions or {}))

    async def state(self) -> p.State:
        """Return where the agent stands."""
        return await self._call("state", p.State)

    async def messages(self) -> list[dict[str, Any]]:
        """Return the conversation."""
        return (await self._call("messages", p.MessagesResult)).messages

    async def entries(self) -> p.EntriesResult:
        """Return the whole session, all branches."""
        return await self._call("entries", p.EntriesResult)

    async def sessions(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the sessions, newest first."""
        return (await self._call("sessions", p.SessionsResult, limit=limit)).sessions

    async def open(self, session: str) -> p.State:
        """Go on in another session: its id, the start of one, or ``new``."""
        return await self._call("open", p.State, session=session)

    async def fork(self, entry: str | None = None) -> p.State:
        """Go on in a copy of this session, up to an entry."""
        return await self._call("fork", p.State, entry=entry)

    async def move(self, entry: str | None) -> p.State:
        """Go on from another entry of this session; ``None``: its start."""
        return await self._call("move", p.State, entry=entry)

    async def models(self, query: str | None = None) -> list[dict[str, Any]]:
        """Return the models of the catalog."""
        return (await self._call("models", p.ModelsResult, query=query)).models

    async def set_model(self, model: str, provider: str | None = None) -> p.State:
        """Choose who answers from the next request on."""
        return await self._call("set_model", p.State, model=model, provider=provider)

    async def commands(self) -> list[p.CommandInfo]:
        """Return the slash commands."""
        return (await self._call("commands", p.CommandsResult)).commands

    async def complete(self, line: str) -> list[p.CompletionInfo]:
        """Return what may stand in place of a line that begins with a slash."""
        return (await self._call("complete", p.CompletionsResult, line=line)).completions

    async def command(self, line: str) -> p.CommandResult:
        """Run a slash command; a prompt that it makes is asked."""
        return await self._call("command", p.CommandResult, line=line)

    async def compact(self) -> bool:
        """Shorten the conversation now; return whether that freed something."""
        return (await self._call("compact", p.CompactResult)).compacted

    async def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a method of the protocol asks; return the result as JSON. The methods above do that for one method each."""
        found: dict[str, Any] = await self._connection.ask(method, params)
        return found

    async def _call(self, method: str, result: type[R], **params: Any) -> R:
        return result.model_validate(await self.call(method, params))

    async def _handle(self, method: str, params: Any) -> Any:
        match method:
            case "message":
                self._got(params)
            case "dropped":
                await self.attach(params["after"])
            case "event" if self._on_event is not None:
                self._on_event(params)
            case "notify" if self._on_notify is not None:
                self._on_notify(params["text"], params["level"])
            case "approve" if self._on_approve is not None:
                return (await self._on_approve(p.ApproveParams.model_validate(params))).model_dump(mode="json")
            case "ask" if self._on_ask is not None:
                answers = await self._on_ask(params["survey"])
                return {"answers": None if answers is None else dict(answers)}
            case name if name in p.NOTIFICATIONS:
                pass
            case _:
                raise RpcError(p.METHOD_NOT_FOUND, f"there is no method {method!r}")
        return None

    def _got(self, message: Mapping[str, Any]) -> None:
        """Take in a message of version 2."""
        self.after = message["id"]
        if self._on_message is not None:
            self._on_message(message)
        match message["type"]:
            case "event" if self._on_event is not None:
                self._on_event(message["event"])
            case "notice" if self._on_notify is not None:
                self._on_notify(message["text"], message["level"])
            case "question":
                self._asked(message["question"])
            case "snapshot":
                for question in message["questions"]:
                    if not question.get("suspended"):
                        self._asked(question)
            case "question_answered" | "question_withdrawn":
                if (task := self._asking.pop(message["question"], None)) is not None:
                    task.cancel()
            case _:
                pass

    def _asked(self, question: Mapping[str, Any]) -> None:
        if question["id"] in self._asking:
            return
        if question["kind"] == "approval" and self._on_approve is not None:
            work = self._decide(question, self._on_approve)
        elif question["kind"] == "survey" and self._on_ask is not None:
            work = self._fill_in(question, self._on_ask)
        else:
            return
        self._asking[question["id"]] = asyncio.get_running_loop().create_task(work)

    async def _decide(self, question: Mapping[str, Any], decide: OnApprove) -> None:
        """Decide about a call; a failure is a denial."""
        call = {name: question.get(name) for name in p.ApproveParams.model_fields}
        try:
            said = (await decide(p.ApproveParams.model_validate(call))).model_dump(mode="json")
        except Exception as error:  # noqa: BLE001 - who asks is told
            said = {"decision": "deny", "reason": f"the client gave no decision: {error}"}
        answers = said.pop("answer", None)
        await self.answer(question["id"], **said, answers=answers)

    async def _fill_in(self, question: Mapping[str, Any], ask: OnAsk) -> None:
        """Fill in a survey; wrong answers are asked for again, with the reason."""
        survey = question["survey"]
        while True:
            try:
                answers = await ask(survey)
                await self.answer(question["id"], answers=None if answers is None else dict(answers))
                return
            except RpcError as error:
                survey = {**question["survey"], "text": f"{question['survey']['text']}\n{error.message}".strip()}
