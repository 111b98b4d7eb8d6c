"""The scheduler: starts, streams, aborts and settles at most one run of an agent at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from ..abort import AbortSignal
from ..errors import AgentBusy, AgentError, NoActiveRun, ReentrancyError, SkillKitError, in_words, interrupts
from ..events.types import AgentSettledEvent
from ..host.plugins import check_required
from ..messages import AgentMessage, AssistantMessage
from ..stream import StreamEvent
from .completion import complete
from .containment import Carried, as_failure, carried, reason_of, seen
from .input import QueueItem, Receipt
from .loop import run_loop
from .nesting import enter, leave
from .part import Part
from .response import AgentResponse
from .run import Run

if TYPE_CHECKING:
    from .runner import AgentRunner
    from .session import Session

__all__ = ["Scheduler", "Work", "ended"]

log = logging.getLogger("skillkit.agent")
Work: TypeAlias = Callable[[Run], Coroutine[Any, Any, None]]


class Held(NamedTuple):
    """An operation on the conversation, during which no run may begin."""

    what: str
    task: asyncio.Task[Any] | None
    over: asyncio.Future[None]


class Scheduler(Part):
    """Holds the active run of an agent, the callbacks for the end of the run, and tasks that outlive the run."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self.run: Run | None = None
        self.closed = False
        self._held: Held | None = None
        self._task: asyncio.Task[None] | None = None
        self._starting = threading.Lock()
        self._count = 0
        self._idle: list[Callable[[], Any]] = []
        self._abandoned: tuple[asyncio.Task[Any], ...] = ()

    @property
    def signal(self) -> AbortSignal:
        """The abort signal of the active run; without one a signal that nobody sets."""
        return self.run.signal if self.run is not None else AbortSignal()

    async def alone(self, what: str, work: Work) -> AgentResponse:
        """Drive a run to its end; return the response of the run, or raise its failure."""
        answer: AgentResponse | None = None
        failure: BaseException | None = None
        async with contextlib.aclosing(self.stream(what, work, streaming=False)) as items:
            async for item in items:
                if isinstance(item, AgentResponse):
                    answer = item
                elif isinstance(item, AgentError):
                    failure = item
        if failure is not None:
            raise failure
        assert answer is not None
        return answer

    async def stream(
        self, what: str, work: Work, *, streaming: bool
    ) -> AsyncGenerator[Sequence[StreamEvent] | AgentResponse | AgentError, None]:
        """Start a run; yield its events as they arrive, then its response or error. Every run with a caller uses this."""
        if self.run is not None:
            self.refuse_reentry(what)
            await self._let_go()
        run: Run | None = self._start(what, work, streaming=streaming)
        while run is not None:
            assert run.task is not None
            finished = False
            try:
                while events := await run.arrived():
                    yield events
                try:
                    await asyncio.shield(run.task)
                except Carried as carrying:
                    raise carrying.error from None
                finished = True
                failure = run.failure()
                yield failure if failure is not None else run.response()
            finally:
                if not finished:
                    # queued messages stay, because no caller would get the removed ones
                    self.abort(run, "the caller stopped listening", clear=False)
                    await self._wait_closed(run)
            run = run.next

    def _start(
        self,
        what: str,
        work: Work,
        *,
        streaming: bool = False,
        began_by: Receipt | None = None,
        before: Run | None = None,
    ) -> Run:
        """Create the active run and its task, or raise as :meth:`require_idle` and :func:`check_required`."""
        agent = self._agent
        check_required(agent.host)
        with self._starting:  # several threads may start a run at the same time
            self.require_idle(what)
            # a session that the run opens itself gives the run its id then
            session = agent.open_session
            self._count = self._count + 1 if session is None else session.next_run(self._count)
            parent = agent.nesting.begin()
            run = Run(
                agent, f"r{self._count}", streaming=streaming, parent=parent, began_by=began_by, listens=what != "compact",
                before=before,
            )  # fmt: skip
            self.run = run
            agent.events.begin_run(run.id, run.loop)
            driven = self._drive(run, work)
            # a caller awaits this task, and gets an interrupt from it
            if run.awaited:
                driven = carried(driven)
            self._task = run.drive(driven, f"skillkit run {run.id}")
            if run.awaited:
                self._task.add_done_callback(seen)
        return run

    def name_in(self, session: Session) -> None:
        """Give the active run an id that no run of ``session`` has had (I24); the session is opened now."""
        run = self.run
        if run is not None:
            self._count = session.next_run(self._count - 1)
            run.named(f"r{self._count}")
            self._agent.events.begin_run(run.id, run.loop)

    def begin_waiting(self) -> None:
        """Begin a run, on the loop of the agent, for a queued message that asks for a run, unless the agent is busy."""
        run, loop = self.run, self._agent.events.loop
        home = run.loop if run is not None else loop if loop is not None and loop.is_running() else None
        if home is None or home is asyncio.get_running_loop():
            self._begin_waiting(self._agent)
            return
        try:
            # the callback must hold the agent, which may have no other reference
            home.call_soon_threadsafe(self._begin_later, self._agent)
        except RuntimeError:  # the loop was closed in between
            self._begin_waiting(self._agent)

    def _begin_waiting(self, agent: AgentRunner) -> None:
        receipt = agent.queues.wanting()
        # the end of the active run or operation calls this again
        if receipt is None or self.run is not None or self._held is not None or self.closed:
            return
        receipt.want_run(False)
        try:
            self._start("steer", lambda run: run_loop(run, ()), began_by=receipt)
        except AgentBusy:
            receipt.want_run(True)  # another thread has started a run, which takes the message or begins its run
        except SkillKitError as error:
            receipt.fail(error)
            raise

    def _begin_later(self, agent: AgentRunner) -> None:
        """Call :meth:`_begin_waiting`, and log an error, which the receipt raises, too."""
        try:
            self._begin_waiting(agent)
        except SkillKitError as error:
            log.warning("a message could not begin a run: %s", error)

    async def _let_go(self) -> None:
        """Wait for a run whose consumer left: asyncio closes an abandoned generator at the next turn of the loop."""
        await asyncio.sleep(0)
        if self.run is not None and self.run.signal.aborted:
            await self._wait_closed(self.run)

    async def _wait_closed(self, run: Run) -> None:
        """Wait until an aborted run has ended; raise a cancellation of the caller only then."""
        assert run.task is not None
        passing: asyncio.CancelledError | None = None
        while not run.task.done():
            try:
                await ended(run.task)
            except asyncio.CancelledError as cancelled:
                passing = passing or cancelled
        if not run.task.cancelled() and isinstance(found := run.task.exception(), Carried):
            raise found.error
        if passing is not None:
            raise passing

    async def _drive(self, run: Run, work: Work) -> None:
        """Execute a run, from its start until the agent has settled."""
        token = enter(run)
        unlink = self._follow(run)
        run.begin()
        try:
            if run.signal.aborted:
                raise asyncio.CancelledError
            await run.open()
            await work(run)
        except asyncio.CancelledError:
            run.conclude("aborted", run.reason or run.signal.reason or "cancelled")
            if not run.signal.aborted:
                raise
        except BaseException as error:
            if interrupts(error):
                if not run.closing:
                    run.conclude("aborted", reason_of(error))
                raise
            run.conclude("failed", run.reason, as_failure(error, run.task))
        finally:
            run.close()
            failure = run.failure()
            if failure is not None:
                run.push(StreamEvent("error", error=failure))  # ignored when the loop has pushed the last event
            try:
                await self._settled(run, failure)
            finally:
                unlink()
                leave(token)
            await self._call_idle()
        if run.left[0]:
            self._go_on(run)
        self._begin_later(run.agent)
        # the task refers to the scheduler: keeping it would make a cycle
        if self._task is run.task:
            self._task = None

    def _go_on(self, run: Run) -> None:
        """Begin another run for the inputs that a run has left."""
        try:
            following = self._start("chat", lambda after: run_loop(after, ()), streaming=run.streaming, before=run)
        except SkillKitError as error:
            # a callback has begun something else, which sees the messages
            log.warning("no run could begin for a message that came in a run: %s", error)
            for receipt in run.left[1]:
                receipt.fail(error)
        else:
            run.continued_by(following)

    def _follow(self, run: Run) -> Callable[[], None]:
        """Abort ``run`` when its parent is aborted; return a function that ends the connection."""
        if run.parent is None:
            return lambda: None
        signal = run.parent.run.signal
        return signal.add_callback(lambda: self.abort(run, signal.reason))

    async def _settled(self, run: Run, failure: AgentError | None) -> None:
        """Emit ``agent_settled``, end the run, and resolve its receipts."""
        try:
            await run.bus.fire(AgentSettledEvent)
        finally:
            self.run = None
            run.bus.end_run()
            run.end()
            if run.parent is not None:
                run.agent.nesting.end()
            self._answer(run, failure)

    def _answer(self, run: Run, failure: AgentError | None) -> None:
        """Resolve the receipts of the run with its response or failure."""
        began = run.began_by
        for receipt in run.receipts:
            if failure is None:
                receipt.resolve(run.response())
            else:
                receipt.fail(failure)
        if began is None or failure is None:
            return
        began.fail(failure)
        if run.outcome == "failed" and not began.watched:
            log.warning("a run that a message began has failed: %s", failure)

    async def _call_idle(self) -> None:
        callbacks, self._idle = self._idle, []
        for callback in callbacks:
            try:
                answer = callback()
                if asyncio.iscoroutine(answer):
                    await answer
            except Exception as error:  # noqa: BLE001 - a callback cannot change the outcome of a run that is over
                await self._agent.events.complain("when_idle", in_words(error))

    async def complete(self, messages: Sequence[AgentMessage], **asked: Any) -> AssistantMessage:
        """Ask a model once for the active run, as :meth:`HandlerContext.complete` with the same arguments."""
        run = self.run
        if run is None or "session" not in vars(run):
            raise NoActiveRun("there is no run in whose books the request could stand", hint="use chat()")
        return await complete(run, messages, **asked)

    async def wait_end(self, run: Run) -> Run:
        """Wait for the end of ``run`` and of the runs that follow it; return the last, or raise :class:`ReentrancyError`."""
        self.refuse_reentry("wait_idle")
        following: Run | None = run
        while following is not None:
            run = following
            if run.task is not None:
                await ended(run.task)
            following = run.next
        return run

    def require_idle(self, what: str) -> None:
        """Raise unless the agent is idle.

        Raises:
            ReentrancyError: the caller is part of the run.
            AgentBusy: a run is active, or :meth:`hold` holds the agent.
            AgentError: the agent is closed.
        """
        if self.run is not None or self._held is not None:
            self.refuse_reentry(what)
        self.require_free()
        if self.run is not None:
            raise AgentBusy("a run is active", hint='use delivery="steer" or "follow_up", or wait_idle()')

    def require_free(self) -> None:
        """Raise unless the agent can take a message; a run may be active.

        Raises:
            AgentError: the agent is closed.
            AgentBusy: :meth:`hold` holds the agent.
        """
        if self.closed:
            raise AgentError("the agent is closed")
        held = self._held
        if held is not None:
            raise AgentBusy(f"{held.what} is going on", hint="await it first")

    def refuse_reentry(self, what: str) -> None:
        """Raise :class:`ReentrancyError` when a handler or a tool of the run would wait for the end of the run."""
        run, held = self.run, self._held
        if run is None and held is None:
            return
        with contextlib.suppress(RuntimeError):
            task = asyncio.current_task()
            if held is not None and task is held.task:
                raise ReentrancyError(f"{what} was called from a handler of {held.what}, which waits for it")
            if run is None:
                return
            if task is run.task or task in run.tasks:
                raise ReentrancyError(
                    f"{what} was called from a handler of the run it would wait for", hint="use ctx.when_idle()"
                )

    @property
    def steerable(self) -> bool:
        """True when a run is active that will still read the queues."""
        run = self.run
        return run is not None and run.listens and not run.closing and not run.signal.aborted

    @contextlib.asynccontextmanager
    async def hold(self, what: str) -> AsyncIterator[None]:
        """Let no run begin during an operation on the conversation; raise as :meth:`require_idle`."""
        self.require_idle(what)
        held = self._held = Held(what, asyncio.current_task(), asyncio.get_running_loop().create_future())
        try:
            yield
        finally:
            self._held = None
            held.over.set_result(None)
            self._begin_later(self._agent)

    def close(self) -> None:
        """Let no run begin any more."""
        self.closed = True

    async def wait_free(self) -> None:
        """Wait until :meth:`hold` holds the agent no more."""
        while self._held is not None:
            await ended(self._held.over)

    def abort(self, run: Run | None, reason: str | None, *, clear: bool = True) -> list[QueueItem]:
        """Abort ``run`` if it is active; with ``clear``, remove and return the messages that are queued for it."""
        if run is None or run is not self.run or run.closing or run.signal.aborted:
            return []
        if not run.signal.abort(reason):
            return []
        items = self._agent.queues.clear() if clear else []

        def cancel() -> None:
            if run.task is None or run.closing or run.task.done() or run.task.cancelling():
                return
            self._agent.events.end_by(run.loop.time() + run.abort_grace)
            # a task that is cancelled before its start never runs; _drive() reads the signal instead
            if run.begun:
                run.task.cancel()
                timer = run.loop.call_later(run.abort_grace, insist, context=Context())
                run.task.add_done_callback(lambda _: timer.cancel())  # it holds the run

        def insist() -> None:
            """Cancel once more, because a handler has swallowed the first cancellation."""
            if run.task is not None and not run.closing and not run.task.done():
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
        """Wait until no run is active and no queued message begins another run."""
        self.refuse_reentry("wait_idle")
        while (task := self._busy()) is not None:
            await ended(task)

    def _busy(self) -> asyncio.Task[None] | None:
        """Return the task of the active run, or the last task while it begins a run for a queued message."""
        pending = self._agent.queues.wanting() is not None and not self.closed
        task = self.run.task if self.run is not None else self._task if pending else None
        return None if task is None or task.done() or task is asyncio.current_task() else task

    def when_idle(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` after the active run, or at once when no run is active."""
        if self.run is not None:
            self._idle.append(callback)
        else:
            answer = callback()
            if asyncio.iscoroutine(answer):
                self._keep(asyncio.ensure_future(answer))

    def abandon(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Keep tasks that did not end in time, until they end or :meth:`cancel_abandoned` cancels them."""
        for task in tasks:
            log.warning("a tool or a handler did not end within the grace time; what it gives late will be dropped")
            self._keep(task)

    def _keep(self, task: asyncio.Future[Any]) -> None:
        kept = cast("asyncio.Task[Any]", task)
        self._abandoned = (*self._abandoned, kept)
        kept.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._abandoned = tuple(known for known in self._abandoned if known is not task)
        if not task.cancelled() and task.exception() is not None:
            log.warning("a task ended with an error after its run: %r", task.exception())

    async def cancel_abandoned(self, seconds: float) -> None:
        """Cancel the abandoned tasks, and wait for them at most ``seconds``."""
        left = self._abandoned
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=seconds)


async def ended(future: asyncio.Future[Any]) -> None:
    """Wait until a task or future is done, also one of another thread's loop; ignore its result and its error."""
    here, there = asyncio.get_running_loop(), future.get_loop()
    if there is here:
        await asyncio.wait([future])
        return
    over: asyncio.Future[None] = here.create_future()

    def settle() -> None:
        if not over.done():
            over.set_result(None)

    def tell(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the waiting loop was closed
            here.call_soon_threadsafe(settle)

    try:
        there.call_soon_threadsafe(future.add_done_callback, tell)
    except RuntimeError:  # the loop of the future was closed
        return
    await over
