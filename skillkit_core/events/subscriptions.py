"""Subscriptions: plugin implementations and session handlers, compiled into one tuple per event."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload
from weakref import WeakSet

from ..errors import SkillKitError, UsageError, in_words
from ..fields import is_number
from ..hookspecs.markers import EXTRAS, Phase
from ..messages import StopReason
from .types import EVENTS, Event, event_type

if TYPE_CHECKING:
    from ..host.manager import Host


PHASES: Mapping[str, int] = {"rewrite": 0, "first": 1, "normal": 2, "last": 3, "guard": 4}
GUARD = PHASES["guard"]
OBSERVER = 5
INTERCEPTOR_SECONDS = 30.0
GUARD_SECONDS = 60.0
SHUTDOWN_SECONDS = 5.0
HandlerFunction: TypeAlias = Callable[..., Any]


class GuardFailed(SkillKitError):
    """A handler in phase ``guard`` failed, so that the guarded action must not happen."""

    def __init__(self, record: HandlerRecord, event: str, error: BaseException) -> None:
        super().__init__(f"guard {record.label} failed on {event}: {in_words(error)}")
        self.record = record


@dataclass(slots=True, eq=False)
class HandlerRecord:
    """One handler, ready to be called.

    Attributes:
        plugin: plugin that implements or added the handler, ``None`` for the application.
        hook: ``event`` for an implementation of that hook, ``None`` for one of the event's own hook.
        while_: topics, one of which must be armed; empty: the handler always counts.
        filtered: whether :meth:`wants` may say no.
    """

    function: HandlerFunction
    takes_ctx: bool
    is_async: bool
    phase: int
    timeout: float | None
    plugin: str | None = None
    tools: frozenset[str] | None = None
    only: Callable[[Any], bool] | None = None
    hook: str | None = None
    while_: frozenset[str] = frozenset()
    alive: bool = True
    filtered: bool = field(init=False)

    def __post_init__(self) -> None:
        self.live(self.alive)

    def live(self, alive: bool) -> None:
        """Let the handler be called, or not any more."""
        self.alive = alive
        self.filtered = not alive or self.phase == OBSERVER or self.tools is not None or self.only is not None

    @property
    def label(self) -> str:
        """The handler in the words of an error."""
        name = getattr(self.function, "__qualname__", None) or repr(self.function)
        return f"{name!r} of plugin {self.plugin!r}" if self.plugin else f"{name!r}"

    def wants(self, event: Any) -> bool:
        """Return whether the handler may answer the event: it is no observer, and neither removed nor filtered out."""
        if not self.alive or self.phase == OBSERVER:
            return False
        if self.tools is not None and getattr(event, "tool_name", None) not in self.tools:
            return False
        return self.only is None or self.only(event)


def _is_async(function: HandlerFunction) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _takes_ctx(function: HandlerFunction) -> bool:
    if not callable(function):
        raise UsageError(f"handler {function!r} is not callable")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # a builtin without a signature
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if rest and len(required) <= 2 and not named:
        return True
    if not positional or len(required) > 2 or named:
        raise UsageError(f"handler {function!r} must take (event) or (event, ctx)")
    return len(required) == 2 or (len(positional) >= 2 and positional[1].name == "ctx")


def from_impl(impl: Any, event: type[Event], *, observes: bool = False) -> HandlerRecord:
    """Return the record of a plugin's lifecycle hook. ``observes`` is true for the hook ``event``, which only observes."""
    extras = getattr(impl.function, EXTRAS, None) or {}
    phase = extras.get("phase") or ("first" if impl.tryfirst else "last" if impl.trylast else "normal")
    names = tuple(impl.argnames)
    function = impl.function
    if names not in (("event",), ("event", "ctx")):
        inner = function

        def function(event: Any, ctx: Any) -> Any:
            given = {"event": event, "ctx": ctx}
            return inner(**{n: given[n] for n in names})

        function.__qualname__ = getattr(inner, "__qualname__", "handler")
    timeout = extras.get("timeout")
    return HandlerRecord(
        function, names != ("event",), _is_async(impl.function), OBSERVER if observes else PHASES[phase],
        timeout if timeout is not None else _default_timeout(event, phase), impl.plugin_name, _names(extras.get("tools")),
        hook="event" if observes else None, while_=_names(extras.get("while_")) or frozenset(),
    )  # fmt: skip


def from_function(
    function: HandlerFunction,
    event: type[Event],
    phase: str | None,
    tools: Iterable[str] | None = None,
    timeout: float | None = None,
    *,
    answers_only: bool = False,
) -> HandlerRecord:
    """Return the record of a session handler. ``phase=None`` means an observer, which comes last and cannot answer."""
    return HandlerRecord(
        function, _takes_ctx(function), _is_async(function), OBSERVER if phase is None else PHASES[phase],
        timeout if timeout is not None else _default_timeout(event, phase or "last"), tools=_names(tools),
        only=_is_response if answers_only else None,
    )  # fmt: skip


def _names(given: Iterable[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    return frozenset((given,) if isinstance(given, str) else given)


def _default_timeout(event: type[Event], phase: str) -> float:
    if event.type == "session_shutdown":
        return SHUTDOWN_SECONDS
    guards = phase == "guard" or event.guard == "always"
    return GUARD_SECONDS if guards else INTERCEPTOR_SECONDS


def _is_response(event: Any) -> bool:
    message = event.message
    if getattr(message, "role", "") != "assistant" or message.tool_calls:
        return False
    return message.stop_reason not in (StopReason.aborted, StopReason.error)  # a failed model call is no answer


H = TypeVar("H", bound=HandlerFunction)
Unsubscribe: TypeAlias = Callable[[], None]
Probe: TypeAlias = Callable[[HandlerRecord, Any, Callable[[], Any]], Any]
_Impls: TypeAlias = Mapping[str, Mapping[Any, HandlerRecord]]
_Table: TypeAlias = dict[str, tuple[HandlerRecord, ...]]


class Subscriptions:
    """The handlers of one agent: those of the host's plugins, those that were added, and those of the parent.

    ``table`` holds the handlers by event, in the order in which they are called, without events that have no handler;
    ``armed`` the topics of :meth:`arm`.
    """

    def __init__(self, host: Host | None = None) -> None:
        self.probe: Probe | None = None
        self._host = host
        self._lock = threading.RLock()
        self._handlers: dict[str, list[HandlerRecord]] = {}
        self._observers: dict[str, list[HandlerRecord]] = {}
        self._impls: _Impls = {}
        self.parent: Subscriptions | None = None
        self.agent_path: tuple[str, ...] = ("main",)
        self._children: WeakSet[Subscriptions] | None = None
        self.armed: frozenset[str] = frozenset()
        self.table: _Table = {}

    @property
    def known(self) -> Mapping[str, type[Event]]:
        """Every event that may be emitted, by name: the core's, and those that plugins of the host define."""
        return EVENTS if self._host is None else self._host.load().events

    def has(self, event: str) -> bool:
        """Return whether the event of this (canonical) name has handlers."""
        return event in self.table

    def has_say(self, event: str) -> bool:
        """Return whether the event has handlers that may answer, not only observers."""
        return any(record.phase != OBSERVER for record in self.table.get(event, ()))

    def all_sync(self, event: str) -> bool:
        """Return whether every handler of the event is a plain function."""
        return not any(r.is_async for r in self.table.get(event, ()))

    @overload
    def on(
        self, event: str | type[Event], handler: None = None, *, phase: Phase = ..., tools: Iterable[str] | None = ...,
        timeout: float | None = ...,
    ) -> Callable[[H], H]: ...  # fmt: skip
    @overload
    def on(
        self, event: str | type[Event], handler: HandlerFunction, *, phase: Phase = ..., tools: Iterable[str] | None = ...,
        timeout: float | None = ...,
    ) -> Unsubscribe: ...  # fmt: skip
    def on(
        self,
        event: str | type[Event],
        handler: HandlerFunction | None = None,
        *,
        phase: Phase = "normal",
        tools: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Add a handler, with the decorator ``@bus.on("input")`` or the call ``bus.on("input", handler)``.

        Args:
            event: an event's name, its alias (``tool_call``, ``tool_result``, ``context``, ``response``) or its class.
            handler: takes ``(event)`` or ``(event, ctx)``, sync or async.
            phase: ``rewrite < first < normal < last < guard``. A guard that fails blocks the guarded action.
            tools: names of the tools whose events the handler gets.
            timeout: seconds, counted once the handler suspends; default 30, guards 60, shutdown 5.

        Returns: for a handler, an idempotent function that removes the handler; else the decorator.

        Raises:
            UnknownName: there is no such event.
            UsageError: the phase is unknown, the timeout is no number, or the handler cannot take an event.
        """
        if handler is None:

            def decorate(function: H) -> H:
                self.on(event, function, phase=phase, tools=tools, timeout=timeout)
                return function

            return decorate
        cls = event_type(event, known=self.known)
        if phase not in PHASES:
            raise UsageError(f"unknown phase {phase!r}", hint=f"one of {', '.join(PHASES)}")
        if timeout is not None and not is_number(timeout):
            raise UsageError(f"timeout is {timeout!r}; it must be a number of seconds")
        record = from_function(handler, cls, phase, tools, timeout, answers_only=event == "response")
        return self._add(self._handlers, {cls.type: record})

    def observe(self, handler: HandlerFunction, events: Iterable[str | type[Event]] | None = None) -> Unsubscribe:
        """Add an observer of ``events`` (default: all), and return a function that removes the observer.

        Observers cannot answer. They come last and see the final form of an event, also when a handler stopped the others or a
        guard failed.
        """
        known = self.known
        wanted = known.values() if events is None else {event_type(e, known=known) for e in events}
        return self._add(self._observers, {cls.type: from_function(handler, cls, None) for cls in wanted})

    def _add(self, added: dict[str, list[HandlerRecord]], records: Mapping[str, HandlerRecord]) -> Unsubscribe:
        """Add the record of each event to ``added``, in the name of the plugin whose code is running."""
        plugin = None if self._host is None else self._host.load().acting()
        with self._lock:
            for name, record in records.items():
                record.plugin = plugin
                added.setdefault(name, []).append(record)
            self._compile(*records)

        def unsubscribe() -> None:
            with self._lock:
                for name, record in records.items():
                    if record.alive:
                        record.live(False)
                        added[name].remove(record)
                self._compile(*records)

        return unsubscribe

    def on_tool_call(self, handler: HandlerFunction) -> Unsubscribe:
        """Call ``on("before_tool_call", handler)``. The handler takes a :class:`ToolCallEvent`."""
        return self.on("before_tool_call", handler)

    def on_tool_result(self, handler: HandlerFunction) -> Unsubscribe:
        """Call ``on("after_tool_result", handler)``. The handler takes a :class:`ToolResultEvent`."""
        return self.on("after_tool_result", handler)

    def on_streaming(self, handler: HandlerFunction) -> Unsubscribe:
        """Call ``on("message_update", handler)``. The handler takes a :class:`MessageUpdateEvent`."""
        return self.on("message_update", handler)

    def on_response(self, handler: HandlerFunction) -> Unsubscribe:
        """Call ``on("response", handler)``. The handler takes the :class:`MessageEndEvent` of an answer without tool calls."""
        return self.on("response", handler)

    def on_tool_output(self, handler: HandlerFunction) -> Unsubscribe:
        """Call ``on("tool_execution_update", handler)``. The handler takes a :class:`ToolExecutionUpdateEvent`."""
        return self.on("tool_execution_update", handler)

    def arm(self, *topics: str) -> None:
        """Call from now on the plugins' handlers that wait for one of these topics (``hookimpl(while_=...)``); ``"*"``: all."""
        if not self.armed.issuperset(topics):
            self._arm(self.armed.union(topics))

    def disarm(self, *topics: str) -> None:
        """Call the handlers that wait for these topics no longer."""
        self._arm(self.armed.difference(topics))

    def _arm(self, topics: frozenset[str]) -> None:
        with self._lock:
            self.armed = topics
            names = [name for name, impls in self._impls.items() if any(r.while_ for r in impls.values())]
            self._compile(*names)

    def _live(self, name: str) -> list[HandlerRecord]:
        """Return the records of plugins, without those that wait for a topic that is not armed."""
        records, armed = self._impls.get(name, {}).values(), self.armed
        return [r for r in records if not r.while_ or "*" in armed or not armed.isdisjoint(r.while_)]

    def refresh(self) -> None:
        """Read the handlers of the host's plugins again, after a plugin came or went."""
        if self._host is None:
            return
        shared: tuple[_Impls, _Table] | None = self._host.handler_records
        if shared is None:  # all buses of the host share the records of a set of plugins
            observers = self._host.impls("event")
            found: dict[str, dict[Any, HandlerRecord]] = {}
            for name, cls in self.known.items():
                impls = {impl: from_impl(impl, cls) for impl in self._host.impls(name)}
                impls |= {impl: from_impl(impl, cls, observes=True) for impl in observers}
                for record in impls.values():
                    if any(topic[:8] == "setting:" and self._host.config.raw(topic[8:]) for topic in record.while_):
                        record.while_ = frozenset()
                if impls:
                    found[name] = impls
            always = {name: [r for r in impls.values() if not r.while_] for name, impls in found.items()}
            shared = self._host.handler_records = (found, {n: _in_turn(r) for n, r in always.items() if r})
        records, table = shared
        with self._lock:
            for name, old in self._impls.items():
                for impl, record in old.items():
                    # A running emit must not call a removed handler.
                    record.live(impl in records.get(name, {}))
            self._impls, self.table = records, table
            if self._handlers or self._observers or self.armed or self.parent is not None or self._children:
                self._compile(*self.known)

    def forget(self, plugin: str) -> None:
        """Remove every handler and observer that code of ``plugin`` added."""
        with self._lock:
            for added in (self._handlers, self._observers):
                for name, records in added.items():
                    for record in [r for r in records if r.plugin == plugin]:
                        record.live(False)
                        records.remove(record)
                        self._compile(name)

    def inherit(self, parent: Subscriptions | None, agent_path: tuple[str, ...]) -> None:
        """Call the parent's guards and observers too, until another ``parent`` or ``None`` is set.

        These are every handler of ``before_tool_call``, every handler in phase ``guard``, and every observer, also those that the
        parent gets later. In a phase they come after the plugins and before the handlers of this bus.
        """
        if self.parent is not None and self.parent._children is not None:
            self.parent._children.discard(self)
        old, self.parent, self.agent_path = self.parent, parent, agent_path
        if parent is not None:
            if parent._children is None:
                parent._children = WeakSet()
            parent._children.add(self)
            self.probe = self.probe or parent.probe
        elif old is not None and self.probe is old.probe:
            self.probe = None
        with self._lock:
            self._compile(*self.known)

    def _inherited(self, name: str, own: Iterable[HandlerRecord]) -> list[HandlerRecord]:
        """Return the parent's records that this bus calls, without those of the same plugins, which ``own`` holds."""
        if self.parent is None:
            return []
        known = set(own)
        cls = self.known.get(name)
        every = cls is not None and cls.guard == "always"
        records = self.parent.table.get(name, ())
        return [r for r in records if r not in known and (every or r.phase >= GUARD)]

    def _compile(self, *names: str) -> None:
        table = dict(self.table)  # a copy, because agents share tables
        for name in names:
            plugins = self._live(name)
            records = _in_turn([*plugins, *self._inherited(name, plugins), *self._handlers.get(name, ())])
            records += tuple(self._observers.get(name, ()))
            if records:
                table[name] = records
            else:
                table.pop(name, None)
        self.table = table
        for child in list(self._children or ()):
            with child._lock:
                child._compile(*names)


def _in_turn(records: Iterable[HandlerRecord]) -> tuple[HandlerRecord, ...]:
    """Return ``records`` by phase, in a phase in the given order: plugins before session handlers."""
    return tuple(sorted(records, key=lambda r: r.phase))
