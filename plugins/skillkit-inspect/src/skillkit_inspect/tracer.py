"""A tracer for every hook of one host: which plugin was called, what it answered and how long it took."""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core import PHASES, UNSET, EventResult

if TYPE_CHECKING:
    from skillkit_core import EventBus, HandlerErrorEvent, HandlerRecord, Host

__all__ = ["FAMILIES", "Family", "Traced", "Tracer", "hook_families", "label_of"]

Family = Literal["host", "registration", "resolution", "around", "lifecycle", "own"]
FAMILIES: tuple[Family, ...] = ("host", "registration", "resolution", "around", "lifecycle", "own")
SHOWN = 120
PHASE_NAMES = {number: name for name, number in PHASES.items()}


def hook_families() -> dict[str, Family]:
    """Return every hook of the core with its family, in the order of the reference.

    Hooks that plugins define are of the family ``own``, and not among these.
    """
    from skillkit_core.hookspecs import host, lifecycle, registration, resolution

    modules: tuple[tuple[Family, Any], ...] = (
        ("host", host),
        ("registration", registration),
        ("resolution", resolution),
        ("lifecycle", lifecycle),
    )
    return {
        name: "around" if name.startswith("wrap_") else family
        for family, module in modules
        for name, spec in vars(module).items()
        if isinstance(spec, FunctionType) and hasattr(spec, "skillkit_spec")
    }


@dataclass(slots=True)
class Traced:
    """One call of one implementation of a hook.

    Attributes:
        seq: The number of the event; for other hooks the position of the call.
        hook: The name of the hook.
        family: The kind of the hook.
        plugin: The plugin that registered the handler, ``None`` for a handler of the application.
        handler: The label of the handler.
        phase: The phase of a handler of a lifecycle hook, ``observer`` for an observer; empty for other hooks.
        seconds: The wall time until the answer, waiting included; for an around-hook without the time of ``call_next``.
        answer: The answer as short texts: the fields of a result, what was registered (by kind), what was resolved.
        error: Why the call failed.
        next_calls: How often an around-hook called ``call_next``.
        inner_seconds: How long ``call_next`` took.
        bypassed_by: The plugin that answered first, so that this implementation was not called.
    """

    seq: int
    hook: str
    family: Family
    plugin: str | None
    handler: str
    phase: str = ""
    seconds: float = 0.0
    answer: dict[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    next_calls: int | None = None
    inner_seconds: float = 0.0
    bypassed_by: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the call as JSON."""
        times = {"seconds": round(self.seconds, 6), "inner_seconds": round(self.inner_seconds, 6)}
        return {**dataclasses.asdict(self), **times}


class Tracer:
    """Record every call of a hook that a host, its agents and their buses make.

    A host that is not traced pays nothing. Secrets are left out of the answers. A tracer that is made before the host loads its
    plugins sees that, too.

    Attributes:
        calls: The calls in order, until :meth:`stop`.

    Raises:
        UsageError: The host is being watched already.
    """

    def __init__(self, host: Host) -> None:
        self.calls: list[Traced] = []
        self._host = host
        self._families = hook_families()
        self._buses: list[tuple[EventBus, Callable[[], None]]] = []
        self._off = host.watch(self)

    def stop(self) -> None:
        """Leave the host and its buses as they were."""
        self._off()
        for bus, unsubscribe in self._buses:
            bus.probe = None
            unsubscribe()
        self._buses.clear()

    # --- the probe of the host ----------------------------------------------------------------------------------

    def hook(self, hook: str, impl: Any, call: Callable[[], Any]) -> Any:
        """Call a host, registration or resolution hook and record it; see :meth:`skillkit_core.Host.watch`."""
        return self._timed(self._row(hook, impl), call, lambda row, value: self._answered(row, impl, value))

    def around(
        self,
        hook: str,
        impl: Any,
        call: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]],
        call_next: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Call an around-hook and record it."""
        row = self._row(hook, impl)
        row.next_calls = 0
        passing: list[BaseException] = []

        async def inner() -> Any:
            row.next_calls = (row.next_calls or 0) + 1
            started = time.perf_counter()
            try:
                return await call_next()
            except BaseException as error:
                passing.append(error)
                raise
            finally:
                row.inner_seconds += time.perf_counter() - started

        return self._around(row, lambda: call(inner), passing)

    async def _around(self, row: Traced, call: Callable[[], Awaitable[Any]], passing: list[BaseException]) -> Any:
        try:
            return await self._timed(row, call, lambda row, value: None)
        except BaseException as error:
            if any(error is known for known in passing):  # what it went around failed, and it let that pass
                row.answer["lets pass"], row.error = self._short(str(row.error)), None
            raise

    def bus(self, bus: EventBus) -> None:
        """Record the calls of handlers that ``bus`` makes."""
        bus.probe = self._event
        self._buses.append((bus, bus.observe(self._failed, ["handler_error"])))

    def _event(self, record: HandlerRecord, event: Any, call: Callable[[], Any]) -> Any:
        if record.function == self._failed:
            return call()
        phase = PHASE_NAMES.get(record.phase, "observer")
        hook = record.hook or event.type
        family = self._families.get(hook, "own")
        row = Traced(event.seq, hook, family, record.plugin, record.label, phase)
        self.calls.append(row)
        return self._timed(row, call, self._said)

    # --- the record ---------------------------------------------------------------------------------------------

    def _row(self, hook: str, impl: Any) -> Traced:
        family = self._families.get(hook, "own")
        row = Traced(len(self.calls) + 1, hook, family, impl.plugin_name, label_of(impl))
        self.calls.append(row)
        return row

    def _timed(self, row: Traced, call: Callable[[], Any], keep: Callable[[Traced, Any], None]) -> Any:
        started = time.perf_counter()
        try:
            answer = call()
        except BaseException as error:
            self._ended(row, started, error)
            raise
        if inspect.isawaitable(answer):
            return self._awaited(row, started, answer, keep)
        self._ended(row, started)
        keep(row, answer)
        return answer

    async def _awaited(self, row: Traced, started: float, answer: Any, keep: Callable[[Traced, Any], None]) -> Any:
        try:
            value = await answer
        except BaseException as error:
            self._ended(row, started, error)
            raise
        self._ended(row, started)
        keep(row, value)
        return value

    def _ended(self, row: Traced, started: float, error: BaseException | None = None) -> None:
        row.seconds = max(0.0, time.perf_counter() - started - row.inner_seconds)
        if error is not None:
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            row.error = self._host.redact(said)

    def _said(self, row: Traced, value: Any) -> None:
        """Record the fields of a result that a handler set."""
        if isinstance(value, EventResult) and dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                content = getattr(value, field.name)
                if content is not UNSET and content != field.default:
                    row.answer[field.name] = self._short(content)

    def _answered(self, row: Traced, impl: Any, value: Any) -> None:
        """Record what a plugin registered, or what a name was resolved to and which plugins are not asked after that."""
        if row.family == "registration" and value:
            names = self._short(", ".join(str(getattr(i, "name", None) or getattr(i, "id", i)) for i in value))
            row.answer[row.hook.removeprefix("register_")] = names if len(value) == 1 else f"{len(value)} ({names})"
        elif row.family == "resolution" and value is not None and value != "":
            row.answer["gives"] = (
                "a secret" if row.hook in ("resolve_secret", "refresh_secret") else self._short(_named(value))
            )
            impls = self._host.impls(row.hook)
            for later in impls[impls.index(impl) + 1 :] if impl in impls else ():
                self._row(row.hook, later).bypassed_by = row.plugin

    def _short(self, value: Any) -> str:
        text = self._host.redact(" ".join((value if isinstance(value, str) else repr(value)).split()))
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"

    def _failed(self, event: HandlerErrorEvent) -> None:
        """Record a failure that only the bus knows: an answer that cannot be used, a timeout."""
        for row in reversed(self.calls):
            if row.hook in (event.event, "event") and row.handler == event.source:
                row.error = event.error
                return


def label_of(impl: Any) -> str:
    """Return an implementation in the words of an error, as ``HandlerRecord.label``."""
    name = getattr(impl.function, "__qualname__", None) or repr(impl.function)
    return f"{name!r} of plugin {impl.plugin_name!r}"


def _named(value: Any) -> str:
    """Return the type and the name of an object that was looked up."""
    name = getattr(value, "id", None) or getattr(value, "name", None) or getattr(value, "provider", None)
    return f"{type(value).__name__} {name}" if isinstance(name, str) and name else type(value).__name__
