"""At most one run of an agent at a time: started, streamed, aborted and settled here; the agent is held between runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from ..errors import AgentBusy, AgentError, ReentrancyError, SkillKitError, in_words, interrupts
from ..events.types import AgentSettledEvent
from ..host.plugins import check_required
from ..stream import StreamEvent
from .containment import Carried, as_failure, carried, reason_of, seen
from .input import QueueItem, Receipt
from .nesting import enter, leave
from .part import Part
from .response import AgentResponse
from .run import Run

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Scheduler", "Work", "ended"]

log = logging.getLogger("skillkit.agent")
Work: TypeAlias = Callable[[Run], Coroutine[Any, Any, None]]


class Held(NamedTuple):
    """Something that happens to the conversation while no run may begin."""

    what: str
    task: asyncio.Task[Any] | None
    over: asyncio.Future[None]


class Scheduler(Part):
    """Holds the active run of an agent and whatever outlives it: callbacks for its end, tasks that did not stop in time."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self.run: Run | None = None
        self.closed = False
        self._held: Held | None = None
        self._task: asyncio.Task[None] | None = None  # of the last run
        self._starting = threading.Lock()
        self._count = 0
        self._idle: list[Callable[[], Any]] = []  # from any thread
        self._abandoned: tuple[asyncio.Task[Any], ...] = ()

    async def alone(self, what: str, work: Work) -> AgentResponse:
        """Drive a run to its end and give its response, or raise its failure."""
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
        """The one generator behind everything that runs: the run's events as they arrive, then its response or error."""
        if self.run is not None:
            self.refuse_reentry(what)
            await self._let_go()
        run = self._start(what, work, streaming=streaming)
        assert run.task is not None
        finished = False
        try:
            while events := await run.arrived():  # none but the end, unless streaming
                yield events
            try:
                await asyncio.shield(run.task)
            except Carried as carrying:
                raise carrying.error from None  # the user interrupts whoever waits for the run
            finished = True
            failure = run.failure()
            yield failure if failure is not None else run.response()
        finally:
            if not finished:
                self.abort(run, "the caller stopped listening", clear=False)  # nobody would get what is queued
                await self._wait_closed(run)

    def _start(self, what: str, work: Work, *, streaming: bool = False, began_by: Receipt | None = None) -> Run:
        """Take the slot for a new run and let it begin; raises as :meth:`require_idle` and :func:`check_required`."""
        agent = self._agent
        check_required(agent.host)
        with self._starting:  # threads with loops of their own may try at the same time
            self.require_idle(what)
            self._count += 1
            parent = agent.nesting.begin()
            run = Run(
                agent,
                f"r{self._count}",
                streaming=streaming,
                parent=parent,
                began_by=began_by,
                listens=what != "compact",
            )
            self.run = run
            agent.events.begin_run(run.id, run.loop)
            driven = self._drive(run, work)
            if began_by is None:  # somebody waits for it
                driven = carried(driven)
            self._task = run.drive(driven, f"skillkit run {run.id}")
            if began_by is None:
                self._task.add_done_callback(seen)
        return run

    def begin_waiting(self) -> None:
        """Begin a run for a message that asks for one and waits, if nothing else goes on; on the loop of the agent."""
        run, loop = self.run, self._agent.events.loop
        home = run.loop if run is not None else loop if loop is not None and loop.is_running() else None
        if home is None or home is asyncio.get_running_loop():
            self._begin_waiting(self._agent)
            return
        try:
            home.call_soon_threadsafe(self._begin_later, self._agent)  # until then nobody else may hold it
        except RuntimeError:  # it was closed a moment ago
            self._begin_waiting(self._agent)

    def _begin_waiting(self, agent: AgentRunner) -> None:
        receipt = agent.queues.wanting()
        if receipt is None or self.run is not None or self._held is not None or self.closed:
            return  # what is going on looks here when it ends
        receipt.want_run(False)
        try:
            self._start("steer", agent.run_waiting, began_by=receipt)
        except AgentBusy:
            receipt.want_run(True)  # another thread was faster; its run takes the message, or what comes after it
        except SkillKitError as error:
            receipt.fail(error)
            raise

    def _begin_later(self, agent: AgentRunner) -> None:
        """Do as :meth:`_begin_waiting`; an error is logged, and reaches whoever waits for the response."""
        try:
            self._begin_waiting(agent)
        except SkillKitError as error:
            log.warning("a message could not begin a run: %s", error)

    async def _let_go(self) -> None:
        """Let a run end whose listener has left: a loop that was broken out of is closed at the next turn of the loop."""
        await asyncio.sleep(0)
        if self.run is not None and self.run.signal.aborted:
            await self._wait_closed(self.run)

    async def _wait_closed(self, run: Run) -> None:
        """Wait until an aborted run is consistent; a caller that is cancelled meanwhile is so when it is."""
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
        """The task of a run."""
        token = enter(run)
        unlink = self._follow(run)
        run.begin()
        try:
            if run.signal.aborted:  # before the first step
                raise asyncio.CancelledError
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
            run.conclude("failed", run.reason, as_failure(error, run.task))  # the caller gets it as the run's failure
        finally:
            run.close()
            failure = run.failure()
            if failure is not None:
                run.push(StreamEvent("error", error=failure))  # the loop has said it already, if it got that far
            try:
                await self._settled(run, failure)
            finally:
                unlink()
                leave(token)
            await self._call_idle()
        self._begin_later(run.agent)
        if self._task is run.task:
            self._task = None  # it leads back here

    def _follow(self, run: Run) -> Callable[[], None]:
        """Abort ``run`` when its parent is aborted; return a function that ends that."""
        if run.parent is None:
            return lambda: None
        above = run.parent.run.signal
        return above.add_callback(lambda: self.abort(run, above.reason))

    async def _settled(self, run: Run, failure: AgentError | None) -> None:
        """Emit ``agent_settled``, and let go of the run."""
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
        """Give the response to whoever waits for it."""
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
            except Exception as error:  # noqa: BLE001 - the run is over; what comes after it cannot change its outcome
                await self._agent.complain("when_idle", in_words(error))

    async def wait_end(self, run: Run) -> None:
        """Wait for the end of ``run``."""
        if run.task is not None:
            self.refuse_reentry("wait_idle")
            await ended(run.task)

    def require_idle(self, what: str) -> None:
        """Refuse what cannot be done while a run is active.

        Raises:
            ReentrancyError: the caller is part of the run.
            AgentBusy: there is a run, or something else happens to the conversation.
            AgentError: the agent is closed.
        """
        if self.run is not None or self._held is not None:
            self.refuse_reentry(what)
        self.require_free()
        if self.run is not None:
            raise AgentBusy("a run is active", hint='use delivery="steer" or "follow_up", or wait_idle()')

    def require_free(self) -> None:
        """Refuse what is said to an agent that cannot hear it, whether or not a run is active.

        Raises:
            AgentError: the agent is closed.
            AgentBusy: something else happens to the conversation.
        """
        if self.closed:
            raise AgentError("the agent is closed")
        held = self._held
        if held is not None:
            raise AgentBusy(f"{held.what} is going on", hint="await it first")

    def refuse_reentry(self, what: str) -> None:
        """Raise :class:`ReentrancyError` where a handler or a tool of the run would wait for the run's own end."""
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
        """Whether the active run will still look into its queues."""
        run = self.run
        return run is not None and run.listens and not run.closing and not run.signal.aborted

    @contextlib.asynccontextmanager
    async def hold(self, what: str) -> AsyncIterator[None]:
        """Keep runs away while something else happens to the conversation; raises as :meth:`require_idle`."""
        self.require_idle(what)
        held = self._held = Held(what, asyncio.current_task(), asyncio.get_running_loop().create_future())
        try:
            yield
        finally:
            self._held = None
            held.over.set_result(None)
            self._begin_later(self._agent)

    def close(self) -> None:
        """Begin no run any more."""
        self.closed = True

    async def wait_free(self) -> None:
        """Wait until nothing is held."""
        while self._held is not None:
            await ended(self._held.over)

    def abort(self, run: Run | None, reason: str | None, *, clear: bool = True) -> list[QueueItem]:
        """End ``run`` if it is the active one; with ``clear`` what waited for it and was not consumed is taken out and given."""
        if run is None or run is not self.run or run.closing or run.signal.aborted:
            return []
        if not run.signal.abort(reason):
            return []  # another thread was faster
        items = self._agent.queues.clear() if clear else []

        def cancel() -> None:
            if run.task is None or run.closing or run.task.done() or run.task.cancelling():
                return
            self._agent.events.end_by(run.loop.time() + run.abort_grace)
            if run.begun:  # else its first step sees the signal; a task that never began could not say how it ended
                run.task.cancel()
                run.loop.call_later(run.abort_grace, insist)

        def insist() -> None:
            """A handler has swallowed the cancellation: this time it is not asked."""
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
        """Wait until no run is active, nor one that a waiting message begins when it is over."""
        self.refuse_reentry("wait_idle")
        while (task := self._busy()) is not None:
            await ended(task)

    def _busy(self) -> asyncio.Task[None] | None:
        """The task of the active run, or the one that begins another one when it is over."""
        pending = self._agent.queues.wanting() is not None and not self.closed
        task = self.run.task if self.run is not None else self._task if pending else None
        return None if task is None or task.done() or task is asyncio.current_task() else task

    def when_idle(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` after the active run, or soon when nothing runs."""
        if self.run is not None:
            self._idle.append(callback)
        else:
            answer = callback()
            if asyncio.iscoroutine(answer):
                self._keep(asyncio.ensure_future(answer))

    def abandon(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Keep tasks that did not end in time from being lost."""
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
        """Cancel what outlived its run and wait for it, at most ``seconds``."""
        left = self._abandoned
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=seconds)


async def ended(future: asyncio.Future[Any]) -> None:
    """Wait until a task or future is done, also one of another thread's loop; what came of it is not looked at."""
    here, there = asyncio.get_running_loop(), future.get_loop()
    if there is here:
        await asyncio.wait([future])
        return
    over: asyncio.Future[None] = here.create_future()

    def settle() -> None:
        if not over.done():
            over.set_result(None)

    def tell(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # nobody waits any more
            here.call_soon_threadsafe(settle)

    try:
        there.call_soon_threadsafe(future.add_done_callback, tell)
    except RuntimeError:  # closed: nothing goes on there
        return
    await over
