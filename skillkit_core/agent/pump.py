"""Updates for async handlers beside a stream: ``message_update`` of an answer, ``tool_execution_update`` of tools."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..errors import AsyncHandlerError
from ..events.types import MessageUpdateEvent, ToolExecutionUpdateEvent
from ..stream import MessageBuilder, StreamEvent
from .containment import Carried

if TYPE_CHECKING:
    from .run import Run
    from .tool_call import CallContext

__all__ = ["MessageUpdates", "ToolUpdates", "limit_text"]

DELTAS = frozenset(("text_delta", "thinking_delta", "tool_call_delta"))

log = logging.getLogger("skillkit.agent")


def limit_text(text: str, room: int) -> str:
    """Return ``text`` in at most about ``room`` characters. A line takes the place of the middle and says how long that was."""
    if len(text) <= room:
        return text
    half = max(0, room - 60) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[len(text) - half :]}"


class MessageUpdates:
    """Emits all updates of one answer in order (spec, section 9.50).

    Plain handlers are called at once. Async handlers get the updates from a queue, which merges adjacent deltas of one block,
    so a slow handler gets fewer and larger deltas, and delays the end of the answer less.
    """

    def __init__(self, run: Run, builder: MessageBuilder) -> None:
        self._run = run
        self._bus = run.bus
        self._builder = builder
        self._waiting: deque[StreamEvent] | None = None
        self._task: asyncio.Task[None] | None = None

    async def put(self, event: StreamEvent) -> None:
        """Emit or queue an update; wait only while the queue is full."""
        waiting = self._waiting
        if waiting is None:
            if self._bus.all_sync("message_update"):
                await self._emit(event)
                return
            waiting = self._waiting = deque()
        last = waiting[-1] if waiting else None
        if last is not None and event.type in DELTAS and (last.type, last.index) == (event.type, event.index):
            waiting[-1] = replace(last, content=last.content + event.content, usage=event.usage or last.usage)
        else:
            self._pass_on()
            waiting.append(event)
            if self._task is None or self._task.done():
                self._task = self._run.own(self._deliver)
        if len(waiting) > self._run.MAX_WAITING:
            await self.drain()

    async def _deliver(self) -> None:
        while self._waiting:
            await self._emit(self._waiting.popleft())

    async def _emit(self, event: StreamEvent) -> None:
        await self._bus.fire(MessageUpdateEvent, event=event, _builder=self._builder)

    async def drain(self) -> None:
        """Wait until every update is emitted; raise the interrupt or cancellation that ended the task."""
        if self._task is not None:
            await asyncio.wait([self._task])
            self._pass_on()

    def _pass_on(self) -> None:
        """Raise what ended the task, because no handler may swallow an interrupt."""
        if self._task is not None and self._task.done():
            try:
                self._task.result()
            except Carried as carrying:
                raise carrying.error from None

    async def stop(self) -> None:
        """Drop the queue of an answer that was cut off, and give the handler that works now the grace time."""
        self._waiting = deque()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            _, left = await asyncio.wait([self._task], timeout=self._run.abort_grace)
            self._run.agent.scheduler.abandon(left)


class _Output(NamedTuple):
    """Output of a tool that waits; ``left_out`` characters after it were dropped."""

    ctx: CallContext
    stream: str
    n: int
    text: str
    left_out: int = 0


class ToolUpdates:
    """Emits the updates of one batch, from any thread; drops updates of a call that has its result.

    Plain handlers are called at once. Output waits for async handlers and for a busy loop. Adjacent output of one call and stream
    becomes one update. Where too much waits, the middle is dropped, and the update says how many characters that was.
    """

    MAX_WAITING = 4_000_000  # characters
    MAX_PIECES = 10_000

    def __init__(self, run: Run) -> None:
        self._run = run
        self._bus = run.bus
        self._lock = threading.Lock()
        self._waiting: deque[_Output] = deque()
        self._size = 0
        self._called = False
        self._task: asyncio.Task[None] | None = None
        self._ended = False

    def show(self, ctx: CallContext, output: str, stream: str, n: int) -> None:
        """Emit output of a tool; ``n`` counts the updates of the call."""
        if not self._bus.has("tool_execution_update"):
            return
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        output = limit_text(output, self.MAX_WAITING // 4)
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if (
                last is not None
                and (last.ctx, last.stream, last.left_out) == (ctx, stream, 0)
                and len(last.text) < 4096
            ):
                self._waiting[-1] = last._replace(n=n, text=last.text + output)
            else:
                self._waiting.append(_Output(ctx, stream, n, output))
            self._size += len(output)
            if self._size > self.MAX_WAITING or len(self._waiting) > self.MAX_PIECES:
                self._leave_out_the_middle()
            called, self._called = self._called, self._called or here is not self._run.loop
        if here is self._run.loop:
            self._take()
        elif not called:
            with contextlib.suppress(RuntimeError):
                self._run.loop.call_soon_threadsafe(self._take)

    def _leave_out_the_middle(self) -> None:
        """Keep about a quarter of the room from each end, and count the rest by call and stream."""
        ends: list[list[_Output]] = []
        for pop in (self._waiting.popleft, self._waiting.pop):
            end: list[_Output] = []
            room = self.MAX_WAITING // 4
            while self._waiting and room > 0 and len(end) < self.MAX_PIECES // 4:
                end.append(pop())
                room -= len(end[-1].text)
            ends.append(end)
        middle: dict[tuple[CallContext, str], _Output] = {}
        for one in self._waiting:
            key = (one.ctx, one.stream)
            known = middle[key].left_out if key in middle else 0
            middle[key] = one._replace(text="", left_out=known + len(one.text) + one.left_out)
        self._waiting = deque((*ends[0], *middle.values(), *reversed(ends[1])))
        self._size = sum(len(one.text) for one in self._waiting)

    def _next(self) -> ToolExecutionUpdateEvent | None:
        """Return the next update; ``None``: no output waits."""
        with self._lock:
            while self._waiting and (self._ended or self._waiting[0].ctx.settled):
                self._size -= len(self._waiting.popleft().text)
            if not self._waiting:
                return None
            ctx, stream, n, *_ = self._waiting[0]
            parts: list[str] = []
            while self._waiting and (self._waiting[0].ctx, self._waiting[0].stream) == (ctx, stream):
                *_, n, text, left_out = self._waiting.popleft()
                self._size -= len(text)
                parts.append(text)
                if left_out:
                    parts.append(f"\n[... {left_out} characters left out: they came faster than they were taken ...]\n")
        output = self._run.redact("".join(parts))
        about = {"tool_name": ctx.tool_name, "tool_call_id": ctx.tool_call_id}
        return self._bus.make(ToolExecutionUpdateEvent, output=output, stream=stream, n=n, **about)

    def _take(self) -> None:
        self._called = False
        if self._task is not None and not self._task.done():
            return
        if not self._bus.all_sync("tool_execution_update"):
            self._task = self._run.own(self._deliver)
            return
        # a thread may write all the time, so the loop takes only what waits now
        for _ in range(len(self._waiting)):
            if (event := self._next()) is None:
                return
            try:
                self._bus.emit_sync(event)
            except AsyncHandlerError as error:
                # the handler returned an awaitable all the same, and the tool must not fail for it
                log.warning("%s", error)

    async def _deliver(self) -> None:
        while (event := self._next()) is not None:
            await self._bus.emit(event)

    async def drain(self) -> None:
        """Wait until every update is emitted."""
        if self._waiting:
            self._take()
        if self._task is not None:
            await asyncio.wait([self._task])

    def end(self) -> None:
        """Drop all further updates."""
        self._ended = True
