"""The agent: what an application holds. It owns one session, one event bus and at most one run at a time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ..abort import AbortSignal
from ..config import AgentConfig
from ..context import ContextTransformer
from ..descriptors import load_object
from ..errors import AgentBusy, AgentError, AsyncHandlerError, NoActiveRun, ReentrancyError, UsageError
from ..events.bus import EventBus, GuardFailed
from ..events.context import HandlerContext
from ..events.results import UNSET, ContextTransformResult, Handled, SessionStartResult, Transform, Unset
from ..events.types import (
    AgentSettledEvent,
    ContextTransformEvent,
    InputEvent,
    QueueUpdateEvent,
    SessionShutdownEvent,
    SessionStartEvent,
)
from ..messages import AgentMessage, Block, LLMMessage, TextBlock, UserMessage, blocks_of
from ..stream import StreamEvent
from ..tools import Tool
from .around import AroundHooks
from .clock import Clock, SystemClock
from .compaction import can_compact, compact_now
from .loop import run_loop
from .queues import QueueItem, Queues
from .repair import repair
from .response import AgentResponse
from .run import Run
from .selection import TargetSelection
from .session import Session
from .suspension import Suspension, resumption
from .target import Target
from .text import clean
from .tokens import estimate_message, estimator_for
from .toolbox import Toolbox
from .view import ContextView

if TYPE_CHECKING:
    from ..contracts.adapter import LLMAdapter
    from ..contracts.approver import ApprovalDecision
    from ..host.manager import Host
    from ..models import ModelDefinition

__all__ = ["AgentRunner"]

log = logging.getLogger("skillkit.agent")
Delivery = Literal["prompt", "steer", "follow_up"]


class AgentRunner:
    """Runs a model with tools over a session.

    Args:
        config: what answers, with which tools and bounds.
        host: plugins and what they bring; default: a host of the installed plugins.
        session: an open :class:`Session`, the id of one in the host's store, ``"new"`` for a new one there; default: in memory.
        clock: time, for tests.

    Use it as ``async with AgentRunner(...) as agent`` or call :meth:`aclose` at the end.
    """

    def __init__(
        self,
        config: AgentConfig | None = None,
        *,
        host: Host | None = None,
        session: Session | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        if host is None:
            from ..host.manager import Host

            host = Host(cwd=config.cwd if config else None)
            self._owns_host = True
        else:
            self._owns_host = False
        self.config = config or AgentConfig()
        self.host = host
        self.clock: Clock = clock or SystemClock()
        self.cwd: Path = Path(self.config.cwd) if self.config.cwd is not None else host.cwd
        self.agent_path: tuple[str, ...] = ("main",)
        self.events = EventBus(host, context=HandlerContext(self), clock=self.clock.time)
        self.queues = Queues(self._queue_changed)
        self.own_tools: tuple[Tool, ...] = tuple(self.config.tools)
        self.toolbox = Toolbox(self)
        self.scratch: dict[str, Any] = {}
        self.sticky_approvals: set[tuple[str, str | None, str | None]] = set()
        self.transformers: list[ContextTransformer] = []
        self.compaction_off = False
        self._given_session = session
        self._session: Session | None = session if isinstance(session, Session) else None
        self._opened = False
        self._opening = asyncio.Lock()
        self._closed = False
        self._run: Run | None = None
        self._runs = 0
        self._idle: list[Callable[[], Any]] = []
        self._abandoned: set[asyncio.Task[Any]] = set()
        self.around = AroundHooks(host)
        self.view = ContextView(self)
        self.selection = TargetSelection(self)
        if self.config.api_key:
            host.remember_secret(self.config.api_key)

    # --- session ----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session. Opened by the first run or by :meth:`open`."""
        if self._session is None:
            raise UsageError("the session is not open yet", hint="await agent.open()")
        return self._session

    @property
    def session_id(self) -> str | None:
        """The session's id, ``None`` before it is open."""
        return self._session.id if self._session is not None else None

    @property
    def open_session(self) -> Session | None:
        """The session, ``None`` before it is open."""
        return self._session

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The conversation so far."""
        return self._session.messages if self._session is not None else ()

    @property
    def signal(self) -> AbortSignal:
        """The abort signal of the current run."""
        return self._run.signal if self._run is not None else AbortSignal()

    async def open(self) -> Session:
        """Open the session (the first run does it too); raises as :class:`SessionStore`."""
        async with self._opening:
            if self._opened:
                return self.session
            reason = await self._open()
            self._opened = True
        if self.events.has("session_start"):
            event = self.events.make(SessionStartEvent, reason=reason, path=self.session.location)
            answer = await self.events.emit(event)
            if isinstance(answer, SessionStartResult) and answer.context is not UNSET:
                for message in answer.context:  # type: ignore[union-attr]
                    await self.session.append_message(message)
        return self.session

    async def _open(self) -> Literal["new", "resume"]:
        given, cwd, clock = self._given_session, str(self.cwd), self.clock.time
        reason: Literal["new", "resume"] = "new"
        if isinstance(given, Session):
            self._session = given
            reason = "resume" if given.entries else "new"
        elif given is None:
            self._session = await Session.create(None, clock, cwd=cwd)
        elif given == "new":
            self._session = await Session.create(self.host.session_store(), clock, cwd=cwd)
        else:
            self._session = await Session.open(self.host.session_store(), str(given), clock)
            reason = "resume"
        self.events.session_id = self._session.id
        return reason

    async def aclose(self) -> None:
        """End the run, emit ``session_shutdown`` once, close the session, and the host if it is this agent's own."""
        if self._closed:
            return
        self._refuse_reentry("aclose")
        self._closed = True
        self.abort("the agent was closed")
        await self.wait_idle()
        if self._opened and self.events.has("session_shutdown"):
            await self.events.emit(self.events.make(SessionShutdownEvent, reason="exit"))
        left = set(self._abandoned)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=self.config.abort_grace)
        if self._session is not None:
            await self._session.close()
        if self._owns_host:
            await self.host.aclose()

    async def __aenter__(self) -> AgentRunner:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # --- talking ----------------------------------------------------------------------------------------------

    async def chat(self, message: str, *, images: Sequence[Block] = (), delivery: Delivery = "prompt") -> AgentResponse:
        """Say something and wait for the answer.

        Args:
            message: what the user says. images: image or document blocks.
            delivery: what to do while a run is active: ``prompt`` refuses, ``steer`` and ``follow_up`` queue the message
                for it and wait for its end.

        Raises:
            AgentError: the run failed; ``response`` holds what was said until then. RunAborted: it was aborted.
            AgentBusy: a run is active and ``delivery`` is ``prompt``.
        """
        if delivery != "prompt" and self._run is not None:
            self._refuse_reentry("chat")
            run = self._run
            await self._enqueue(delivery, message, images)
            await self.wait_idle()
            return self._outcome(run)
        return await self._alone("chat", lambda run: self._prompted(run, message, images))

    async def resume(
        self, decisions: Mapping[str, ApprovalDecision | Literal["allow", "deny"]] | None = None
    ) -> AgentResponse:
        """Go on where the session stands: with calls that wait for a decision, or with what a crash left unfinished.

        A suspended call goes through the guards again with the arguments that were stored. It runs when they agree and the
        decision is ``allow``; what a guard asks anew, asks about other arguments, or nobody decided goes to the approver.
        Of the calls that a crash left without a result, those with ``replay="safe"`` run again, the others never.

        Args:
            decisions: by the id of the call; :attr:`suspension` tells what waits.

        Raises:
            UsageError: there is nothing to resume, or a decision names no call that waits. Else as :meth:`chat`.
        """
        self._require_idle("resume")
        session = await self.open()
        found = resumption(session.messages, session.suspension(), decisions)
        return await self._alone("resume", lambda run: run_loop(run, (), found))

    async def compact(self) -> bool:
        """Shorten the conversation now; whether that freed something worth it.

        Raises:
            UsageError: no compactor is installed, or calls wait for a decision. AgentBusy: a run is active. RunAborted: it was
            aborted; the context is as it was.
        """
        self._require_idle("compact")
        session = await self.open()
        if session.suspension() is not None:
            raise UsageError("the session waits for a decision", hint="resume() first")
        if not can_compact(self):
            raise UsageError("no compactor is installed", hint="install a plugin that brings one")
        freed: list[bool] = []

        async def work(run: Run) -> None:
            run.target = await self.selection.current()
            run.system_prompt = self.system_prompt()
            try:
                freed.append(await compact_now(run, "manual"))
            finally:
                await run.account_for_aborted()

        await self._alone("compact", work)
        return freed[0]

    @property
    def suspension(self) -> Suspension | None:
        """The calls that wait for a decision; ``None`` when none do."""
        return self._session.suspension() if self._session is not None else None

    async def _alone(self, what: str, work: Callable[[Run], Coroutine[Any, Any, None]]) -> AgentResponse:
        """Drive a run to its end and give its response, or raise its failure."""
        answer: AgentResponse | None = None
        failure: BaseException | None = None
        async with contextlib.aclosing(self._stream(what, work, streaming=False)) as items:
            async for item in items:
                if isinstance(item, AgentResponse):
                    answer = item
                elif isinstance(item, AgentError):
                    failure = item
        if failure is not None:
            raise failure
        assert answer is not None
        return answer

    async def chat_stream(self, message: str, *, images: Sequence[Block] = ()) -> AsyncIterator[str]:
        """The answer's text as it arrives; raises as :meth:`chat`."""
        async with contextlib.aclosing(self.chat_stream_events(message, images=images)) as events:
            async for event in events:
                if event.type == "text_delta":
                    yield event.content
                elif event.type == "error" and event.error is not None:
                    raise event.error

    async def chat_stream_events(
        self, message: str, *, images: Sequence[Block] = ()
    ) -> AsyncGenerator[StreamEvent, None]:
        """Everything that happens as stream events; exactly one ``done`` or ``error`` ends it, and it never raises.

        Closing the iterator early aborts the run.
        """
        try:
            work = functools.partial(self._prompted, text=message, images=images)
            async with contextlib.aclosing(self._stream("chat", work, streaming=True)) as items:
                async for item in items:
                    if isinstance(item, StreamEvent):
                        yield item
        except AgentError as error:
            yield StreamEvent("error", error=error)

    async def _stream(
        self, what: str, work: Callable[[Run], Coroutine[Any, Any, None]], *, streaming: bool
    ) -> AsyncGenerator[StreamEvent | AgentResponse | AgentError, None]:
        """The one generator behind everything that runs: the run's events, then its response or error."""
        self._refuse_reentry(what)
        await self._let_go()
        self._require_idle(what)
        self._runs += 1
        run = self._run = Run(self, f"r{self._runs}", streaming=streaming)
        self.events.loop, self.events.run_id = run.loop, run.id
        run.task = asyncio.create_task(self._drive(run, work), name=f"skillkit run {run.id}")
        finished = False
        try:
            if streaming:
                async for event in run.events():
                    yield event
            await asyncio.shield(run.task)
            finished = True
            failure = run.failure()
            yield failure if failure is not None else run.response()
        finally:
            if not finished:
                self._abort(run, "the caller stopped listening", clear=False)  # nobody would get what is queued
                await self._settle(run)

    async def _let_go(self) -> None:
        """Let a run end whose listener has left: a loop that was broken out of is closed at the next turn of the loop."""
        if self._run is not None:
            await asyncio.sleep(0)
        if self._run is not None and self._run.signal.aborted:
            await self._settle(self._run)

    async def _settle(self, run: Run) -> None:
        """Wait until an aborted run is consistent, whatever happens to the caller meanwhile."""
        assert run.task is not None
        while not run.task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([run.task])

    def _outcome(self, run: Run) -> AgentResponse:
        failure = run.failure()
        if failure is not None:
            raise failure
        return run.response()

    async def _prompted(self, run: Run, text: str, images: Sequence[Block]) -> None:
        await self.open()
        prompt = await self._accept(run, text, images)
        if prompt is not None:
            await run_loop(run, prompt)

    async def _drive(self, run: Run, work: Callable[[Run], Coroutine[Any, Any, None]]) -> None:
        """The task of a run."""
        try:
            await work(run)
        except asyncio.CancelledError:
            run.outcome = "aborted"
            run.reason = run.reason or run.signal.reason or "cancelled"
            if not run.signal.aborted:
                raise
        except Exception as error:  # noqa: BLE001 - the caller gets it as the run's failure
            run.outcome, run.error = "failed", error
        finally:
            run.closing = True
            failure = run.failure()
            if failure is not None:
                run.push(StreamEvent("error", error=failure))  # the loop has said it already, if it got that far
            await self._settled(run)

    async def _settled(self, run: Run) -> None:
        try:
            if self.events.has("agent_settled"):
                await self.events.emit(self.events.make(AgentSettledEvent))
        finally:
            self._run = None
            self.events.run_id = None
            run.end()
        callbacks, self._idle = self._idle, []
        for callback in callbacks:
            try:
                answer = callback()
                if asyncio.iscoroutine(answer):
                    await answer
            except Exception as error:  # noqa: BLE001 - the run is over; what comes after it cannot change its outcome
                await self.complain("when_idle", f"{type(error).__name__}: {error}")

    async def _accept(self, run: Run, text: str, images: Sequence[Block]) -> list[AgentMessage] | None:
        """Ask the handlers of ``input``; the messages to begin with, or ``None`` when the matter is dealt with."""
        accepted = await self._input(text, images, "prompt")
        if isinstance(accepted, Handled):
            run.content = accepted.reply or ""
            run.push(StreamEvent("text_delta", run.content, index=0))
            run.push(StreamEvent("done", run.content))
            return None
        text, blocks = accepted
        content = ((TextBlock(text),) if text else ()) + blocks
        if not content:
            raise UsageError("there is nothing to say: the message is empty")
        self.compaction_off = False
        return [UserMessage(content=content, ts=self.clock.time())]

    async def _input(
        self, text: str, images: Sequence[Block], delivery: Delivery
    ) -> tuple[str, tuple[Block, ...]] | Handled:
        text, blocks = self.host.redact(clean(text)), tuple(images)
        if not self.events.has("input"):
            return text, blocks
        event = self.events.make(InputEvent, text=text, images=blocks, delivery=delivery)
        try:
            answer = await self.events.emit(event)
        except GuardFailed as error:
            raise AgentError(f"the input was rejected: {error}") from error
        if isinstance(answer, Handled):
            return answer
        if isinstance(answer, Transform):
            text = answer.text if isinstance(answer.text, str) else text
            blocks = blocks_of(answer.images) if answer.images is not UNSET else blocks  # type: ignore[arg-type]
        return text, blocks

    def _require_idle(self, what: str) -> None:
        self._refuse_reentry(what)
        if self._closed:
            raise AgentError("the agent is closed")
        if self._run is not None:
            raise AgentBusy("a run is active", hint='use delivery="steer" or "follow_up", or wait_idle()')

    def _refuse_reentry(self, what: str) -> None:
        run = self._run
        if run is None:
            return
        with contextlib.suppress(RuntimeError):
            task = asyncio.current_task()
            if task is run.task or task in run.tasks:
                raise ReentrancyError(
                    f"{what} was called from a handler of the run it would wait for", hint="use ctx.when_idle()"
                )

    # --- control ----------------------------------------------------------------------------------------------

    async def steer(self, message: str, *, images: Sequence[Block] = ()) -> str:
        """Tell the active run something now; calls that have not started are skipped. Gives the id of the queued item.

        Raises:
            NoActiveRun: nothing runs. UsageError: the message is a ``/command``.
        """
        if not self._steerable:
            raise NoActiveRun("there is no run to steer", hint="use chat()")
        return await self._enqueue("steer", message, images)

    async def follow_up(self, message: str, *, images: Sequence[Block] = ()) -> str:
        """Say something when the active run would end; without a run it waits for the next one. Gives the item's id."""
        if not self._steerable:
            return self.next_run(message, images=images)
        return await self._enqueue("follow_up", message, images)

    def next_run(self, message: str, *, images: Sequence[Block] = ()) -> str:
        """Put a message in front of the next prompt; it survives an abort. Gives the item's id."""
        return self.queues.put("next_run", clean(message), images)

    @property
    def _steerable(self) -> bool:
        """Whether the active run will still look into its queues."""
        run = self._run
        return run is not None and not run.closing and not run.signal.aborted

    async def _enqueue(self, delivery: Delivery, message: str, images: Sequence[Block]) -> str:
        if message.startswith("/"):
            raise UsageError("a command cannot be queued into a run", hint="wait for its end")
        accepted = await self._input(message, images, delivery)
        if isinstance(accepted, Handled):
            return ""
        if not self._steerable:
            raise NoActiveRun("the run ended before the message could be queued", hint="use chat()")
        text, blocks = accepted
        if not text and not blocks:
            raise UsageError("there is nothing to say: the message is empty")
        return self.queues.put("steer" if delivery == "steer" else "follow_up", text, blocks)

    def cancel(self, item_id: str) -> Literal["cancelled", "already_consumed", "already_cleared"]:
        """Take a queued message back by its id."""
        return self.queues.cancel(item_id)

    def abort(self, reason: str | None = None) -> list[QueueItem]:
        """End the active run: stream, tools and hooks stop, what was said is kept. Thread-safe and idempotent.

        Returns the steering and follow-up messages that were not consumed. Without a run it does nothing.
        """
        return [] if self._run is None else self._abort(self._run, reason)

    def _abort(self, run: Run, reason: str | None, *, clear: bool = True) -> list[QueueItem]:
        if run is not self._run or run.closing or not run.signal.abort(reason):
            return []
        items = self.queues.clear() if clear else []

        def cancel() -> None:
            if run.task is not None and not run.closing and not run.task.done() and not run.task.cancelling():
                run.task.cancel()

        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is run.loop:
            cancel()
        else:
            with contextlib.suppress(RuntimeError):
                run.loop.call_soon_threadsafe(cancel)
        return items

    async def wait_idle(self) -> None:
        """Wait until no run is active."""
        run = self._run
        if run is not None and run.task is not None:
            self._refuse_reentry("wait_idle")
            await asyncio.wait([run.task])

    def when_idle(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` (sync or async) after the active run, or soon when nothing runs."""
        if self._run is not None:
            self._idle.append(callback)
        else:
            answer = callback()
            if asyncio.iscoroutine(answer):
                self._abandon(asyncio.ensure_future(answer))

    def abandon(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Keep tasks that did not end in time from being lost; they are cancelled when the agent closes."""
        for task in tasks:
            log.warning("a tool did not end within the grace time; its late result will be dropped")
            self._abandon(task)

    def _abandon(self, task: asyncio.Future[Any]) -> None:
        kept = cast("asyncio.Task[Any]", task)
        self._abandoned.add(kept)
        kept.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Task[Any]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.warning("a task ended with an error after its run: %r", task.exception())

    def _queue_changed(self) -> None:
        bus = self.events
        if not bus.has("queue_update"):
            return
        waiting = {k: self.queues.waiting(k) for k in ("steer", "follow_up", "next_run")}
        event = bus.make(
            QueueUpdateEvent,
            steering=waiting["steer"],
            follow_up=waiting["follow_up"],
            next_run=waiting["next_run"],
        )
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if bus.loop is None or bus.loop.is_closed() or (here is bus.loop and bus.all_sync("queue_update")):
            with contextlib.suppress(AsyncHandlerError):  # an async handler has no loop to run on here
                bus.emit_sync(event)
        else:
            bus.emit_threadsafe(event)  # handlers run on the thread of the loop, also when another one aborts

    # --- model and tools --------------------------------------------------------------------------------------

    def set_adapter(self, adapter: str | LLMAdapter) -> None:
        """Answer through another adapter from the next request on, also during a run.

        Args:
            adapter: a name in ``host.adapters`` or an adapter.

        Raises:
            UnknownName: no such provider. UsageError: its key is missing.
        """
        self.selection.use_adapter(adapter)

    def set_model(self, model: str | ModelDefinition, provider: str | None = None) -> None:
        """Ask another model from the next request on."""
        self.config = replace(self.config, model=model, provider=provider or None)
        self.selection.forget()

    @property
    def target(self) -> Target | None:
        """The model and adapter that answered last, or answer now; ``None`` before the first run."""
        return self.selection.target

    def add_tool(self, tool: Tool) -> None:
        """Give this agent one more tool, from the next request on."""
        self.own_tools = (*(t for t in self.own_tools if t.name != tool.name), tool)

    # --- context ----------------------------------------------------------------------------------------------

    def system_prompt(self) -> str:
        """The configured prompt and what context providers add."""
        parts = [self.config.system_prompt or self.host.config.get("system_prompt", "")]
        entries = sorted(self.host.context_providers.entries(), key=lambda e: e.item.order)
        for entry in entries:
            try:
                parts.append(load_object(entry.item.provide)(self))
            except Exception as error:  # noqa: BLE001 - a part that fails is left out, and said
                self.host.note(entry.source or "application", f"context provider {entry.name!r} failed: {error}")
        return "\n\n".join(part for part in parts if part)

    def system_prompt_cached(self) -> str:
        """The system prompt of the active run."""
        return self._run.system_prompt if self._run is not None else ""

    async def transform_context(self, messages: Sequence[AgentMessage]) -> list[AgentMessage]:
        """What ``context_transform`` handlers make of ``messages``."""
        event = self.events.make(ContextTransformEvent, messages=tuple(messages))
        answer = await self.events.emit(event)
        wanted = answer.messages if isinstance(answer, ContextTransformResult) else UNSET
        return list(messages) if isinstance(wanted, Unset) else list(wanted)

    def add_context_transformer(self, transformer: ContextTransformer) -> Callable[[], None]:
        """Change what requests send with ``async (messages) -> messages``; gives a function to remove it."""

        async def handler(event: ContextTransformEvent) -> ContextTransformResult:
            return ContextTransformResult(messages=await transformer(list(event.messages)))

        return self.events.on("context_transform", handler)

    def convert_to_llm(self, messages: Sequence[AgentMessage]) -> list[LLMMessage]:
        """``messages`` as a model sees them: legal, without what is only for people."""
        return list(repair(tuple(messages)))

    def estimate_tokens(self, messages: Sequence[AgentMessage]) -> int:
        """Estimated tokens of ``messages``."""
        return self.estimate_messages(messages)

    def estimate_messages(self, messages: Sequence[AgentMessage]) -> int:
        """Estimated tokens of ``messages``, with the estimator for the current model."""
        estimate = estimator_for(self.host, self.target.model.id if self.target is not None else "")
        return sum(estimate_message(m, estimate) for m in messages)

    async def complain(self, event: str, message: str) -> None:
        """Report a handler whose answer could not be used."""
        from ..events.types import HandlerErrorEvent

        if self.events.has("handler_error"):
            await self.events.emit(self.events.make(HandlerErrorEvent, event=event, source="loop", error=message))
        else:
            log.warning("%s: %s", event, message)
