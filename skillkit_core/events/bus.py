"""The dispatcher: calls the handlers of an event one after the other, and folds their answers into one."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from inspect import isawaitable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import AsyncHandlerError, EventRecursionError, HandlerTimeout, UsageError, in_words
from ..frozen import freeze
from .context import HandlerContext
from .results import NO_ANSWER, EventResult, Fold
from .subscriptions import GUARD, OBSERVER, GuardFailed, HandlerRecord, Subscriptions
from .tool_call import decide
from .trampoline import Step, drive, idle_steps, wait
from .types import ALIASES, Event, HandlerErrorEvent, event_type

if TYPE_CHECKING:
    from ..host.manager import Host


MAX_DEPTH = 8
SLOW_SECONDS = 0.05
HELD_SECONDS = 1.0
"""A handler that takes so long is named, also without debug mode."""
LAST_SECONDS = 0.1  # time for a handler after the deadline of an abort

log = logging.getLogger("skillkit.events")
E = TypeVar("E", bound=Event)
_depth: contextvars.ContextVar[int] = contextvars.ContextVar("skillkit_event_depth", default=0)
_in_sync: contextvars.ContextVar[bool] = contextvars.ContextVar("skillkit_emit_sync", default=False)


class EventBus(Subscriptions):
    """Dispatches the events of one agent to plugins and to handlers that were added to the bus.

    Args:
        host: host whose plugins take part; ``None``: only handlers that are added to the bus.
        context: the ``ctx`` of handlers.
        clock: returns ``ts``.

    ``has(name)`` returns whether an event has handlers: test that before building an event in a hot place.

    ``probe(record, event, call)``, for tracers and tests, stands between the bus and every handler while it is set. A probe
    returns what ``call()`` returns, an answer or an awaitable of one. Where :meth:`in_sync` holds, a probe must not turn a
    plain answer into an awaitable.
    """

    def __init__(
        self, host: Host | None = None, *, context: HandlerContext | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(host)
        self.context = context or HandlerContext()
        self.session_id: str | None = None
        self.run_id: str | None = None
        self.clock = clock
        self._redact = host.redact if host is not None else None
        self.debug = False
        self._seq = itertools.count(1)
        self._reports: list[asyncio.Task[None]] = []
        self.deadline: float | None = None  # after an abort: time of the loop by which handlers must end
        self.loop: asyncio.AbstractEventLoop | None = None
        if host is not None:
            host.attach(self)
            self.refresh()

    def make(self, cls: type[E], **values: Any) -> E:
        """Return an event of this bus, with session, run, agent path, sequence number and time filled in."""
        return cls(
            session_id=self.session_id, run_id=self.run_id, agent_path=self.agent_path, seq=next(self._seq), ts=self.clock(),
            _redact=self._redact, **values,
        )  # fmt: skip

    def run_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run handlers on this loop from now on, also those of events that another thread emits."""
        self.loop = loop

    def begin_run(self, run_id: str, loop: asyncio.AbstractEventLoop) -> None:
        """Give events the id of this run from now on. ``loop`` owns the bus."""
        self.run_id, self.loop = run_id, loop

    def end_by(self, deadline: float | None) -> None:
        """Make handlers end by this time of the loop, because the run was aborted."""
        self.deadline = deadline

    def end_run(self) -> None:
        """Give events no run from now on."""
        self.run_id = self.deadline = None

    def open_session(self, session_id: str) -> None:
        """Give events the id of this session from now on."""
        self.session_id = session_id

    async def fire(self, cls: type[Event], **values: Any) -> EventResult:
        """Emit an event of class ``cls`` with the fields ``values`` if it has handlers. Return and raise as :meth:`emit` does.

        Ask :meth:`has` first only where a value costs something to compute.
        """
        records = self.table.get(cls.type)
        return NO_ANSWER if records is None else await self.emit(self.make(cls, **values))

    def _build(self, event: Event | str, data: Any) -> Event:
        if isinstance(event, Event):
            return event
        if event in ALIASES:
            raise UsageError(f"{event!r} is an alias", hint=f"emit {ALIASES[event]!r}")
        values = dict(data) if isinstance(data, Mapping) else {} if data is None else {"data": data}
        values = {k: freeze(v) if isinstance(v, (dict, list)) else v for k, v in values.items()}
        cls = event_type(event, aliases=False, known=self.known)
        try:
            return self.make(cls, **values)
        except TypeError as error:
            raise UsageError(f"event {event!r}: {error}") from None

    async def emit(self, event: Event | str, data: Any = None) -> EventResult:
        """Call the handlers of an event one after the other, and return their answers as one.

        ``emit(name, data)`` builds the event from the mapping first. A handler that is added meanwhile is not called, nor one
        that is removed before its turn.

        Raises:
            GuardFailed: a handler in phase ``guard`` failed, and the event has guards.
            EventRecursionError: handlers emit more than eight levels deep.
        """
        given: Any = self._build(event, data) if type(event) is str else event
        records = self.table.get(given.type)
        if records is None:
            return NO_ANSWER
        depth = _depth.get()
        # The report of this error must pass.
        if depth >= MAX_DEPTH and given.type != "handler_error":
            raise EventRecursionError(f"{given.type!r} was emitted from handlers more than {MAX_DEPTH} levels deep")
        token = _depth.set(depth + 1)
        try:
            if given.guard == "always":
                return await decide(self, given, records)
            try:
                step = idle_steps.pop()
            except IndexError:
                step = Step()
            work = self._run(given, records, step)
            found = step.send(work)
            if found is NO_ANSWER or isinstance(found, EventResult):
                step.handler = None
                idle_steps.append(step)
                return found
            return await wait(work, found, step, self)  # type: ignore[no-any-return]
        finally:
            _depth.reset(token)

    async def _run(self, event: Any, records: tuple[HandlerRecord, ...], step: Step) -> EventResult:
        fold: Fold | None = None
        refusal: GuardFailed | None = None
        watched = self.debug or self.probe is not None
        try:
            for record in records:
                if record.filtered and not record.wants(event):
                    continue
                try:
                    if watched:
                        answer = self._watched(record, event)
                    else:
                        started = time.monotonic()
                        answer = record.function(event, self.context) if record.takes_ctx else record.function(event)
                        if time.monotonic() - started > HELD_SECONDS:
                            self._held(record, event, time.monotonic() - started)
                    if answer is None:
                        continue
                    if type(answer) is CoroutineType or (not isinstance(answer, EventResult) and isawaitable(answer)):
                        step.handler = record
                        answer = await answer
                        if step.late is not None:
                            raise step.late
                        if not watched and (seconds := time.monotonic() - started) > HELD_SECONDS:
                            self._held(record, event, seconds)
                        if answer is None:
                            continue
                    self.check_answer(event, answer)
                    if fold is None:
                        fold = Fold(event)
                    surplus = fold.add(answer)
                    event = fold.event
                    if surplus:
                        step.handler = None
                        await self.failed(record, event, UsageError(f"another handler gave {surplus!r} first"))
                    if fold.stopped:
                        break
                except BaseException as error:
                    error = step.error(error)
                    if not isinstance(error, Exception):
                        raise error
                    await self.failed(record, event, error)
                    if event.guard and record.phase == GUARD:
                        refusal = GuardFailed(record, event.type, error)
                        refusal.__cause__ = error
                        break
        except BaseException:
            self.tell(event, records)
            raise
        if records[-1].phase == OBSERVER:
            step.handler = None
            await self.observed(event, records)
        if refusal is not None:
            raise refusal
        return NO_ANSWER if fold is None else fold.result()

    def _watched(self, record: HandlerRecord, event: Any) -> Any:
        """Call a handler through the probe, or in debug mode, which warns of a handler that holds the loop."""
        probe = self.probe
        if probe is not None:
            return probe(record, event, lambda: self._plain(record, event))
        started = time.perf_counter()
        answer = self._plain(record, event)
        seconds = time.perf_counter() - started
        if seconds > SLOW_SECONDS:
            log.warning("handler %s held the loop for %.0f ms on %s", record.label, seconds * 1000, event.type)
        return answer

    @staticmethod
    def _held(record: HandlerRecord, event: Any, seconds: float) -> None:
        log.warning("%s took %.1f s on %s, and the run waited for it", record.label, seconds, event.type)

    def limit(self, timeout: float | None) -> float | None:
        """Return the seconds that a handler may take, after an abort at most the time that is left."""
        if self.deadline is None:
            return timeout
        left = max(LAST_SECONDS, self.deadline - asyncio.get_running_loop().time())
        return left if timeout is None else min(left, timeout)

    def overdue(self) -> bool:
        """Return whether the deadline of an abort has passed."""
        return self.deadline is not None and asyncio.get_running_loop().time() >= self.deadline

    async def call(self, record: HandlerRecord, event: Any) -> Any:
        """Call one handler and check the type of its answer. Errors of the handler pass."""
        started = time.perf_counter()
        watched = self.debug or self.probe is not None
        answer = self._watched(record, event) if watched else self._plain(record, event)
        if (seconds := time.perf_counter() - started) > HELD_SECONDS and not watched:
            self._held(record, event, seconds)
        if record.timeout is not None and seconds > record.timeout:
            # A plain function cannot be interrupted.
            raise HandlerTimeout(f"it did not finish within {record.timeout:g} s")
        if answer is not None and (type(answer) is CoroutineType or isawaitable(answer)):
            answer = await drive(answer, record.timeout, self)
        if answer is not None and record.phase != OBSERVER:
            self.check_answer(event, answer)
        return answer

    def _plain(self, record: HandlerRecord, event: Any) -> Any:
        return record.function(event, self.context) if record.takes_ctx else record.function(event)

    async def observed(self, event: Any, records: tuple[HandlerRecord, ...]) -> None:
        """Show an event to the observers, and ignore what they return."""
        for place, record in enumerate(records):
            if record.phase != OBSERVER or not record.alive:
                continue
            try:
                await self.call(record, event)
            except Exception as error:  # noqa: BLE001 - reported (spec, section 4)
                await self.failed(record, event, error)
            except BaseException:
                self.tell(event, records[place + 1 :])
                raise

    def tell(self, event: Any, records: tuple[HandlerRecord, ...]) -> None:
        """Show an event whose handling was cut off to the sync observers, so that they see an end for every start."""
        for record in records:
            if record.phase == OBSERVER and record.alive and not record.is_async:
                try:
                    self._plain(record, event)
                except Exception as error:  # noqa: BLE001 - no event can be emitted in the middle of a cancellation
                    log.warning("handler %s failed on %s: %r", record.label, event.type, error)

    @staticmethod
    def check_answer(event: Any, answer: Any) -> None:
        """Raise ``TypeError`` or ``ValueError`` when a handler of the event may not return ``answer``."""
        wanted, given = event.answer, type(answer).__name__
        if wanted is None:
            raise TypeError(f"{event.type!r} is only observed, the handler returned {given}")
        if not isinstance(answer, wanted):
            raise TypeError(f"{event.type!r} wants {wanted.__name__} or None, the handler returned {given}")
        answer.check(event)

    async def failed(self, record: HandlerRecord, event: Any, error: BaseException) -> None:
        """Report a handler's failure once."""
        trace = "".join(traceback.format_exception(error))
        log.debug("handler %s failed on %s\n%s", record.label, event.type, trace)
        if event.type == "handler_error" or not self.has("handler_error"):
            log.warning("handler %s failed on %s: %s", record.label, event.type, in_words(error))
            return
        facts = {"event": event.type, "source": record.label, "plugin": record.plugin, "traceback": trace}
        problem = self.make(HandlerErrorEvent, error=in_words(error), **facts)
        if _in_sync.get() and not self.all_sync("handler_error"):
            report = asyncio.get_running_loop().create_task(self._report(problem))
            self._reports.append(report)
            report.add_done_callback(self._reports.remove)
        else:
            await self.emit(problem)

    async def complain(self, event: str, message: str) -> None:
        """Report that an answer to ``event`` could not be used, although no handler failed."""
        if self.has("handler_error"):
            await self.fire(HandlerErrorEvent, event=event, source="loop", error=message)
        else:
            log.warning("%s: %s", event, message)

    async def _report(self, problem: HandlerErrorEvent) -> None:
        _in_sync.set(False)
        await self.emit(problem)

    def emit_sync(self, event: Event | str, data: Any = None) -> EventResult:
        """Emit from code that is not async.

        Raises:
            AsyncHandlerError: a loop is running in this thread, and the event has an async handler.
        """
        event = self._build(event, data) if isinstance(event, str) else event
        records = self.table.get(event.type)
        if records is None:
            return NO_ANSWER
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.emit(event))
        if any(r.is_async for r in records):
            names = ", ".join(r.label for r in records if r.is_async)
            raise AsyncHandlerError(f"{event.type!r} has async handlers ({names})", hint="await emit() instead")
        work = self.emit(event)
        token = _in_sync.set(True)
        try:
            work.send(None)
        except StopIteration as stop:
            found: EventResult = stop.value
            return found
        finally:
            _in_sync.reset(token)
            work.close()
        raise AsyncHandlerError(f"a sync handler of {event.type!r} returned an awaitable", hint="await emit() instead")

    def emit_threadsafe(self, event: Event | str, data: Any = None) -> Any:
        """Emit from another thread, on the loop that owns this bus, and return a ``concurrent.futures.Future``."""
        if self.loop is None or self.loop.is_closed():
            raise UsageError("the event bus has no running loop yet")
        return asyncio.run_coroutine_threadsafe(self.emit(event, data), self.loop)

    @staticmethod
    def in_sync() -> bool:
        """Return whether this code runs inside :meth:`emit_sync`, where nothing can be awaited."""
        return _in_sync.get()
