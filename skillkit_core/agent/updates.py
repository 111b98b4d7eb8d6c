"""What tools show while they run: ``tool_execution_update``, from any thread, in order, until the call has settled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import TYPE_CHECKING

from ..errors import AsyncHandlerError
from ..events.types import ToolExecutionUpdateEvent

if TYPE_CHECKING:
    from .call import CallContext
    from .run import Run

__all__ = ["Updates"]

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
