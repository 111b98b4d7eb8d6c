"""One run: what it works with, what it has said, how it ended, and the stream of its events for whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..abort import AbortSignal
from ..contracts.adapter import ModelSettings
from ..errors import AgentError, RunAborted, SkillKitError
from ..messages import AgentMessage, StopReason
from ..stream import StreamEvent
from .containment import Carried, carried
from .ledger import UsageLedger
from .response import AgentResponse, RunOutcome
from .target import Target

if TYPE_CHECKING:
    from ..contracts.adapter import LLMAdapter
    from ..contracts.tool_executor import ToolExecutor
    from ..models import ModelDefinition
    from .context import ContextView
    from .input import Receipt
    from .nesting import Parent
    from .runner import AgentRunner
    from .session import Session

__all__ = ["Run"]

_DEFAULTS = ModelSettings()


def _settings(agent: AgentRunner) -> ModelSettings:
    """Return how the model should answer: what the agent is configured with, over what the host is."""
    settings = agent.config.settings or _DEFAULTS
    thinking = agent.host.config.get("thinking")
    return settings if settings.thinking or not thinking else replace(settings, thinking=thinking)


class Run:
    """The state of one run. Created by the scheduler, driven by :func:`~skillkit_core.agent.loop.run_loop`.

    Bus, clock, configuration, redaction and parent are bound when the run is made, the session by :meth:`open`: the parts of a
    run use these, and do not ask the agent.

    Attributes:
        parent: the run, and the tool call in it, that asked for this run; ``None``: an application did.
        began_by: the receipt of the queued message that the run began for.
        listens: whether the run looks into the queues.
        receipts: those of the queued messages that the run has said.
        messages: what the run added to the conversation.
        streaming: whether somebody iterates the stream.
        window: tokens that a request to the model may carry; 0: unknown.
        begun: the first step was taken.
        closing: the run is being closed; an abort has no effect any more.
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
        self.receipts: list[Receipt] = []
        self.content = ""
        self.stop_reason: StopReason | None = None
        self.outcome: RunOutcome = "completed"
        self.reason = ""
        self.error: Exception | None = None
        self.begun = self.closing = False
        self.task: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.interrupt: BaseException | None = None  # from a task beside the run, on its way to whoever waits
        self._own_target: tuple[Target | None, int] = (None, 0)  # with the choices that there were
        self._children = 0
        self.streaming = streaming
        self._events: list[StreamEvent] = []
        self._patience = self.BURST
        self._wake: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._ended = self._closed = False

    async def open(self) -> Session:
        """Open the session of the agent and work with it."""
        self.session = await self.agent.conversation.open()
        self.context = self.agent.context
        self.ledger.write_into(self.session)
        if self.executor is None:  # neither the agent nor an ancestor has one
            self.executor = await self.agent.host_executor()
        return self.session

    def begin(self) -> None:
        """Take the first step."""
        self.begun = True

    def ancestors(self) -> Iterator[Run]:
        """Yield this run and the runs that it is a part of, the outermost last."""
        run: Run | None = self
        while run is not None:
            yield run
            run = run.parent.run if run.parent is not None else None

    @property
    def outermost(self) -> Run:
        """The run that no other run asked for."""
        run = self
        while run.parent is not None:
            run = run.parent.run
        return run

    def count_child(self) -> int:
        """Count an agent that becomes a child of this run; return how many there are."""
        self._children += 1
        return self._children

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self._ended

    @property
    def abort_grace(self) -> float:
        """Seconds that tools get after an abort: a nested run must be done before its parent stops waiting."""
        own = self.config.abort_grace
        return own if self.parent is None else min(own, 0.8 * self.parent.run.abort_grace)

    async def refresh_target(self) -> bool:
        """Answer with a fresh secret after that of the target was refused; return whether there is one."""
        selection = self.agent.selection
        fresh = await selection.refresh(self.target) if self.target is not None else None
        if fresh is not None and selection.target is not fresh:  # this run's own target, or that of its parent
            self._own_target = fresh, selection.choices
        return fresh is not None

    async def choose_target(self) -> Target:
        """Take the model and adapter that the agent wants now, or those of this run while nobody has chosen others."""
        selection = self.agent.selection
        own, choices = self._own_target
        self.target = target = own if own is not None and choices == selection.choices else await selection.current()
        self.window = target.model.context_window
        return target

    async def use_target(self, adapter: str | LLMAdapter | None, model: str | ModelDefinition | None) -> None:
        """Answer this run through another adapter, or with another model; raises as :func:`resolve_target`."""
        selection = self.agent.selection
        self._own_target = await selection.find(adapter, model), selection.choices
        await self.choose_target()

    def prompt_with(self, system_prompt: str) -> None:
        """Use this system prompt."""
        self.system_prompt = system_prompt

    def answered(self, content: str, stop_reason: StopReason | None = None) -> None:
        """Take the text of an answer; the last one is what the run gives."""
        self.content, self.stop_reason = content, stop_reason

    def tokens(self) -> int:
        """Return an estimate of the tokens that the next request carries."""
        model = self.target.model.id if self.target is not None else ""
        return self.context.tokens(model, self.system_prompt, self.agent.toolbox.tools())

    def push(self, event: StreamEvent) -> bool:
        """Hand a stream event to whoever iterates the run; nothing follows the first terminal one.

        Returns:
            Whether it is the consumer's turn: call :meth:`breathe`.
        """
        if not self.streaming or self._closed:
            return False
        kind = event.type  # once for every delta: comparing is cheaper than asking event.terminal
        self._closed = kind == "done" or kind == "error"
        self._events.append(event)
        if self._wake is not None:
            self._awaken()
        return len(self._events) > self._patience

    async def breathe(self) -> None:
        """Let the consumer have its turn, and wait for it when it is far behind."""
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
        """Return the next stream events, in order, none lost; wait for one. Empty when the run is over."""
        if not self._events and not self._ended:
            self._wake = self.loop.create_future()
            await self._wake
        if len(self._events) > 2 * self.BURST:  # far behind: what the consumer has in hand does not count as waiting
            events, self._events = self._events[: self.BURST], self._events[self.BURST :]
        else:
            events, self._events = self._events, []
            self._patience = self.BURST
        if self._drained is not None and len(self._events) <= self.MAX_WAITING and not self._drained.done():
            self._drained.set_result(None)
        return events

    def drive(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Begin the task of the run."""
        self.task = asyncio.create_task(work, name=name)
        return self.task

    def own(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Do ``work()`` beside the run; an interrupt there interrupts the run."""

        async def beside() -> None:  # a task that is cancelled before its first step leaves no coroutine behind
            await carried(work())

        task = asyncio.create_task(beside())
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
        """End here if the run was aborted: code that never suspends would go on.

        ``abort()`` cancels the task of the run; the cancellation arrives when something suspends, and a handler may have
        swallowed it.
        """
        if self.signal.aborted:
            await asyncio.sleep(0)
            self.closing = True
            raise asyncio.CancelledError

    def close(self) -> None:
        """Begin to close the run: an abort has no effect from now on."""
        self.closing = True

    def conclude(self, outcome: RunOutcome, reason: str = "", error: Exception | None = None) -> None:
        """Say how the run ends."""
        self.outcome, self.reason, self.error = outcome, reason, error

    def end(self) -> None:
        """The run is over; no event follows."""
        self._ended = True
        self.ledger.end()
        self._awaken()

    def response(self) -> AgentResponse:
        """Return what the run gave so far."""
        return AgentResponse(
            content=self.content,
            usage=self.ledger.usage,
            messages=tuple(self.messages),
            outcome=self.outcome,
            session_id=self.agent.session_id,
            run_id=self.id,
            stop_reason=self.stop_reason,
            cost=self.ledger.cost,
            reason=self.reason,
        )

    def failure(self) -> AgentError | None:
        """Return the error that ``chat`` raises, ``None`` when the run did not fail."""
        if self.outcome == "aborted":
            return RunAborted(self.reason or "the run was aborted", response=self.response())
        if self.outcome != "failed":
            return None
        error = self.error
        if isinstance(error, SkillKitError):
            failed = AgentError(error.message, response=self.response(), where=error.where, hint=error.hint)
        else:
            failed = AgentError(f"{type(error).__name__}: {error}", response=self.response())
        failed.__cause__ = error
        return failed
