"""A gate before every effect of an agent: a test decides what happens next, or that nothing does any more.

The loop knows nothing of it: store, adapter, executor, clock and event bus are wrapped, so an agent without a gate pays nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from skillkit_core import (
    AgentRunner,
    Clock,
    EventBus,
    LLMAdapter,
    LLMRequest,
    SessionEntry,
    SessionHandle,
    SessionHeader,
    SessionStore,
    StreamEvent,
    Target,
    Tool,
    ToolContext,
    ToolExecutor,
    ToolOutput,
)
from skillkit_core.agent.tool_call import IN_PROCESS
from skillkit_core.events.subscriptions import OBSERVER, HandlerRecord

__all__ = ["Gate", "Stop"]

Kind: TypeAlias = Literal["persist", "request", "tool", "hook", "timer", "mark"]


@dataclass(slots=True, eq=False)
class Stop:
    """One arrival at the gate: ``n`` counts from 1, ``what`` says which entry, tool, event or model it is about."""

    n: int
    kind: Kind
    what: str
    _released: asyncio.Future[None] | None = field(default=None, repr=False)

    def release(self) -> None:
        """Let it happen."""
        if self._released is not None and not self._released.done():
            self._released.set_result(None)


class Gate:
    """Holds an agent before each effect: persist, request, tool, hook, timer.

    Args:
        drive: ``"manual"``: whatever arrives is parked until its :meth:`Stop.release`; ``"auto"``: nothing is.
        at: called with every :class:`Stop` as it arrives, in both modes; it may raise, abort the agent or end the process.

    Hand the agent a :meth:`store` or let :meth:`attach` wrap what it has. Handlers that cannot wait (``emit_sync``) and
    plain observers pass the gate without being parked. What a driving test does to the agent stops at the gate as well
    (``steer`` emits ``input``), so such a call needs a task of its own.
    """

    def __init__(
        self, drive: Literal["manual", "auto"] = "manual", *, at: Callable[[Stop], object] | None = None
    ) -> None:
        self.drive = drive
        self.at = at
        self.passed: list[Stop] = []
        self.parked: list[Stop] = []
        self.open = True

    # --- passing ----------------------------------------------------------------------------------------------

    def note(self, kind: Kind, what: str) -> Stop:
        """Record an arrival that cannot wait."""
        stop = Stop(len(self.passed) + 1, kind, what)
        self.passed.append(stop)
        if self.at is not None:
            self.at(stop)
        return stop

    async def stop(self, kind: Kind, what: str) -> None:
        """Arrive, and wait while driven by hand."""
        stop = self.note(kind, what)
        if self.drive != "manual" or not self.open:
            return
        stop._released = asyncio.get_running_loop().create_future()
        self.parked.append(stop)
        try:
            await stop._released
        finally:
            self.parked.remove(stop)

    async def mark(self, what: str) -> None:
        """A gate of the test's own, say in the middle of a tool."""
        await self.stop("mark", what)

    # --- driving ----------------------------------------------------------------------------------------------

    async def settle(self, task: asyncio.Future[Any]) -> Sequence[Stop]:
        """Wait until everything that can go on without a release has; what is parked then. Empty: ``task`` is done."""
        quiet = 0
        while not task.done() and quiet < 3:
            before = len(self.passed), len(self.parked)
            for _ in range(4):
                await asyncio.sleep(0)
            same = before == (len(self.passed), len(self.parked))
            if same and not self.parked:
                await asyncio.wait([task], timeout=0.001)  # a thread or the operating system has the next move
            quiet = quiet + 1 if same and self.parked else 0
        return () if task.done() else tuple(self.parked)

    async def stops(self, task: asyncio.Future[Any]) -> AsyncIterator[Stop]:
        """Each stop until ``task`` is done, oldest first; it is released when the next one is asked for."""
        while parked := await self.settle(task):
            yield parked[0]
            parked[0].release()
            await asyncio.sleep(0)

    def release_all(self) -> None:
        """Park nothing from now on."""
        self.open = False
        for stop in tuple(self.parked):
            stop.release()

    # --- where it stands --------------------------------------------------------------------------------------

    def store(self, store: SessionStore) -> SessionStore:
        """``store`` with the gate before each entry."""
        return _GatedStore(store, self)

    def handle(self, handle: SessionHandle) -> SessionHandle:
        """``handle`` with the gate before each entry."""
        return _GatedHandle(handle, self)

    def adapter(self, adapter: LLMAdapter) -> LLMAdapter:
        """``adapter`` with the gate before each request."""
        return _GatedAdapter(adapter, self)

    def executor(self, executor: ToolExecutor = IN_PROCESS) -> ToolExecutor:
        """``executor`` with the gate before each tool."""
        return _GatedExecutor(executor, self)

    def clock(self, clock: Clock) -> Clock:
        """``clock`` with the gate before each wait."""
        return _GatedClock(clock, self)

    def probe(self, record: HandlerRecord, event: Any, call: Callable[[], Any]) -> Any:
        """As ``bus.probe``: the gate before each handler."""
        what = f"{event.type} {record.label}"
        looks_only = record.phase == OBSERVER and not record.is_async
        if looks_only or EventBus.in_sync() or self.drive != "manual":
            self.note("hook", what)
            return call()
        return self._handler(what, call)

    async def _handler(self, what: str, call: Callable[[], Any]) -> Any:
        await self.stop("hook", what)
        answer = call()
        return await answer if inspect.isawaitable(answer) else answer

    async def attach(self, agent: AgentRunner, *, hooks: bool = True) -> AgentRunner:
        """Open the agent's session and put the gate before everything it does."""
        session = await agent.open()
        if not isinstance(session.handle, _GatedHandle):
            session.handle = self.handle(session.handle)
        agent.clock = self.clock(agent.clock)
        agent.config = replace(agent.config, executor=self.executor(agent.config.executor or IN_PROCESS))
        target = await agent.find_target()
        agent.selection.target = Target(target.model, self.adapter(target.adapter), target.provider)
        if hooks:
            agent.events.probe = self.probe
        return agent


class _GatedHandle(SessionHandle):
    def __init__(self, handle: SessionHandle, gate: Gate) -> None:
        self._handle, self._gate = handle, gate
        self.header, self.location, self.read_only = handle.header, handle.location, handle.read_only

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        message = entry.data.get("message")
        await self._gate.stop("persist", message["role"] if isinstance(message, Mapping) else entry.type)
        await self._handle.append(entry, sync=sync)

    async def sync(self) -> None:
        await self._handle.sync()

    def begin_sync(self) -> None:
        self._handle.begin_sync()

    def entries(self) -> Sequence[SessionEntry]:
        return self._handle.entries()

    async def close(self) -> None:
        await self._handle.close()


class _GatedStore(SessionStore):
    def __init__(self, store: SessionStore, gate: Gate) -> None:
        self._store, self._gate = store, gate

    async def create(self, header: SessionHeader) -> SessionHandle:
        await self._gate.stop("persist", "session")
        return _GatedHandle(await self._store.create(header), self._gate)

    async def open(self, session_id: str, *, read_only: bool = False) -> SessionHandle:
        return _GatedHandle(await self._store.open(session_id, read_only=read_only), self._gate)

    async def list(self, *, limit: int | None = None) -> Sequence[Mapping[str, Any]]:
        return await self._store.list(limit=limit)

    def search(self, query: str, *, limit: int = 20) -> AsyncIterator[Mapping[str, Any]]:
        return self._store.search(query, limit=limit)

    async def close(self) -> None:
        await self._store.close()


class _GatedAdapter(LLMAdapter):
    def __init__(self, adapter: LLMAdapter, gate: Gate) -> None:
        self._adapter, self._gate = adapter, gate
        self.provider = adapter.provider

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_adapter"], name)

    @property
    def api(self) -> str:  # type: ignore[override]
        return self._adapter.api

    @property
    def progressive(self) -> bool:  # type: ignore[override]
        return self._adapter.progressive

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        await self._gate.stop("request", request.model.id)
        async with contextlib.aclosing(self._adapter.stream(request)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event


class _GatedExecutor(ToolExecutor):
    def __init__(self, executor: ToolExecutor, gate: Gate) -> None:
        self._executor, self._gate = executor, gate

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        await self._gate.stop("tool", tool.name)
        return await self._executor.execute(tool, args, ctx)


class _GatedClock:
    def __init__(self, clock: Clock, gate: Gate) -> None:
        self._clock, self._gate = clock, gate

    def time(self) -> float:
        return self._clock.time()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._gate.stop("timer", f"{seconds:g} s")
        await self._clock.sleep(seconds)
