"""Async handlers beside a stream: ``message_update`` while an answer arrives, ``tool_execution_update`` while tools run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from ..containment import Carried
from ..errors import AsyncHandlerError
from ..events.types import MessageUpdateEvent, ToolExecutionUpdateEvent
from ..stream import MessageBuilder, StreamEvent

if TYPE_CHECKING:
    from .run import Run
    from .tool_call import CallContext

__all__ = ["Narration", "Updates"]

DELTAS = frozenset(("text_delta", "thinking_delta", "tool_call_delta"))


class Narration:
    """Tells the handlers of one answer's updates, in order and all of them (spec, section 9.50).

    Where a handler is async the events wait in a queue for a task of their own. Deltas of one block that wait one behind the
    other become one, so a slow handler gets fewer and larger ones, and the end of the answer need not wait long for it.
    """

    def __init__(self, run: Run, builder: MessageBuilder) -> None:
        self._run = run
        self._bus = run.agent.events
        self._builder = builder
        self._waiting: deque[StreamEvent] | None = None  # there is none for most answers, and one takes 0.6 KiB
        self._pump: asyncio.Task[None] | None = None

    async def tell(self, event: StreamEvent) -> None:
        """Tell about ``event`` now, or when its turn comes; waits only while the queue is full."""
        if self._pump is None and self._bus.all_sync("message_update"):
            await self._emit(event)
            return
        if self._waiting is None:
            self._waiting = deque()
        last = self._waiting[-1] if self._waiting else None
        if last is not None and event.type in DELTAS and (last.type, last.index) == (event.type, event.index):
            self._waiting[-1] = replace(last, content=last.content + event.content, usage=event.usage or last.usage)
        else:
            self._waiting.append(event)
        if self._pump is None or self._pump.done():
            self._passed()
            self._pump = self._run.own(self._deliver)
        if len(self._waiting) > self._run.MAX_WAITING:
            await self.end()

    async def _emit(self, event: StreamEvent) -> None:
        await self._bus.emit(self._bus.make(MessageUpdateEvent, event=event, _builder=self._builder))

    async def _deliver(self) -> None:
        while self._waiting:
            await self._emit(self._waiting.popleft())

    async def end(self) -> None:
        """Wait until everything is told. Raises what no handler may swallow: an interrupt, a cancellation of its own."""
        if self._pump is not None:
            await asyncio.wait([self._pump])
            self._passed()

    def _passed(self) -> None:
        if self._pump is not None:
            try:
                self._pump.result()
            except Carried as carrying:
                raise carrying.error from None

    async def stop(self) -> None:
        """Tell nothing more: the answer was cut off. Waits for the handler that is being told, within the grace time."""
        if self._waiting is not None:
            self._waiting.clear()
        if self._pump is not None and not self._pump.done():
            self._pump.cancel()
            _, left = await asyncio.wait([self._pump], timeout=self._run.abort_grace)
            self._run.agent.abandon(left)


log = logging.getLogger("skillkit.agent")


class Updates:
    """The updates of one batch of calls. Plain handlers are called at once, others by a task of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._bus = run.agent.events
        self._shown: deque[tuple[CallContext, str, str, int]] = deque()  # from any thread, not told yet
        self._waiting: list[ToolExecutionUpdateEvent] = []
        self._pump: asyncio.Task[None] | None = None
        self._over = False

    def show(self, ctx: CallContext, output: str, stream: str, n: int) -> None:
        """Tell what the tool of a call has put out; ``n`` counts its updates."""
        if not self._bus.has("tool_execution_update"):
            return
        self._shown.append((ctx, output, stream, n))
        loop = self._run.loop
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is loop:
            self._take()
        else:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        """Make events of what was shown; what comes from a thread after its call has settled is dropped."""
        while self._shown:
            ctx, output, stream, n = self._shown.popleft()
            if self._over or ctx.settled:
                continue
            self._post(
                self._bus.make(
                    ToolExecutionUpdateEvent,
                    tool_name=ctx.tool_name,
                    tool_call_id=ctx.tool_call_id,
                    output=self._run.agent.host.redact(output),
                    stream=stream,
                    n=n,
                )
            )

    def _post(self, event: ToolExecutionUpdateEvent) -> None:
        if self._pump is None and self._bus.all_sync("tool_execution_update"):
            try:
                self._bus.emit_sync(event)
            except AsyncHandlerError as error:  # it returned an awaitable all the same; the tool is not to blame
                log.warning("%s", error)
            return
        self._waiting.append(event)
        if self._pump is None:
            self._pump = self._run.own(self._deliver)

    async def _deliver(self) -> None:
        try:
            while self._waiting:
                updates, self._waiting = self._waiting, []
                for event in updates:
                    await self._bus.emit(event)
        finally:
            self._pump = None

    async def drain(self) -> None:
        """Wait until everything that was shown is told."""
        self._take()
        if self._pump is not None:
            await asyncio.wait([self._pump])

    def end(self) -> None:
        """Nothing is told from now on."""
        self._over = True
