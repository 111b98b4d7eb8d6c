"""The agent: what an application holds. It owns one session, one event bus and at most one run at a time."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from ..abort import AbortSignal
from ..config import AgentConfig, Limits, RetryPolicy
from ..errors import AgentError, NoActiveRun, UsageError, close_matches
from ..events.bus import EventBus
from ..events.context import HandlerContext
from ..events.results import UNSET, ContextTransformResult, Unset
from ..events.types import ContextTransformEvent
from ..messages import AgentMessage, Block, ContextTransformer, LLMMessage, clean
from ..stream import StreamEvent
from ..tools import Tool
from .around import AroundHooks
from .clock import SYSTEM_CLOCK, Clock
from .compaction import can_compact, compact_alone
from .context import ContextView, estimate_message, estimator_for, joined, prompt_parts
from .conversation import Conversation
from .input import Delivery, Input, QueueItem, Queues, Receipt
from .loop import keep_exchange, run_loop
from .nesting import Nesting
from .repair import repair
from .response import AgentResponse
from .run import Run
from .scheduler import Scheduler
from .session import Session
from .suspension import Suspension, resumption
from .target import Target, TargetSelection
from .toolbox import Toolbox

if TYPE_CHECKING:
    import asyncio

    from ..contracts.adapter import LLMAdapter
    from ..contracts.approver import ApprovalDecision
    from ..contracts.tool_executor import ToolExecutor
    from ..contracts.user_interface import UserInterface
    from ..host.manager import Host
    from ..models import ModelDefinition

__all__ = ["AgentRunner"]

log = logging.getLogger("skillkit.agent")
_TARGET = frozenset({"model", "provider", "api", "base_url", "api_key"})  # fields that say who answers
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class AgentRunner:
    """Runs a model with tools over a session.

    Args:
        config: what answers, with which tools and bounds.
        host: plugins and what they bring; default: a host of the installed plugins, or that of the run that makes the agent.
        session: an open :class:`Session`, the id of one in the host's store, ``"new"`` for a new one there; default: in memory.
        clock: time, for tests.
        name: what ``agent_path`` calls the agent; default: ``main``, and ``sub`` for a nested one.

    Use it as ``async with AgentRunner(...) as agent`` or call :meth:`aclose` at the end.

    An agent that a tool or a handler of a run makes or asks is nested: the guards and observers of that run see what it does,
    what it uses counts against the run's budgets, an abort ends both, questions go to the run's approver, and its events
    carry a longer ``agent_path``.
    """

    context: ContextView  # once the session is open

    def __init__(
        self,
        config: AgentConfig | None = None,
        *,
        host: Host | None = None,
        session: Session | str | None = None,
        clock: Clock | None = None,
        name: str | None = None,
    ) -> None:
        if name is not None and not _NAME.match(name):
            raise UsageError(f"agent name {name!r} must match [A-Za-z0-9_-]{{1,64}}")
        self.name = name
        self.nesting = Nesting(self)
        if host is None and self.nesting.parent is not None:
            host = self.nesting.parent.run.agent.host
        self._owns_host = host is None
        if host is None:
            from ..host.manager import Host

            host = Host(cwd=config.cwd if config else None)
        self.config = config or AgentConfig()
        self.host: Host = host
        self.redact = host.secrets.redact
        self.clock: Clock = clock or SYSTEM_CLOCK
        self.events: EventBus = EventBus(host, context=HandlerContext(self), clock=self.clock.time)
        self.scheduler = Scheduler(self)
        self.input = Input(self)
        self.conversation = Conversation(self, session)
        self.queues = Queues(self.input.queue_changed)
        self.toolbox = Toolbox(self)
        self.scratch: dict[str, Any] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self.sticky_approvals: set[tuple[str, str | None, str | None]] = set()
        self.may_compact = True  # not after a compaction that freed too little, until the next input
        self.nesting.adopt()
        self.around = AroundHooks(host)
        self._host_executor: tuple[int, ToolExecutor | None] = (-1, None)
        self.selection = TargetSelection(self)
        if self.config.api_key:
            host.remember_secret(self.config.api_key)

    # --- session ----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session. Opened by the first run or by :meth:`open`."""
        return self.conversation.required

    @property
    def session_id(self) -> str | None:
        """The session's id, ``None`` before it is open."""
        session = self.conversation.session
        return session.id if session is not None else None

    @property
    def open_session(self) -> Session | None:
        """The session, ``None`` before it is open."""
        return self.conversation.session

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The conversation so far."""
        session = self.conversation.session
        return session.messages if session is not None else ()

    @property
    def limits(self) -> Limits:
        """The bounds of a run: those of the agent's configuration and those of the host's, the lower ones of both."""
        return self.host.config.limits(self.config.limits)

    @property
    def retry(self) -> RetryPolicy:
        """When to ask again: the agent's policy, else the host's configuration."""
        return self.host.config.retry(self.config.retry)

    @property
    def signal(self) -> AbortSignal:
        """The abort signal of the current run."""
        return self.scheduler.run.signal if self.scheduler.run is not None else AbortSignal()

    async def host_executor(self) -> ToolExecutor | None:
        """Return the executor of the host; it is asked once for a set of plugins. ``None``: this process."""
        generation, found = self._host_executor
        if generation != self.host.generation:
            found = await self.host.find_executor()
            self._host_executor = self.host.generation, found
        return found

    @property
    def agent_path(self) -> tuple[str, ...]:
        """The names of the agents from the outermost one to this: ``("main",)``, ``("main", "sub:1f0c72aa")``.

        A nested agent has a number after its name, so that no two of a run have one path; what events name it by.
        """
        return self.events.agent_path

    @property
    def cwd(self) -> Path:
        """The workspace: the configured one, else the parent's, else the host's."""
        if self.config.cwd is not None:
            return self.config.cwd
        parent = self.nesting.parent
        return self.host.cwd if parent is None else parent.run.cwd

    @property
    def ui(self) -> UserInterface | None:
        """How a person is asked and told: the configured one, else that of the nearest run above; ``None``: nobody is there."""
        if self.config.ui is not None:
            return self.config.ui
        parent = self.nesting.parent
        return None if parent is None else parent.run.agent.ui

    def allow_compaction(self, allowed: bool = True) -> None:
        """Say whether the history may be shortened before the next input."""
        self.may_compact = allowed

    async def open(self) -> Session:
        """Open the session (the first run does it too); raises as :class:`SessionStore`."""
        return await self.conversation.open()

    async def switch(self, session: str) -> Session:
        """Talk in another session of the host's store from now on; messages for the next run stay queued.

        Args:
            session: its id, or ``"new"``.

        Raises:
            AgentError: a handler of ``session_before_switch`` cancelled it. AgentBusy: a run is active, or another of these is
            going on. ReentrancyError: called from a handler. UsageError: it is this one. Else as :class:`SessionStore`; the
            agent stays where it was.
        """
        async with self.scheduler.hold("switch"):
            return await self.conversation.switch(session)

    async def fork(self, at: str | Unset | None = UNSET) -> Session:
        """Go on in a new session with what leads to an entry; the old one stays as it is.

        Args:
            at: the last entry that is kept; default: the current one; ``None``: none is.

        Raises:
            As :meth:`switch`, with ``session_before_fork``. SessionError: there is no such entry.
        """
        async with self.scheduler.hold("fork"):
            return await self.conversation.fork(at)

    async def move_to(self, entry_id: str | None, *, summary: str | None = None, label: str | None = None) -> None:
        """Go on from another entry of this session (``None``: before its first); what followed it stays as a branch.

        Args:
            summary: what happened on the branch that is left; it is put into the context.
            label: a name for the place.

        Raises:
            As :meth:`switch`, with ``session_before_tree``. SessionError: there is no such entry.
        """
        async with self.scheduler.hold("move_to"):
            await self.conversation.move_to(entry_id, summary, label)

    async def reload(self) -> Session:
        """Read the session again from where it is kept; raises as :meth:`switch`."""
        async with self.scheduler.hold("reload"):
            return await self.conversation.reload()

    def begin_context(self, session: Session) -> None:
        """Show the model this session from now on."""
        self.context = ContextView(self.host, session)

    def talk_in(self, session: Session) -> None:
        """Show the model another session from now on, and drop what was kept about the last one."""
        self.begin_context(session)
        self.scratch, self._states = {}, {}
        self.sticky_approvals.clear()
        self.may_compact = True

    async def aclose(self) -> None:
        """End the run, emit ``session_shutdown`` once, close the session, and the host if it is this agent's own."""
        if self.scheduler.closed:
            return
        self.scheduler.refuse_reentry("aclose")
        self.scheduler.close()
        self.abort("the agent was closed")
        await self.wait_idle()
        await self.scheduler.wait_free()
        self.queues.forsake(AgentError("the agent was closed before the message was said"))
        await self.conversation.shut_down()
        await self.scheduler.cancel_abandoned(self.config.abort_grace)
        await self.conversation.close()
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
        run = self.scheduler.run
        if delivery == "prompt" or run is None:
            return await self.scheduler.alone("chat", functools.partial(self._prompted, text=message, images=images))
        self.scheduler.refuse_reentry("chat")
        await self.input.queue(delivery, message, images)
        await self.scheduler.wait_end(run)
        failure = run.failure()
        if failure is not None:
            raise failure
        return run.response()

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
        self.scheduler.require_idle("resume")
        session = await self.open()
        found = resumption(session.messages, session.suspension(), decisions)

        async def work(run: Run) -> None:
            await run.open()
            await run_loop(run, (), found)

        return await self.scheduler.alone("resume", work)

    async def compact(self) -> bool:
        """Shorten the conversation now; whether that freed something worth it.

        Raises:
            UsageError: no compactor is installed, or calls wait for a decision. AgentBusy: a run is active. RunAborted: it was
            aborted; the context is as it was.
        """
        self.scheduler.require_idle("compact")
        session = await self.open()
        if session.suspension() is not None:
            raise UsageError("the session waits for a decision", hint="resume() first")
        if not can_compact(self):
            raise UsageError("no compactor is installed", hint="install a plugin that brings one")
        freed: list[bool] = []

        async def work(run: Run) -> None:
            await run.open()
            freed.append(await compact_alone(run))

        await self.scheduler.alone("compact", work)
        return freed[0]

    @property
    def suspension(self) -> Suspension | None:
        """The calls that wait for a decision; ``None`` when none do."""
        session = self.conversation.session
        return session.suspension() if session is not None else None

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
            async with contextlib.aclosing(self.scheduler.stream("chat", work, streaming=True)) as items:
                async for item in items:
                    if isinstance(item, Sequence):
                        for event in item:
                            yield event
        except AgentError as error:
            yield StreamEvent("error", error=error)

    async def run_waiting(self, run: Run) -> None:
        """Do the work of a run that a queued message began."""
        await run.open()
        await run_loop(run, ())

    async def _prompted(self, run: Run, text: str, images: Sequence[Block]) -> None:
        await run.open()
        said, handled = await self.input.prompt(text, images)
        if handled is None:
            self.allow_compaction()
            await run_loop(run, said)
            return
        if said:
            await keep_exchange(run, said)
        run.answered(handled.reply or "")
        run.push(StreamEvent("text_delta", run.content, index=0))
        run.push(StreamEvent("done", run.content))

    @property
    def closed(self) -> bool:
        """Whether :meth:`aclose` was called."""
        return self.scheduler.closed

    # --- control ----------------------------------------------------------------------------------------------

    @overload
    async def steer(self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[False] = ...) -> str: ...
    @overload
    async def steer(self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[True]) -> Receipt: ...
    async def steer(self, message: str, *, images: Sequence[Block] = (), trigger: bool = False) -> str | Receipt:
        """Tell the active run something now; calls that have not started are skipped. Gives the id of the queued item.

        Args:
            trigger: begin a run with the message if none is active, or after one that ends without it. Several messages that
                come at once begin one run. Gives a :class:`Receipt`, which has the id and waits for the response. The
                message stays queued when the run fails before it is said. In a suspended session what waits is denied first,
                as with any input. Works from any thread once the agent is open; the run is on the loop that opened it.

        Raises:
            NoActiveRun: nothing runs (not with ``trigger``). UsageError: the message is a ``/command``. With ``trigger`` besides:
            AgentError: the agent is closed. AgentBusy: a switch, fork, move or reload is going on.
        """
        if trigger:
            return await self.input.trigger("steer", message, images)
        if not self.scheduler.steerable:
            raise NoActiveRun("there is no run to steer", hint="use chat(), or trigger=True")
        return await self.input.queue("steer", message, images)

    @overload
    async def follow_up(self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[False] = ...) -> str: ...
    @overload
    async def follow_up(self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[True]) -> Receipt: ...
    async def follow_up(self, message: str, *, images: Sequence[Block] = (), trigger: bool = False) -> str | Receipt:
        """Say something when the active run would end; without a run it waits for the next one. Gives the item's id.

        Args:
            trigger: without a run it begins one, as in :meth:`steer`.
        """
        if trigger:
            return await self.input.trigger("follow_up", message, images)
        if not self.scheduler.steerable:
            return await self.input.later(message, images)
        return await self.input.queue("follow_up", message, images)

    def next_run(self, message: str, *, images: Sequence[Block] = ()) -> str:
        """Put a message in front of the next prompt; it survives an abort. Gives the item's id."""
        return self.queues.put("next_run", self.redact(clean(message)), images)

    def cancel(self, item_id: str) -> Literal["cancelled", "already_consumed", "already_cleared"]:
        """Take a queued message back by its id."""
        return self.queues.cancel(item_id)

    def abort(self, reason: str | None = None) -> list[QueueItem]:
        """End the active run: stream, tools and hooks stop, what was said is kept. Thread-safe and idempotent.

        Returns the steering and follow-up messages that were not consumed. Without a run it does nothing.
        """
        return self.scheduler.abort(self.scheduler.run, reason)

    async def wait_idle(self) -> None:
        """Wait until no run is active."""
        await self.scheduler.wait_idle()

    def when_idle(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` (sync or async) after the active run, or soon when nothing runs."""
        self.scheduler.when_idle(callback)

    def abandon(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Keep tasks that did not end in time from being lost; they are cancelled when the agent closes."""
        self.scheduler.abandon(tasks)

    @property
    def running(self) -> bool:
        """Whether a run is active."""
        return self.scheduler.run is not None

    def state(self, plugin: str) -> dict[str, Any]:
        """Return what a plugin keeps about this agent while it talks in one session: a dict that the plugin may change.

        It lives in memory, and as long as the session does: ``switch``, ``fork`` and ``reload`` begin with an empty one, so
        ask for it again each time. What must survive, or belongs to a branch, is a note of the session.

        Args:
            plugin: the name of the plugin.
        """
        return self._states.setdefault(plugin, {})

    # --- model and tools --------------------------------------------------------------------------------------

    def configure(self, **changes: Any) -> None:
        """Change fields of the agent's :class:`AgentConfig`, also during a run.

        From the next request or tool call on: ``model``, ``provider``, ``api``, ``base_url``, ``api_key`` (what
        :meth:`set_adapter` chose is forgotten then), ``tools`` (what :meth:`add_tool` added goes), ``allow_tools``,
        ``only_tools``, ``retry``, ``ui``, ``skills`` and ``options``. From the next run on: all others.

        Raises:
            UsageError: there is no such field, or a value is of a wrong type; nothing is changed.
        """
        known = [f.name for f in fields(AgentConfig)]
        for name in changes:
            if name not in known:
                close = close_matches(name, known)
                hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(known)}"
                raise UsageError(f"AgentConfig has no field {name!r}", hint=hint)
        self.config = replace(self.config, **changes)
        if self.config.api_key:
            self.host.remember_secret(self.config.api_key)
        self.toolbox.configure(self.config)
        if "tools" in changes:
            self.toolbox.offer(self.config.tools)
        if not _TARGET.isdisjoint(changes):
            self.selection.forget()

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
        self.configure(model=model, provider=provider or None)

    @property
    def target(self) -> Target | None:
        """The model and adapter that answered last, or answer now; ``None`` before the first run."""
        run = self.scheduler.run
        now = run.target if run is not None else None
        return now or self.selection.target or self.selection.inherited

    def add_tool(self, tool: Tool) -> None:
        """Give this agent one more tool, from the next request on."""
        self.toolbox.add(tool)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model may call now, sorted by name; a handler of ``turn_start`` may offer others for one turn."""
        return self.toolbox.tools()

    # --- context ----------------------------------------------------------------------------------------------

    def system_prompt(self) -> str:
        """The configured prompt and what context providers add."""
        return joined(prompt_parts(self, self.host.context_providers))

    async def transform_context(self, messages: Sequence[AgentMessage]) -> list[AgentMessage]:
        """What ``context_transform`` handlers make of ``messages``."""
        answer = await self.events.fire(ContextTransformEvent, messages=tuple(messages))
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
        """Return the estimated tokens of ``messages``, with the estimator for the current model."""
        estimate = estimator_for(self.host, self.target.model.id if self.target is not None else "")
        return sum(estimate_message(m, estimate) for m in messages)

    async def complain(self, event: str, message: str) -> None:
        """Report a handler whose answer could not be used."""
        from ..events.types import HandlerErrorEvent

        if self.events.has("handler_error"):
            await self.events.fire(HandlerErrorEvent, event=event, source="loop", error=message)
        else:
            log.warning("%s: %s", event, message)
