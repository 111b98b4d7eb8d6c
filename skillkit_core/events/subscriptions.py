"""Who listens: plugin implementations and session handlers, compiled into one tuple per event."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload
from weakref import WeakSet

from ..errors import UsageError
from ..fields import is_number
from ..hookspecs.markers import Phase
from .handlers import GUARD, OBSERVER, PHASES, HandlerRecord, from_function, from_impl
from .types import EVENTS, Event, event_type

if TYPE_CHECKING:
    from ..host.manager import Host

__all__ = ["HandlerFunction", "Probe", "Subscriptions", "Unsubscribe"]

HandlerFunction: TypeAlias = Callable[..., Any]
H = TypeVar("H", bound=HandlerFunction)
Unsubscribe: TypeAlias = Callable[[], None]
Probe: TypeAlias = Callable[[HandlerRecord, Any, Callable[[], Any]], Any]
_Impls: TypeAlias = Mapping[str, Mapping[Any, HandlerRecord]]
_Table: TypeAlias = dict[str, tuple[HandlerRecord, ...]]


class Subscriptions:
    """The handlers of one agent: those of the host's plugins, those that were added here, and those of the run above.

    ``table`` has them by event, in the order in which they are called; events that nobody listens to are not in it.
    """

    def __init__(self, host: Host | None = None) -> None:
        self.probe: Probe | None = None
        self._host = host
        self._lock = threading.RLock()
        self._handlers: dict[str, list[HandlerRecord]] = {}
        self._observers: dict[str, list[HandlerRecord]] = {}
        self._impls: _Impls = {}
        self.above: Subscriptions | None = None
        self._below: WeakSet[Subscriptions] | None = None
        self.table: _Table = {}

    def has(self, event: str) -> bool:
        """Whether anybody listens to the event of this (canonical) name."""
        return event in self.table

    def has_say(self, event: str) -> bool:
        """Whether anybody listens to the event who may answer, and does not only look."""
        return any(record.phase != OBSERVER for record in self.table.get(event, ()))

    def all_sync(self, event: str) -> bool:
        """Whether every handler of the event is a plain function."""
        return not any(r.is_async for r in self.table.get(event, ()))

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
            UnknownName: no such event. UsageError: no such phase, a timeout that is no number, or the handler cannot take an
                event.
        """
        if handler is None:

            def decorate(function: H) -> H:
                self.on(event, function, phase=phase, tools=tools, timeout=timeout)
                return function

            return decorate
        name = event_type(event).type
        if phase not in PHASES:
            raise UsageError(f"unknown phase {phase!r}", hint=f"one of {', '.join(PHASES)}")
        if timeout is not None and not is_number(timeout):
            raise UsageError(f"timeout is {timeout!r}; it must be a number of seconds")
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

    def inherit(self, above: Subscriptions | None) -> None:
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


def _in_turn(records: Iterable[HandlerRecord]) -> tuple[HandlerRecord, ...]:
    """``records`` by phase; in a phase as they come: plugins before session handlers, each in their own order."""
    return tuple(sorted(records, key=lambda r: r.phase))
