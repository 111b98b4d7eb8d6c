"""Updates for async handlers beside a stream: ``message_update`` of an answer, ``tool_execution_update`` of tools."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import AsyncHandlerError
from ..events.types import MessageUpdateEvent, ToolExecutionUpdateEvent
from ..stream import MessageBuilder, StreamEvent
from .containment import Carried

if TYPE_CHECKING:
    from .run import Run
    from .tool_call import CallContext

__all__ = ["MessageUpdates", "ToolUpdates"]

DELTAS = frozenset(("text_delta", "thinking_delta", "tool_call_delta"))
T = TypeVar("T")

log = logging.getLogger("skillkit.agent")


class Pump(Generic[T]):
    """A queue, and a task that emits the queued items in order; the task exists only while items wait."""

    def __init__(self, run: Run, emit: Callable[[T], Awaitable[object]]) -> None:
        self.waiting: deque[T] = deque()
        self._run = run
        self._emit = emit
        self._task: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """True when no item waits and none is being emitted."""
        return self._task is None or self._task.done()

    def put(self, item: T) -> None:
        """Queue ``item``."""
        self.waiting.append(item)
        if self.idle:
            self._task = self._run.own(self._deliver)

    async def _deliver(self) -> None:
        while self.waiting:
            await self._emit(self.waiting.popleft())

    async def drain(self) -> None:
        """Wait until every item is emitted."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def pass_on(self) -> None:
        """Raise the interrupt or cancellation that ended the task, because no handler may swallow either."""
        if self._task is not None and self._task.done():
            try:
                self._task.result()
            except Carried as carrying:
                raise carrying.error from None

    async def stop(self) -> None:
        """Drop the queue, cancel the handler that works now, and wait for the handler within the grace time."""
        self.waiting.clear()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            _, left = await asyncio.wait([self._task], timeout=self._run.abort_grace)
            self._run.agent.abandon(left)


class MessageUpdates:
    """Emits all updates of one answer in order (spec, section 9.50).

    Plain handlers are called at once. Async handlers get the updates from a queue, which merges adjacent deltas of one block,
    so a slow handler gets fewer and larger deltas, and delays the end of the answer less.
    """

    def __init__(self, run: Run, builder: MessageBuilder) -> None:
        self._run = run
        self._bus = run.bus
        self._builder = builder
        self._pump: Pump[StreamEvent] | None = None

    async def put(self, event: StreamEvent) -> None:
        """Emit or queue an update; wait only while the queue is full."""
        pump = self._pump
        if pump is None:
            if self._bus.all_sync("message_update"):
                await self._emit(event)
                return
            pump = self._pump = Pump(self._run, self._emit)
        last = pump.waiting[-1] if pump.waiting else None
        if last is not None and event.type in DELTAS and (last.type, last.index) == (event.type, event.index):
            pump.waiting[-1] = replace(last, content=last.content + event.content, usage=event.usage or last.usage)
        else:
            pump.pass_on()
            pump.put(event)
        if len(pump.waiting) > self._run.MAX_WAITING:
            await self.drain()

    async def _emit(self, event: StreamEvent) -> None:
        await self._bus.fire(MessageUpdateEvent, event=event, _builder=self._builder)

    async def drain(self) -> None:
        """Wait until every update is emitted; raise as :meth:`Pump.pass_on`."""
        if self._pump is not None:
            await self._pump.drain()
            self._pump.pass_on()

    async def stop(self) -> None:
        """Stop the pump, because the answer was cut off."""
        if self._pump is not None:
            await self._pump.stop()


class ToolUpdates:
    """Emits the updates of one batch, from any thread; drops updates of a call that has its result."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._bus = run.bus
        self._shown: deque[tuple[CallContext, str, str, int]] = deque()
        self._pump: Pump[ToolExecutionUpdateEvent] | None = None
        self._ended = False

    def show(self, ctx: CallContext, output: str, stream: str, n: int) -> None:
        """Emit output of a tool; ``n`` counts the updates of the call."""
        if not self._bus.has("tool_execution_update"):
            return
        self._shown.append((ctx, output, stream, n))
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._run.loop:
            self._take()
        else:
            with contextlib.suppress(RuntimeError):
                self._run.loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        while self._shown:
            ctx, output, stream, n = self._shown.popleft()
            if self._ended or ctx.settled:
                continue
            self._put(
                self._bus.make(
                    ToolExecutionUpdateEvent,
                    tool_name=ctx.tool_name,
                    tool_call_id=ctx.tool_call_id,
                    output=self._run.redact(output),
                    stream=stream,
                    n=n,
                )
            )

    def _put(self, event: ToolExecutionUpdateEvent) -> None:
        if (self._pump is None or self._pump.idle) and self._bus.all_sync("tool_execution_update"):
            try:
                self._bus.emit_sync(event)
            except AsyncHandlerError as error:  # a plain handler returned an awaitable, which is no failure of the tool
                log.warning("%s", error)
            return
        if self._pump is None:
            self._pump = Pump(self._run, self._bus.emit)
        self._pump.put(event)

    async def drain(self) -> None:
        """Wait until every update is emitted."""
        if self._shown:
            self._take()
        if self._pump is not None:
            await self._pump.drain()

    def end(self) -> None:
        """Drop all further updates."""
        self._ended = True
