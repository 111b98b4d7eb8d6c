"""One run: its state, its outcome, its tasks, and the stream of its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..abort import AbortSignal
from ..contracts.adapter import ModelSettings
from ..errors import AgentError, PluginError, RunAborted, SkillKitError, Suspended
from ..messages import AgentMessage, StopReason
from ..stream import StreamEvent
from .containment import Carried, carried, working_task
from .ledger import UsageLedger
from .nesting import current_parent
from .response import AgentResponse, RunOutcome
from .target import Target

if TYPE_CHECKING:
    from ..contracts.adapter import LLMAdapter
    from ..contracts.tool_executor import ToolExecutor
    from ..messages import UserMessage
    from ..models import ModelDefinition
    from ..tools import Tool
    from .context import ContextView
    from .input import Receipt
    from .nesting import Parent
    from .runner import AgentRunner
    from .session import Session

__all__ = ["Run"]

_DEFAULTS = ModelSettings()


def _settings(agent: AgentRunner) -> ModelSettings:
    """Return the model settings of the agent's configuration, with ``thinking`` from the host where the agent has none."""
    settings = agent.config.settings or _DEFAULTS
    thinking = agent.host.config.get("thinking")
    return settings if settings.thinking or not thinking else replace(settings, thinking=thinking)


class RunTask(asyncio.Task[None]):
    """A task of a run. A plugin in the run cannot cancel its own task or the run's: a cancellation would name nobody."""

    def cancel(self, msg: Any = None) -> bool:
        working = current_parent()
        if working is not None and self in (working_task(), working.run.task) and not working.run.signal.aborted:
            plugin = working.run.agent.host.load().acting()
            if plugin is not None:
                where = f"plugin {plugin!r}"
                raise PluginError("it cannot cancel the task of a run", where=where, hint="call abort()")
        return super().cancel(msg)


class Run:
    """The state of one run, which the scheduler creates and :func:`~skillkit_core.agent.loop.run_loop` drives.

    The parts of a run take bus, clock, configuration, redaction and session from the run, not from the agent.

    Attributes:
        parent: the run and the tool call that asked for this run; ``None``: an application asked.
        began_by: the receipt of the queued message for which the run began.
        listens: the run reads the queues.
        inputs: the messages of the session for which the run began, because the run before left them to it.
        receipts: the receipts of the queued messages that the run has persisted or was left.
        awaited: a caller awaits the task of the run.
        left: the inputs and receipts for which another run is to begin at the end of this one.
        next: that run.
        messages: the messages that the run added to the conversation.
        streaming: a consumer iterates the stream.
        window: the tokens that a request to the model may carry; 0: unknown.
        fallback: why the model before failed, until ``model_select`` has said so.
        begun: the task of the run has started.
        closing: the run is being closed; an abort has no effect any more.
        ended: the run is over.
    """

    MAX_WAITING = 10_000  # stream events; with more the run waits for its consumer
    BURST = 128  # stream events between two turns of the consumer
    session: Session
    context: ContextView

    def __init__(
        self,
        agent: AgentRunner,
        run_id: str,
        *,
        streaming: bool,
        parent: Parent | None = None,
        began_by: Receipt | None = None,
        listens: bool = True,
        before: Run | None = None,
    ) -> None:
        self.agent = agent
        self.id = run_id
        self.parent = parent
        self.began_by = began_by
        self.listens = listens
        self.bus = agent.events
        self.clock = agent.clock
        self.config = agent.config
        self.cwd = agent.cwd
        self.redact = agent.redact
        self.signal = AbortSignal()
        self.settings = _settings(agent)
        self.loop = asyncio.get_running_loop()
        limits = agent.host.config.limits(agent.config.limits)
        self.ledger = UsageLedger(agent.events, limits, parent)
        self.executor: ToolExecutor | None = agent.config.executor
        if self.executor is None and parent is not None:
            self.executor = parent.run.executor
        self.target: Target | None = None
        self.window = 0
        self.system_prompt = ""
        self.messages: list[AgentMessage] = []
        self.inputs, receipts = before.left if before is not None else ((), ())
        self.receipts: list[Receipt] = list(receipts)
        self.awaited: bool = began_by is None if before is None else before.awaited
        self.left: tuple[tuple[UserMessage, ...], tuple[Receipt, ...]] = ((), ())
        self.next: Run | None = None
        self.content = ""
        self.stop_reason: StopReason | None = None
        self.outcome: RunOutcome = "completed"
        self.reason = ""
        self.error: Exception | None = None
        self.begun = self.closing = False
        self.task: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.interrupt: BaseException | None = None  # raised in a task beside the run
        self._fallbacks: list[str | ModelDefinition] | None = None
        self.fallback = ""
        # a choice of the agent after this number of choices replaces the run's own target
        self._own_target: tuple[Target | None, int] = (None, 0)
        self._children = 0
        self.streaming = streaming
        self._events: list[StreamEvent] = []
        self._patience = self.BURST
        self._wake: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self.ended = self._closed = False

    async def open(self) -> Session:
        """Open the session of the agent, and bind session, context and executor to the run."""
        self.session = await self.agent.conversation.open()
        self.context = self.agent.conversation.context
        self.ledger.write_into(self.session, self.id)
        if self.executor is None:
            self.executor = await self.agent.toolbox.executor()
        return self.session

    def named(self, run_id: str) -> None:
        """Set the id of the run; the session has been opened since the run was made."""
        self.id = run_id

    def begin(self) -> None:
        """Mark the task of the run as started."""
        self.begun = True

    def ancestors(self) -> Iterator[Run]:
        """Yield this run and its ancestors, the outermost last."""
        run: Run | None = self
        while run is not None:
            yield run
            run = run.parent.run if run.parent is not None else None

    @property
    def outermost(self) -> Run:
        """The last of the ancestors, or this run if it has no parent."""
        run = self
        while run.parent is not None:
            run = run.parent.run
        return run

    def count_child(self) -> int:
        """Count an agent that becomes a child of this run; return the number of children."""
        self._children += 1
        return self._children

    @property
    def abort_grace(self) -> float:
        """The seconds that tools get after an abort; fewer than the parent's, so that a nested run ends first."""
        own = self.config.abort_grace
        return own if self.parent is None else min(own, 0.8 * self.parent.run.abort_grace)

    async def refresh_target(self) -> bool:
        """Replace the refused secret of the target by a fresh one; return whether there is a fresh one."""
        selection = self.agent.selection
        fresh = await selection.refresh(self.target) if self.target is not None else None
        # the target is the run's own, or the parent's
        if fresh is not None and selection.target is not fresh:
            self._own_target = fresh, selection.choices
        return fresh is not None

    async def choose_target(self) -> Target:
        """Set and return the target: the run's own unless the agent has chosen a target since, else the agent's."""
        selection = self.agent.selection
        own, choices = self._own_target
        self.target = target = own if own is not None and choices == selection.choices else await selection.current()
        self.window = target.model.context_window
        return target

    async def use_target(self, adapter: str | LLMAdapter | None, model: str | ModelDefinition | None) -> None:
        """Set another adapter or model as the run's own target, or raise as :func:`resolve_target`."""
        selection = self.agent.selection
        self._own_target = await selection.find(adapter, model), selection.choices
        await self.choose_target()

    async def fall_back(self, error: Exception) -> bool:
        """Use the next of the fallbacks for the rest of the run; return whether there is one."""
        if self._fallbacks is None:
            self._fallbacks = self.agent.selection.fallbacks()
        while self._fallbacks:
            model = self._fallbacks.pop(0)
            before = f"{self.target.provider}/{self.target.model.id}: " if self.target is not None else ""
            selection = self.agent.selection
            try:
                self._own_target = await selection.fall_back(model), selection.choices
            except SkillKitError as problem:
                await self.bus.complain("model_select", f"a fallback cannot be used: {problem}")
                continue
            self.fallback = self.redact(before + str(error))
            return True
        return False

    def take_fallback(self) -> None:
        """Mark the fallback as announced by ``model_select``."""
        self.fallback = ""

    def prompt_with(self, system_prompt: str) -> None:
        """Set the system prompt."""
        self.system_prompt = system_prompt

    def followed_by_one_for(self, inputs: tuple[UserMessage, ...], receipts: int) -> None:
        """Leave ``inputs``, and the receipts from a position on, to another run that begins at the end of this one."""
        self.left = inputs, tuple(self.receipts[receipts:])
        del self.receipts[receipts:]

    def continued_by(self, run: Run) -> None:
        """Set the run that has begun for what this one left."""
        self.next = run

    def answered(self, content: str, stop_reason: StopReason | None = None) -> None:
        """Set the text and the stop reason of the last answer."""
        self.content, self.stop_reason = content, stop_reason

    def tokens(self, tools: Sequence[Tool] | None = None) -> int:
        """Return the estimated tokens of the next request, with ``tools`` in place of all of the agent's."""
        model = self.target.model if self.target is not None else None
        return self.context.tokens(model, self.system_prompt, self.agent.toolbox.tools() if tools is None else tools)

    def push(self, event: StreamEvent) -> bool:
        """Append an event to the stream, unless a terminal event ended the stream.

        Returns:
            True when the caller must call :meth:`breathe`, because many events wait for the consumer.
        """
        if not self.streaming or self._closed:
            return False
        kind = event.type  # two comparisons are cheaper than event.terminal, and there are many deltas
        self._closed = kind == "done" or kind == "error"
        self._events.append(event)
        if self._wake is not None:
            self._awaken()
        return len(self._events) > self._patience

    async def breathe(self) -> None:
        """Let the consumer of the stream run, and wait while more than ``MAX_WAITING`` events wait."""
        await asyncio.sleep(0)
        while len(self._events) > self.MAX_WAITING and not self.signal.aborted:
            self._drained = self.loop.create_future()
            await self._drained
        self._patience = min(len(self._events) + self.BURST, self.MAX_WAITING)

    def _awaken(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
        self._wake = None

    async def arrived(self) -> Sequence[StreamEvent]:
        """Wait for stream events and return them in order; none when the run is over."""
        if not self._events and not self.ended:
            self._wake = self.loop.create_future()
            await self._wake
        # events that the consumer already holds do not count as waiting, so a slow consumer gets small bursts
        if len(self._events) > 2 * self.BURST:
            events, self._events = self._events[: self.BURST], self._events[self.BURST :]
        else:
            events, self._events = self._events, []
            self._patience = self.BURST
        if self._drained is not None and len(self._events) <= self.MAX_WAITING and not self._drained.done():
            self._drained.set_result(None)
        return events

    def drive(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Create and return the task of the run."""
        self.task = RunTask(work, name=name)
        return self.task

    def own(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run ``work()`` in a task beside the run; an interrupt in that task interrupts the run."""

        async def beside() -> None:
            # called here, because a task that is cancelled before its start would leave an unawaited coroutine
            await carried(work())

        task = RunTask(beside())
        self.tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and isinstance(found := task.exception(), Carried):
            self.interrupt = self.interrupt or found.error
            if self.task is not None and not self.closing:
                self.task.cancel()

    async def checkpoint(self) -> None:
        """Raise ``CancelledError`` if the run was aborted.

        The cancellation by ``abort()`` reaches only code that suspends, and a handler may have swallowed the cancellation.
        """
        if self.signal.aborted:
            await asyncio.sleep(0)
            self.closing = True
            raise asyncio.CancelledError

    def close(self) -> None:
        """Begin to close the run, so that an abort has no effect any more."""
        self.closing = True

    def conclude(self, outcome: RunOutcome, reason: str = "", error: Exception | None = None) -> None:
        """Set the outcome of the run."""
        self.outcome, self.reason, self.error = outcome, reason, error

    def end(self) -> None:
        """End the run, its stream and its ledger."""
        self.ended = True
        self.ledger.end()
        self._awaken()

    def response(self) -> AgentResponse:
        """Return the response so far."""
        return AgentResponse(
            content=self.content, usage=self.ledger.usage, messages=tuple(self.messages), outcome=self.outcome,
            session_id=self.agent.session_id, run_id=self.id, stop_reason=self.stop_reason, cost=self.ledger.cost,
            reason=self.reason,
        )  # fmt: skip

    def failure(self) -> AgentError | None:
        """Return the error that ``chat`` raises; ``None`` when the run neither failed nor was aborted."""
        if self.outcome == "aborted":
            return RunAborted(self.reason or "the run was aborted", response=self.response())
        if self.outcome == "suspended" and self.parent is not None:
            waiting = self.session.suspension()
            return Suspended(waiting, self.session.id, response=self.response()) if waiting is not None else None
        if self.outcome != "failed":
            return None
        error = self.error
        if isinstance(error, SkillKitError):
            failed = AgentError(error.message, response=self.response(), where=error.where, hint=error.hint)
        else:
            failed = AgentError(f"{type(error).__name__}: {error}", response=self.response())
        failed.__cause__ = error
        return failed
