"""The one dispatcher: plugin implementations and session handlers, compiled per event, awaited in order."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import itertools
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload
from weakref import WeakSet

from ..containment import Escaped, call_contained, in_words
from ..errors import AsyncHandlerError, EventRecursionError, HandlerTimeout, UsageError
from ..frozen import freeze
from ..hookspecs.markers import Phase
from .context import HandlerContext
from .drive import drive, drive_on
from .fold import NO_ANSWER, Fold
from .handlers import GUARD, OBSERVER, PHASES, GuardFailed, HandlerRecord, from_function, from_impl
from .results import EventResult
from .tool_call import decide
from .types import ALIASES, EVENTS, Event, HandlerErrorEvent, event_type

if TYPE_CHECKING:
    from ..host.manager import Host

__all__ = ["EventBus", "GuardFailed", "HandlerRecord"]

MAX_DEPTH = 8
SLOW_SECONDS = 0.05
LAST_SECONDS = 0.1  # that a handler gets after the deadline of an abort

log = logging.getLogger("skillkit.events")
HandlerFunction: TypeAlias = Callable[..., Any]
H = TypeVar("H", bound=HandlerFunction)
E = TypeVar("E", bound=Event)
Unsubscribe: TypeAlias = Callable[[], None]
Probe: TypeAlias = Callable[[HandlerRecord, Any, Callable[[], Any]], Any]
_Impls: TypeAlias = Mapping[str, Mapping[Any, HandlerRecord]]
_Table: TypeAlias = dict[str, tuple[HandlerRecord, ...]]
_depth: contextvars.ContextVar[int] = contextvars.ContextVar("skillkit_event_depth", default=0)
_in_sync: contextvars.ContextVar[bool] = contextvars.ContextVar("skillkit_emit_sync", default=False)


class EventBus:
    """Dispatches the events of one agent to plugins and to handlers that were added here.

    Args:
        host: whose plugins take part; ``None``: only the handlers that are added here.
        context: what handlers get as ``ctx``.
        clock: gives ``ts``.

    ``has(name)`` tells whether anybody listens: test it before building an event in a hot place.

    ``probe(record, event, call)`` stands between the bus and every handler while it is set: it gives what ``call()``
    gives, an answer or an awaitable of one. For tracers and tests; where :meth:`in_sync` holds, it must not make an
    awaitable of a plain answer.
    """

    def __init__(
        self,
        host: Host | None = None,
        *,
        context: HandlerContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.context = context or HandlerContext()
        self.session_id: str | None = None
        self.run_id: str | None = None
        self.agent_path: tuple[str, ...] = ("main",)
        self.clock = clock
        self.debug = False
        self.probe: Probe | None = None
        self._host = host
        self._seq = itertools.count(1)
        self._lock = threading.RLock()
        self._handlers: dict[str, list[HandlerRecord]] = {}
        self._observers: dict[str, list[HandlerRecord]] = {}
        self._impls: _Impls = {}
        self._reports: list[asyncio.Task[None]] = []
        self.deadline: float | None = None  # the loop's time until which handlers may take since an abort
        self.above: EventBus | None = None
        self._below: WeakSet[EventBus] | None = None
        self.table: _Table = {}
        self.loop: asyncio.AbstractEventLoop | None = None
        if host is not None:
            host.attach(self)
            self.refresh()

    # --- who listens ------------------------------------------------------------------------------------------

    def has(self, event: str) -> bool:
        """Whether anybody listens to the event of this (canonical) name."""
        return event in self.table

    def has_say(self, event: str) -> bool:
        """Whether anybody listens to the event who may answer, and does not only look."""
        return any(record.phase != OBSERVER for record in self.table.get(event, ()))

    @overload
    def on(
        self,
        event: str | type[Event],
        handler: None = None,
        *,
        phase: Phase = ...,
        tools: Iterable[str] | None = ...,
        timeout: float | None = ...,
    ) -> Callable[[H], H]: ...
    @overload
    def on(
        self,
        event: str | type[Event],
        handler: HandlerFunction,
        *,
        phase: Phase = ...,
        tools: Iterable[str] | None = ...,
        timeout: float | None = ...,
    ) -> Unsubscribe: ...
    def on(
        self,
        event: str | type[Event],
        handler: HandlerFunction | None = None,
        *,
        phase: Phase = "normal",
        tools: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Add a handler; as ``@bus.on("input")`` a decorator, as ``bus.on("input", handler)`` a call.

        Args:
            event: an event's name, an alias (``tool_call``, ``tool_result``, ``context``, ``response``) or its class.
            handler: takes ``(event)`` or ``(event, ctx)``, sync or async.
            phase: ``rewrite < first < normal < last < guard``; a guard that fails blocks what it guards.
            tools: only for these tools (events of tools).
            timeout: seconds, counted once the handler suspends; default 30, guards 60, shutdown 5.

        Returns: given a handler, an idempotent function that removes it; else the decorator, which returns the
        function unchanged.

        Raises:
            UnknownName: no such event. UsageError: no such phase, or the handler cannot take an event.
        """
        if handler is None:

            def decorate(function: H) -> H:
                self.on(event, function, phase=phase, tools=tools, timeout=timeout)
                return function

            return decorate
        name = event_type(event).type
        if phase not in PHASES:
            raise UsageError(f"unknown phase {phase!r}", hint=f"one of {', '.join(PHASES)}")
        record = from_function(handler, name, phase, tools, timeout, answers_only=event == "response")
        with self._lock:
            self._handlers.setdefault(name, []).append(record)
            self._compile(name)

        def unsubscribe() -> None:
            with self._lock:
                if record.alive:
                    record.alive = False
                    self._handlers[name].remove(record)
                    self._compile(name)

        return unsubscribe

    def observe(self, handler: HandlerFunction, events: Iterable[str | type[Event]] | None = None) -> Unsubscribe:
        """See events without a say, after everybody else; default: all of them. Returns a function to remove it.

        Observers see the final form of an event, also when a handler stopped the others or a guard failed.
        """
        names = tuple(EVENTS) if events is None else tuple({event_type(e).type for e in events})
        records = {name: from_function(handler, name, None) for name in names}
        with self._lock:
            for name, record in records.items():
                self._observers.setdefault(name, []).append(record)
            self._compile(*names)

        def unsubscribe() -> None:
            with self._lock:
                for name, record in records.items():
                    if record.alive:
                        record.alive = False
                        self._observers[name].remove(record)
                self._compile(*names)

        return unsubscribe

    def on_tool_call(self, handler: HandlerFunction) -> Unsubscribe:
        """``on("before_tool_call", handler)``: takes a :class:`ToolCallEvent`."""
        return self.on("before_tool_call", handler)

    def on_tool_result(self, handler: HandlerFunction) -> Unsubscribe:
        """``on("after_tool_result", handler)``: takes a :class:`ToolResultEvent`."""
        return self.on("after_tool_result", handler)

    def on_streaming(self, handler: HandlerFunction) -> Unsubscribe:
        """``on("message_update", handler)``: takes a :class:`MessageUpdateEvent`."""
        return self.on("message_update", handler)

    def on_response(self, handler: HandlerFunction) -> Unsubscribe:
        """``on("response", handler)``: takes the :class:`MessageEndEvent` of an answer without tool calls."""
        return self.on("response", handler)

    def on_tool_output(self, handler: HandlerFunction) -> Unsubscribe:
        """``on("tool_execution_update", handler)``: takes a :class:`ToolExecutionUpdateEvent`."""
        return self.on("tool_execution_update", handler)

    def refresh(self) -> None:
        """Take up the plugins of the host again, after one came or went."""
        if self._host is None:
            return
        shared: tuple[_Impls, _Table] | None = self._host.handler_records
        if shared is None:  # made once for a set of plugins, shared by all buses of the host
            self._host.load()  # plugins may bring events
            found = {name: {impl: from_impl(impl, name) for impl in self._host.impls(name)} for name in EVENTS}
            found = {name: impls for name, impls in found.items() if impls}
            shared = self._host.handler_records = (found, {name: _in_turn(i.values()) for name, i in found.items()})
        records, table = shared
        with self._lock:
            for name, old in self._impls.items():
                for impl, record in old.items():
                    record.alive = impl in records.get(name, {})  # an emit that goes on must not call what is gone
            self._impls, self.table = records, table
            if self._handlers or self._observers or self.above is not None or self._below:
                self._compile(*EVENTS)

    def inherit(self, above: EventBus | None) -> None:
        """Take part in the guards and observers of the bus of the run above, for as long as it is set.

        That is every handler of ``before_tool_call``, every handler in phase ``guard``, and whoever observes; also those that
        come or go there later. In a phase they come after the plugins and before the handlers of this bus.
        """
        if self.above is not None and self.above._below is not None:
            self.above._below.discard(self)
        old, self.above = self.above, above
        if above is not None:
            if above._below is None:
                above._below = WeakSet()
            above._below.add(self)
            self.probe = self.probe or above.probe
        elif old is not None and self.probe is old.probe:
            self.probe = None
        with self._lock:
            self._compile(*EVENTS)

    def _inherited(self, name: str, own: Iterable[HandlerRecord]) -> list[HandlerRecord]:
        """The records of the buses above that count here, too; the same plugins' are here already."""
        if self.above is None:
            return []
        known = set(own)
        cls = EVENTS.get(name)
        every = cls is not None and cls.guard == "always"
        records = self.above.table.get(name, ())
        return [r for r in records if r not in known and (every or r.phase >= GUARD)]

    def _compile(self, *names: str) -> None:
        table = dict(self.table)  # never the one that agents share
        for name in names:
            plugins = self._impls.get(name, {}).values()
            records = _in_turn([*plugins, *self._inherited(name, plugins), *self._handlers.get(name, ())])
            records += tuple(self._observers.get(name, ()))
            if records:
                table[name] = records
            else:
                table.pop(name, None)
        self.table = table
        for below in list(self._below or ()):
            with below._lock:
                below._compile(*names)

    # --- emitting ---------------------------------------------------------------------------------------------

    def make(self, cls: type[E], **values: Any) -> E:
        """An event of this bus: session, run, agent path, sequence number and time are filled in."""
        return cls(
            session_id=self.session_id,
            run_id=self.run_id,
            agent_path=self.agent_path,
            seq=next(self._seq),
            ts=self.clock(),
            **values,
        )

    def _build(self, event: Event | str, data: Any) -> Event:
        if isinstance(event, Event):
            return event
        if event in ALIASES:
            raise UsageError(f"{event!r} is an alias", hint=f"emit {ALIASES[event]!r}")
        values = dict(data) if isinstance(data, Mapping) else {} if data is None else {"data": data}
        values = {k: freeze(v) if isinstance(v, (dict, list)) else v for k, v in values.items()}
        cls = event_type(event, aliases=False)
        try:
            return self.make(cls, **values)
        except TypeError as error:
            raise UsageError(f"event {event!r}: {error}") from None

    async def emit(self, event: Event | str, data: Any = None) -> EventResult:
        """Call everybody who listens, one after the other, and give back their answers as one.

        ``emit(name, data)`` builds the event from the mapping first. Works on a snapshot: a handler added meanwhile is
        not called, one removed before its turn neither.

        Raises:
            GuardFailed: a handler in phase ``guard`` failed and the event says that this counts.
            EventRecursionError: handlers emit more than eight levels deep.
        """
        if type(event) is str:
            event = self._build(event, data)
        records = self.table.get(event.type)  # type: ignore[union-attr]
        if records is None:
            return NO_ANSWER
        return await self._dispatch(event, records)

    async def _dispatch(self, event: Any, records: tuple[HandlerRecord, ...]) -> EventResult:
        depth = _depth.get()
        if depth >= MAX_DEPTH and event.type != "handler_error":  # the report of this very error must get through
            raise EventRecursionError(f"{event.type!r} was emitted from handlers more than {MAX_DEPTH} levels deep")
        token = _depth.set(depth + 1)
        try:
            if event.guard == "always":
                return await decide(self, event, records)
            return await self._run(event, records)
        finally:
            _depth.reset(token)

    async def _run(self, event: Any, records: tuple[HandlerRecord, ...]) -> EventResult:
        fold: Fold | None = None
        refusal: GuardFailed | None = None
        watched = self.debug or self.probe is not None
        try:
            for record in records:
                if record.phase == OBSERVER:
                    break
                if not record.alive or (record.filtered and not record.wants(event)):
                    continue
                try:
                    if watched:
                        answer = self._watched(record, event)
                    else:
                        try:
                            answer = (
                                record.function(event, self.context) if record.takes_ctx else record.function(event)
                            )
                        except GeneratorExit as error:
                            raise Escaped(error) from error
                    if answer is None:
                        continue
                    if type(answer) is CoroutineType:
                        try:  # the first step by hand: most handlers have no second one, and this is what they cost
                            pending = answer.send(None)
                        except StopIteration as stop:
                            answer = stop.value
                        except GeneratorExit as error:
                            raise Escaped(error) from error
                        else:
                            answer = await drive_on(answer, pending, self._limit(record.timeout), self._overdue)
                    elif not isinstance(answer, EventResult):
                        answer = await self._await(answer, record)
                    if answer is None:
                        continue
                    self.check_answer(event, answer)
                    if fold is None:
                        fold = Fold(event)
                    surplus = fold.add(answer)
                    event = fold.event
                    if surplus:
                        await self.failed(record, event, UsageError(f"another handler gave {surplus!r} first"))
                    if fold.stopped:
                        break
                except Exception as error:  # noqa: BLE001 - discarded and reported (spec, section 4)
                    await self.failed(record, event, error)
                    if event.guard and record.phase == GUARD:
                        refusal = GuardFailed(record, event.type, error)
                        refusal.__cause__ = error
                        break
        except BaseException:
            self.tell(event, records)
            raise
        if records[-1].phase == OBSERVER:
            await self.observed(event, records)
        if refusal is not None:
            raise refusal
        return NO_ANSWER if fold is None else fold.result()

    def _watched(self, record: HandlerRecord, event: Any) -> Any:
        """Call a handler through the probe, or in debug mode, where what keeps the loop from its work is said."""
        probe = self.probe
        if probe is not None:
            return probe(record, event, lambda: self._plain(record, event))
        started = time.perf_counter()
        answer = self._plain(record, event)
        seconds = time.perf_counter() - started
        if seconds > SLOW_SECONDS:
            log.warning("handler %s held the loop for %.0f ms on %s", record.label, seconds * 1000, event.type)
        return answer

    async def _await(self, answer: Any, record: HandlerRecord) -> Any:
        if not inspect.isawaitable(answer):
            return answer
        return await drive(answer, self._limit(record.timeout), self._overdue)

    def _limit(self, timeout: float | None) -> float | None:
        """Seconds that a handler may take, also in what an abort leaves."""
        if self.deadline is None:
            return timeout
        left = max(LAST_SECONDS, self.deadline - asyncio.get_running_loop().time())
        return left if timeout is None else min(left, timeout)

    def _overdue(self) -> bool:
        """Whether the time is over that an abort leaves to handlers."""
        return self.deadline is not None and asyncio.get_running_loop().time() >= self.deadline

    async def call(self, record: HandlerRecord, event: Any) -> Any:
        """Call one handler and check the type of its answer; whatever it raises passes."""
        started = time.perf_counter()
        watched = self.debug or self.probe is not None
        answer = self._watched(record, event) if watched else self._plain(record, event)
        if record.timeout is not None and time.perf_counter() - started > record.timeout:
            raise HandlerTimeout(f"it did not finish within {record.timeout:g} s")  # nothing could interrupt it
        if answer is not None and not isinstance(answer, EventResult):
            answer = await self._await(answer, record)
        if answer is not None and record.phase != OBSERVER:
            self.check_answer(event, answer)
        return answer

    def _plain(self, record: HandlerRecord, event: Any) -> Any:
        if record.takes_ctx:
            return call_contained(record.function, event, self.context)
        return call_contained(record.function, event)

    async def observed(self, event: Any, records: tuple[HandlerRecord, ...]) -> None:
        """Show an event to those who only look; what they return does not matter."""
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
        """Show an event whose handling was cut off to the observers that need no waiting, so that brackets balance."""
        for record in records:
            if record.phase == OBSERVER and record.alive and not record.is_async:
                try:
                    self._plain(record, event)
                except Exception as error:  # noqa: BLE001 - nobody can be told in the middle of a cancellation
                    log.warning("handler %s failed on %s: %r", record.label, event.type, error)

    @staticmethod
    def check_answer(event: Any, answer: Any) -> None:
        """Raise ``TypeError`` or ``ValueError`` when ``answer`` is nothing that this event's handlers may return."""
        wanted = event.answer
        if wanted is None:
            raise TypeError(f"{event.type!r} is only observed, the handler returned {type(answer).__name__}")
        if not isinstance(answer, wanted):
            raise TypeError(
                f"{event.type!r} wants {wanted.__name__} or None, the handler returned {type(answer).__name__}"
            )
        answer.check(event)

    async def failed(self, record: HandlerRecord, event: Any, error: BaseException) -> None:
        """Report a handler's failure once."""
        trace = "".join(traceback.format_exception(error))
        log.debug("handler %s failed on %s\n%s", record.label, event.type, trace)
        if event.type == "handler_error" or not self.has("handler_error"):
            log.warning("handler %s failed on %s: %s", record.label, event.type, in_words(error))
            return
        problem = self.make(
            HandlerErrorEvent,
            event=event.type,
            source=record.label,
            plugin=record.plugin,
            error=in_words(error),
            traceback=trace,
        )
        if _in_sync.get() and not self.all_sync("handler_error"):
            report = asyncio.get_running_loop().create_task(self._report(problem))
            self._reports.append(report)
            report.add_done_callback(self._reports.remove)
        else:
            await self.emit(problem)

    async def _report(self, problem: HandlerErrorEvent) -> None:
        _in_sync.set(False)
        await self.emit(problem)

    def emit_sync(self, event: Event | str, data: Any = None) -> EventResult:
        """Emit from code that is not async.

        Raises:
            AsyncHandlerError: a loop is running here and an async handler listens; nothing was called.
        """
        event = self._build(event, data) if isinstance(event, str) else event
        records = self.table.get(event.type)
        if records is None:
            return NO_ANSWER
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._dispatch(event, records))
        if any(r.is_async for r in records):
            names = ", ".join(r.label for r in records if r.is_async)
            raise AsyncHandlerError(f"{event.type!r} has async handlers ({names})", hint="await emit() instead")
        work = self._dispatch(event, records)
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
        """Emit from another thread, on the loop that owns this bus. Returns a ``concurrent.futures.Future``."""
        if self.loop is None or self.loop.is_closed():
            raise UsageError("the event bus has no running loop yet")
        return asyncio.run_coroutine_threadsafe(self.emit(event, data), self.loop)

    @staticmethod
    def in_sync() -> bool:
        """Whether this code runs inside :meth:`emit_sync`, where nothing can be awaited."""
        return _in_sync.get()

    def all_sync(self, event: str) -> bool:
        """Whether every handler of the event is a plain function."""
        return not any(r.is_async for r in self.table.get(event, ()))


def _in_turn(records: Iterable[HandlerRecord]) -> tuple[HandlerRecord, ...]:
    """``records`` by phase; in a phase as they come: plugins before session handlers, each in their own order."""
    return tuple(sorted(records, key=lambda r: r.phase))
