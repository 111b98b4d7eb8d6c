"""One run: its signal, its books, its stream of events for whoever listens, and the limits it must keep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..abort import AbortSignal
from ..containment import Carried, carried
from ..errors import AgentError, RunAborted, SkillKitError
from ..events.types import UsageEvent
from ..frozen import freeze
from ..messages import AgentMessage, AssistantMessage, StopReason, ToolResultMessage
from ..models import TokenUsage
from ..stream import MessageBuilder, StreamEvent
from .nesting import Place, chain, count_above
from .response import AgentResponse, RunOutcome
from .target import Target

if TYPE_CHECKING:
    from .input import Receipt
    from .runner import AgentRunner
    from .tool_batch import ToolBatch

__all__ = ["LimitReached", "Run"]

Purpose: TypeAlias = Literal["turn", "compaction", "tool"]


def _nothing() -> None:
    pass


class LimitReached(Exception):
    """A limit of the run forbids another request; the text says which."""


class Run:
    """The state of one run. Created by the runner, driven by :func:`~skillkit_core.agent.loop.run_loop`."""

    def __init__(self, agent: AgentRunner, run_id: str, *, streaming: bool) -> None:
        self.agent = agent
        self.id = run_id
        self.signal = AbortSignal()
        self.loop = asyncio.get_running_loop()
        self.tasks: set[asyncio.Task[None]] = set()
        self.task: asyncio.Task[None] | None = None
        self.target: Target | None = None
        self.builder: MessageBuilder | None = None
        self.system_prompt = ""
        self.usage = TokenUsage()
        self.cost: float | None = 0.0
        self.turns = self.requests = self.tool_calls = 0
        self.messages: list[AgentMessage] = []
        self.outcome: RunOutcome = "completed"
        self.reason = ""
        self.error: Exception | None = None
        self.content = ""
        self.stop_reason: StopReason | None = None
        self.begun = self.started = self.closing = False
        self.in_turn = False
        self.answer: AssistantMessage | None = None  # of the current turn, once it is kept
        self.results: list[ToolResultMessage] = []
        self.batch: ToolBatch | None = None  # of the current answer
        self.bracket: Literal["none", "open", "closed"] = "none"  # message_start and message_end of the answer
        self.unaccounted: dict[MessageBuilder, Purpose] = {}  # requests that are not in the ledger yet
        self.refusal: Exception | None = None  # a guard failed while the adapter was about to send
        self.compacted_for_overflow = False
        self.listens = True  # whether it looks into the queues
        self.began_by: Receipt | None = None  # of the message that it was begun for
        self.receipts: list[Receipt] = []  # of what it has said
        self.scratch: dict[str, Any] = agent.scratch
        self.above: Place | None = None  # the run that this one is a part of
        self.nested = 0  # agents that were put below this run
        self.announced: str | None = None  # the id of the message that message_end has told of, until it is kept
        self.interrupt: BaseException | None = None  # what a task beside the run raised, on its way to whoever waits
        self.unlink: Callable[[], None] = _nothing  # stop listening to the signal of the run above
        self._streaming = streaming
        self._events: list[StreamEvent] = []
        self._patience = self.BURST
        self._wake: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._ended = self._closed = False

    # --- the stream -------------------------------------------------------------------------------------------

    MAX_WAITING = 10_000  # stream events; with more the run waits for its consumer
    BURST = 128  # stream events between two turns of the consumer

    def push(self, event: StreamEvent) -> bool:
        """Hand a stream event to whoever iterates the run; nothing follows the first terminal one.

        Returns:
            Whether it is the consumer's turn: call :meth:`breathe`.
        """
        if not self._streaming or self._closed:
            return False
        kind = event.type  # once for every delta: comparing is cheaper than asking event.terminal
        self._closed = kind == "done" or kind == "error"
        self._events.append(event)
        if self._wake is not None:
            self._awaken()
        return len(self._events) > self._patience

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self._ended

    @property
    def outermost(self) -> Run:
        """The run that no other run started: this one, or the last one above it."""
        return next(run for run in chain(self) if run.above is None)

    @property
    def abort_grace(self) -> float:
        """Seconds that tools get after an abort: a nested run must be done before the run above it stops waiting."""
        own = self.agent.config.abort_grace
        return own if self.above is None else min(own, 0.8 * self.above.run.abort_grace)

    async def breathe(self) -> None:
        """Let the consumer have its turn, and wait for it when it is far behind."""
        await asyncio.sleep(0)
        while len(self._events) > self.MAX_WAITING and not self.signal.aborted:
            self._drained = self.loop.create_future()
            await self._drained
        self._patience = min(len(self._events) + self.BURST, self.MAX_WAITING)

    def end(self) -> None:
        """No event follows."""
        self._ended = True
        self.batch = None  # it leads back here
        self._awaken()

    def _awaken(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
        self._wake = None

    async def arrived(self) -> Sequence[StreamEvent]:
        """The next stream events, in order, none lost; waits for one. Empty when the run is over."""
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

    async def checkpoint(self) -> None:
        """End here if the run was aborted: what nobody suspends in does not go on for that.

        ``abort()`` cancels the task of the run; the cancellation arrives when something suspends, and a handler may have
        swallowed it.
        """
        if self.signal.aborted:
            await asyncio.sleep(0)
            self.closing = True
            raise asyncio.CancelledError

    def own(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Do ``work()`` beside the run; what interrupts it interrupts the run."""

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

    # --- the books --------------------------------------------------------------------------------------------

    def add(self, usage: TokenUsage, cost: float | None) -> None:
        """Add to the sums that the limits look at; a cost of ``None`` is unknown, and makes the sum unknown."""
        self.usage = self.usage + usage
        if usage.total:
            self.cost = None if cost is None or self.cost is None else self.cost + cost

    async def account_for(self, request: MessageBuilder, error: str | None = None) -> None:
        """Write a request that is in ``unaccounted`` into the books, with what is known of its usage."""
        error = error if error is not None or request.error is None else str(request.error)
        await self.account(request.usage or TokenUsage(), self.unaccounted[request], error, request)

    async def account_for_aborted(self) -> None:
        """Write the requests that were cut off, if any were, into the books."""
        for request in tuple(self.unaccounted):
            await self.account_for(request, "aborted")

    async def account(
        self, usage: TokenUsage, purpose: Purpose, error: str | None = None, request: MessageBuilder | None = None
    ) -> None:
        """Write what was used into the session's ledger and the sums of this run and those above it."""
        agent, target, session = self.agent, self.target, self.agent.open_session
        cost = target.model.cost_of(usage) if target is not None else None
        provider = target.provider if target is not None else ""
        model = target.model.id if target is not None else ""
        data = {k: v for k, v in usage.to_dict().items() if v and k != "total"}
        data |= {"provider": provider, "model": model, "purpose": purpose}
        if cost is not None:
            data["cost"] = cost
        if usage.raw:
            data["raw"] = usage.raw
        if error is not None:
            data["error"] = error
        entry = freeze(data)
        cut: BaseException | None = None
        try:
            if session is not None:
                await session.append("usage", entry)
        except BaseException as error:  # noqa: BLE001 - it passes when the books above are right, too
            cut = error
        if session is None or session.holds(entry):  # what was written before an abort counts, and is not written again
            if request is not None:
                del self.unaccounted[request]
            self.add(usage, cost)
            if self.above is not None:
                await count_above(self, usage, cost, data)
        if cut is not None:
            raise cut
        if agent.events.has("usage"):
            await agent.events.emit(
                agent.events.make(UsageEvent, usage=usage, cost=cost, provider=provider, model=model, purpose=purpose)
            )

    def limit_reached(self) -> str | None:
        """Which limit forbids another request, in words, or ``None``."""
        limits = self.agent.config.limits
        checks = (
            (limits.turns, self.turns, "turns"),
            (limits.requests, self.requests, "requests"),
            (limits.tool_calls, self.tool_calls, "tool calls"),
            (limits.tokens, self.usage.total, "tokens"),
            (limits.cost, self.cost or 0.0, "US dollars"),
        )
        for bound, used, unit in checks:
            if bound is not None and used >= bound:
                return f"the limit of {bound:g} {unit} is reached"
        if self.above is not None:
            reached = self.above.run.budget_reached()
            return f"{reached} in the run that this one is a part of" if reached is not None else None
        return None

    def budget_reached(self) -> str | None:
        """Which budget of this run or of one above it is used up, in words, or ``None``; nested runs count against it."""
        for run in chain(self):
            limits = run.agent.config.limits
            for bound, used, unit in (
                (limits.tokens, run.usage.total, "tokens"),
                (limits.cost, run.cost or 0.0, "US dollars"),
            ):
                if bound is not None and used >= bound:
                    return f"the limit of {bound:g} {unit} is reached"
        return None

    def require_room(self) -> None:
        """Raise :class:`LimitReached` when a limit forbids another request."""
        reached = self.limit_reached()
        if reached is not None:
            raise LimitReached(reached)

    # --- the end ----------------------------------------------------------------------------------------------

    def response(self) -> AgentResponse:
        """What the run gave so far."""
        return AgentResponse(
            content=self.content,
            usage=self.usage,
            messages=tuple(self.messages),
            outcome=self.outcome,
            session_id=self.agent.session_id,
            run_id=self.id,
            stop_reason=self.stop_reason,
            cost=self.cost,
            reason=self.reason,
        )

    def failure(self) -> AgentError | None:
        """The error that ``chat`` raises, ``None`` when the run did not fail."""
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
