"""The agent, as an application holds it: one session, one event bus, and at most one run at a time."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from ..config import AgentConfig
from ..errors import AgentError, NoActiveRun, UsageError, close_matches
from ..estimates import estimator_for
from ..events.bus import EventBus
from ..events.context import HandlerContext
from ..events.results import UNSET, ContextTransformResult, Unset
from ..events.types import ContextTransformEvent
from ..messages import AgentMessage, Block, ContextTransformer, LLMMessage, Origin, clean
from ..stream import StreamEvent
from ..tools import Tool
from .around import AroundHooks
from .clock import SYSTEM_CLOCK, Clock
from .compaction import can_compact, compact_alone
from .context import joined, prompt_parts
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
    from ..contracts.adapter import LLMAdapter
    from ..contracts.approver import ApprovalDecision
    from ..contracts.user_interface import UserInterface
    from ..host.manager import Host
    from ..models import ModelDefinition

__all__ = ["AgentRunner"]

log = logging.getLogger("skillkit.agent")
_TARGET = frozenset({"model", "provider", "api", "base_url", "api_key"})  # fields that choose the target
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class AgentRunner:
    """Runs a model with tools over a session.

    Args:
        config: the model, the tools and the limits of the agent.
        host: the plugins and their items; default: the host of the run that makes the agent, else a host of installed plugins.
        session: an open :class:`Session`, a session id of the host's store, or ``"new"`` for that store; default: in memory.
        clock: the clock of the agent, which tests replace.
        name: the agent's name in ``agent_path``; default: ``main``, for a nested agent ``sub``.
        endpoint: ``(session_id) -> address`` under which this process takes clients of the session; who meets the lock of the
            session reads the address there (:attr:`SessionLocked.owner`).

    Use ``async with AgentRunner(...) as agent``, or call :meth:`aclose` at the end.

    An agent is nested when a tool or a handler of a run makes or asks the agent. The guards and observers of that run see the
    agent's events, the agent's usage counts against the run's limits, an abort ends both, and the run's approver is asked.
    """

    def __init__(
        self,
        config: AgentConfig | None = None,
        *,
        host: Host | None = None,
        session: Session | str | None = None,
        clock: Clock | None = None,
        name: str | None = None,
        endpoint: Callable[[str], str] | None = None,
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
        self.conversation = Conversation(self, session, endpoint)
        self.queues = Queues(self.input.queue_changed)
        self.toolbox = Toolbox(self)
        self.nesting.adopt()
        self.around = AroundHooks(host)
        self.selection = TargetSelection(self)
        if self.config.api_key:
            host.remember_secret(self.config.api_key)

    # --- session ----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session, which the first run or :meth:`open` opens."""
        return self.conversation.required

    @property
    def session_id(self) -> str | None:
        """The id of the session; ``None`` before the session is open."""
        session = self.conversation.session
        return session.id if session is not None else None

    @property
    def open_session(self) -> Session | None:
        """The session; ``None`` before the session is open."""
        return self.conversation.session

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The messages of the current branch, from the newest compaction on."""
        session = self.conversation.session
        return session.messages if session is not None else ()

    @property
    def cwd(self) -> Path:
        """The workspace: the configured one, else the parent's, else the host's."""
        if self.config.cwd is not None:
            return self.config.cwd
        parent = self.nesting.parent
        return self.host.cwd if parent is None else parent.run.cwd

    @property
    def ui(self) -> UserInterface | None:
        """The configured user interface, else the parent's; ``None``: nobody can be asked."""
        if self.config.ui is not None:
            return self.config.ui
        parent = self.nesting.parent
        return None if parent is None else parent.run.agent.ui

    async def open(self) -> Session:
        """Open the session, or raise as :meth:`SessionStore.open`; the first run opens the session too."""
        return await self.conversation.open()

    async def switch(self, session: str) -> Session:
        """Switch to another session of the host's store; messages for the next run stay queued.

        Args:
            session: the id of the session, or ``"new"``.

        Raises:
            AgentError: a handler of ``session_before_switch`` cancelled the switch.
            AgentBusy: a run is active, or another switch, fork, move or reload.
            ReentrancyError: a handler made the call.
            UsageError: the session is the current one.
            SessionError: the store cannot open the session; the agent keeps the current one.
        """
        async with self.scheduler.hold("switch"):
            return await self.conversation.switch(session)

    async def fork(self, at: str | Unset | None = UNSET) -> Session:
        """Switch to a new session that has the entries from the root to ``at``; raise as :meth:`switch`.

        Args:
            at: the last entry of the new session; default: the leaf; ``None``: the new session is empty.
        """
        async with self.scheduler.hold("fork"):
            return await self.conversation.fork(at)

    async def move_to(self, entry_id: str | None, *, summary: str | None = None, label: str | None = None) -> None:
        """Continue after another entry of the session; the abandoned entries stay as a branch. Raise as :meth:`switch`.

        Args:
            entry_id: the entry; ``None``: before the first.
            summary: the summary of the abandoned branch, which is put into the context.
            label: a name for the entry.
        """
        async with self.scheduler.hold("move_to"):
            await self.conversation.move_to(entry_id, summary, label)

    async def reload(self) -> Session:
        """Read the session again from its store, or raise as :meth:`switch`."""
        async with self.scheduler.hold("reload"):
            return await self.conversation.reload()

    async def aclose(self) -> None:
        """End the run, emit ``session_shutdown`` once, and close the session, and the host if the agent made it."""
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

    async def chat(
        self, message: str, *, images: Sequence[Block] = (), delivery: Delivery = "prompt", origin: Origin | None = None
    ) -> AgentResponse:
        """Send a message to the model, and return the response of the run.

        Args:
            message: the text of the user.
            images: image or document blocks.
            delivery: while a run is active, ``prompt`` raises; ``steer`` and ``follow_up`` queue the message for the run.
            origin: who sends the message, and from where; the session keeps it with the message.

        Raises:
            AgentError: the run failed; ``response`` holds the answer until then.
            RunAborted: the run was aborted.
            AgentBusy: a run is active and ``delivery`` is ``prompt``.
        """
        run = self.scheduler.run
        if delivery == "prompt" or run is None:
            work = functools.partial(self._prompted, text=message, images=images, origin=origin)
            return await self.scheduler.alone("chat", work)
        self.scheduler.refuse_reentry("chat")
        await self.input.queue(delivery, message, images, origin)
        run = await self.scheduler.wait_end(run)
        failure = run.failure()
        if failure is not None:
            raise failure
        return run.response()

    async def resume(
        self,
        decisions: Mapping[str, ApprovalDecision | Literal["allow", "deny"]] | None = None,
        *,
        origin: Origin | None = None,
    ) -> AgentResponse:
        """Resume the session: execute calls that waited for a decision, or finish a run that a crash ended.

        A suspended call passes the guards again with its stored arguments, and runs when the guards agree and the decision is
        ``allow``. New questions, other arguments and calls without a decision go to the approver. Of the calls that a crash
        left without a result, only those of tools with ``replay="safe"`` run again.

        Args:
            decisions: the decisions by the id of the call; :attr:`suspension` has the calls. A decision about a call in which an
                agent waits is one about all waiting calls of that agent; each of them can be named, too. Default for an agent
                in a tool call that is resumed: the decisions that were given for it above.
            origin: who decides, and from where, of decisions that have no origin.

        Raises:
            UsageError: there is nothing to resume, or a decision names no waiting call.
            AgentError: as :meth:`chat`.
        """
        self.scheduler.require_idle("resume")
        session = await self.open()
        suspension = session.suspension()
        if decisions is None and suspension is not None:
            decisions = self.nesting.decisions(suspension)
        found = resumption(session.messages, suspension, decisions, origin, session.driven)

        return await self.scheduler.alone("resume", lambda run: run_loop(run, (), found))

    async def compact(self) -> bool:
        """Compact the conversation now; return whether the compaction freed enough tokens.

        Raises:
            UsageError: no compactor is installed, or calls wait for a decision.
            AgentBusy: a run is active.
            RunAborted: the compaction was aborted; the context is unchanged.
        """
        self.scheduler.require_idle("compact")
        session = await self.open()
        if session.suspension() is not None:
            raise UsageError("the session waits for a decision", hint="resume() first")
        if not can_compact(self):
            raise UsageError("no compactor is installed", hint="install a plugin that brings one")
        freed: list[bool] = []

        async def work(run: Run) -> None:
            freed.append(await compact_alone(run))

        await self.scheduler.alone("compact", work)
        return freed[0]

    @property
    def suspension(self) -> Suspension | None:
        """The tool calls that wait for a decision; ``None`` when no call waits."""
        session = self.conversation.session
        return session.suspension() if session is not None else None

    async def chat_stream(
        self, message: str, *, images: Sequence[Block] = (), origin: Origin | None = None
    ) -> AsyncIterator[str]:
        """Yield the text of the answer as it arrives, or raise as :meth:`chat`."""
        async with contextlib.aclosing(self.chat_stream_events(message, images=images, origin=origin)) as events:
            async for event in events:
                if event.type == "text_delta":
                    yield event.content
                elif event.type == "error" and event.error is not None:
                    raise event.error

    async def chat_stream_events(
        self, message: str, *, images: Sequence[Block] = (), origin: Origin | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield stream events, the last one ``done`` or ``error``; never raise. Closing the iterator aborts the run."""
        try:
            work = functools.partial(self._prompted, text=message, images=images, origin=origin)
            async with contextlib.aclosing(self.scheduler.stream("chat", work, streaming=True)) as items:
                async for item in items:
                    if isinstance(item, Sequence):
                        for event in item:
                            yield event
        except AgentError as error:
            yield StreamEvent("error", error=error)

    async def _prompted(self, run: Run, text: str, images: Sequence[Block], origin: Origin | None) -> None:
        said, handled = await self.input.prompt(text, images, origin)
        if handled is None:
            run.context.allow_compaction()
            await run_loop(run, said)
            return
        if said:
            await keep_exchange(run, said)
        run.answered(handled.reply or "")
        run.push(StreamEvent("text_delta", run.content, index=0))
        run.push(StreamEvent("done", run.content))

    # --- control ----------------------------------------------------------------------------------------------

    @overload
    async def steer(
        self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[False] = ..., origin: Origin | None = ...
    ) -> str: ...
    @overload
    async def steer(
        self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[True], origin: Origin | None = ...
    ) -> Receipt: ...
    async def steer(
        self, message: str, *, images: Sequence[Block] = (), trigger: bool = False, origin: Origin | None = None
    ) -> str | Receipt:
        """Queue a message for the active run, which skips the calls that have not started; return the id of the item.

        Args:
            origin: who sends the message, and from where, as in :meth:`chat`.
            trigger: begin a run with the message if no run is active, or if the active run ends before it reads the message.
                Return a :class:`Receipt`, which has the id and waits for the response. Several messages that come at once
                begin one run. A message that the run has not read when the run fails stays queued. As with any input,
                waiting calls of a suspended session are denied first. Any thread may call this once the agent is open; the
                run is on the loop that opened the agent.

        Raises:
            NoActiveRun: no run is active and ``trigger`` is false.
            UsageError: the message is a ``/command``.
            AgentError: the agent is closed.
            AgentBusy: ``trigger`` is true during a switch, fork, move or reload.
        """
        if trigger:
            return await self.input.trigger("steer", message, images, origin)
        if not self.scheduler.steerable:
            raise NoActiveRun("there is no run to steer", hint="use chat(), or trigger=True")
        return await self.input.queue("steer", message, images, origin)

    @overload
    async def follow_up(
        self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[False] = ..., origin: Origin | None = ...
    ) -> str: ...
    @overload
    async def follow_up(
        self, message: str, *, images: Sequence[Block] = ..., trigger: Literal[True], origin: Origin | None = ...
    ) -> Receipt: ...
    async def follow_up(
        self, message: str, *, images: Sequence[Block] = (), trigger: bool = False, origin: Origin | None = None
    ) -> str | Receipt:
        """Queue a message for the end of the active run, else for the next run; return the id of the item.

        Args:
            origin: who sends the message, and from where, as in :meth:`chat`.
            trigger: begin a run if no run is active, and return a :class:`Receipt`, as :meth:`steer`.
        """
        if trigger:
            return await self.input.trigger("follow_up", message, images, origin)
        if not self.scheduler.steerable:
            return await self.input.later(message, images, origin)
        return await self.input.queue("follow_up", message, images, origin)

    def next_run(self, message: str, *, images: Sequence[Block] = ()) -> str:
        """Queue a message to precede the next prompt, also after an abort; return the id of the item."""
        return self.queues.put("next_run", self.redact(clean(message)), images)

    def cancel(self, item_id: str) -> Literal["cancelled", "already_consumed", "already_cleared"]:
        """Remove a queued message by the id of its item; return whether the message was still queued."""
        return self.queues.cancel(item_id)

    def abort(self, reason: str | None = None) -> list[QueueItem]:
        """Abort the active run, if any; return the steering and follow-up messages that were not consumed.

        Stream, tools and hooks stop; persisted messages stay. Thread-safe and idempotent.
        """
        return self.scheduler.abort(self.scheduler.run, reason)

    async def wait_idle(self) -> None:
        """Wait until no run is active."""
        await self.scheduler.wait_idle()

    @property
    def running(self) -> bool:
        """True while a run is active."""
        return self.scheduler.run is not None

    def state(self, plugin: str) -> dict[str, Any]:
        """Return the plugin's state for this agent and session: a dict in memory that the plugin may change.

        ``switch``, ``fork`` and ``reload`` begin with an empty dict, so a plugin must not keep a reference. State that must
        survive, or that belongs to a branch, is a note of the session.

        Args:
            plugin: the name of the plugin.
        """
        return self.conversation.states.setdefault(plugin, {})

    # --- model and tools --------------------------------------------------------------------------------------

    def configure(self, **changes: Any) -> None:
        """Change fields of the agent's :class:`AgentConfig`, also during a run.

        These hold from the next request or tool call on: ``model``, ``provider``, ``api``, ``base_url``, ``api_key`` (each
        undoes :meth:`set_adapter`), ``tools``, ``only_tools``, ``retry``, ``ui``,
        ``skills`` and ``options``. All others hold from the next run on.

        Raises:
            UsageError: a field is unknown, or a value has a wrong type; no field is changed.
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
        """Use another adapter from the next request on, also during a run.

        Args:
            adapter: a name in ``host.adapters`` or an adapter.

        Raises:
            UnknownName: no such provider.
            UsageError: the key of the provider is missing.
        """
        self.selection.use_adapter(adapter)

    def set_model(self, model: str | ModelDefinition, provider: str | None = None) -> None:
        """Use another model from the next request on, also during a run."""
        self.configure(model=model, provider=provider or None)

    async def find_target(self) -> Target:
        """Return the model and adapter of the next request, which this resolves if nothing did yet.

        Raises:
            UnknownName: the model or the provider is unknown.
            UsageError: no provider can be used, or a key is missing.
        """
        return await self.selection.current()

    @property
    def target(self) -> Target | None:
        """The model and adapter of the active run, else of the last one; ``None`` before the first run."""
        run = self.scheduler.run
        now = run.target if run is not None else None
        return now or self.selection.target or self.selection.inherited

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model may call now, sorted by name; ``turn_start`` may offer others for one turn."""
        return self.toolbox.tools()

    def offered(self, name: str) -> Tool | None:
        """Return the tool called ``name``; ``None`` when the model may not call such a tool now."""
        return self.toolbox.get(name)

    # --- nesting ----------------------------------------------------------------------------------------------

    @property
    def parent(self) -> AgentRunner | None:
        """The agent whose tool or handler made this agent, or asks this agent now; ``None``: an application did."""
        parent = self.nesting.parent
        return parent.run.agent if parent is not None else None

    def ancestors(self) -> Iterator[AgentRunner]:
        """Yield this agent, its parent, the parent of that one, and so on, the outermost last."""
        return self.nesting.ancestors()

    # --- context ----------------------------------------------------------------------------------------------

    def system_prompt(self) -> str:
        """Return the configured prompt with the additions of the context providers."""
        return joined(prompt_parts(self, self.host.context_providers))

    async def transform_context(self, messages: Sequence[AgentMessage]) -> list[AgentMessage]:
        """Return ``messages`` with the changes of the ``context_transform`` handlers."""
        answer = await self.events.fire(ContextTransformEvent, messages=tuple(messages))
        wanted = answer.messages if isinstance(answer, ContextTransformResult) else UNSET
        return list(messages) if isinstance(wanted, Unset) else list(wanted)

    def add_context_transformer(self, transformer: ContextTransformer) -> Callable[[], None]:
        """Add an ``async (messages) -> messages`` to ``context_transform``; return a function that removes it."""

        async def handler(event: ContextTransformEvent) -> ContextTransformResult:
            return ContextTransformResult(messages=await transformer(list(event.messages)))

        return self.events.on("context_transform", handler)

    def convert_to_llm(self, messages: Sequence[AgentMessage]) -> list[LLMMessage]:
        """Return ``messages`` as a model gets them: repaired, without messages that are only for people."""
        return list(repair(tuple(messages)))

    def estimate_tokens(self, messages: Sequence[AgentMessage]) -> int:
        """Return the tokens of ``messages`` that the estimator of the current model counts."""
        estimator = estimator_for(self.host, self.target.model if self.target is not None else None)
        return sum(map(estimator.message, messages))
