"""Ends a wait when the run is aborted or the server stays silent, with one timer for a whole stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from typing import TypeVar

from skillkit_core.abort import AbortSignal

__all__ = ["Interrupted", "Watch"]

T = TypeVar("T")


class Interrupted(Exception):
    """A wait was ended; ``reason`` is ``aborted``, ``timeout`` (of the first event) or ``silence``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Watch:
    """Guards the awaits of one request.

    It works as :func:`asyncio.timeout` does: it cancels the task that waits and turns that cancellation, and no other,
    into :class:`Interrupted`. The timer looks now and then whether the current wait is overdue, so nothing is armed per
    wait.

    Args:
        signal: ends every wait with ``aborted``.
        first: seconds until :meth:`started` must have been called.
        idle: seconds that a single wait, with those that go on with it, may take afterwards.
    """

    __slots__ = ("_deadline", "_idle", "_loop", "_remove", "_signal", "_since", "_task", "_timer", "reason")

    def __init__(self, signal: AbortSignal, first: float | None, idle: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._idle = idle
        self._since = self._loop.time()
        self._deadline = None if first is None else self._since + first
        self.reason: str | None = None
        delay = first if first is not None else idle
        if delay is not None:
            self._set_timer(delay)
        self._signal = signal
        self._remove = signal.add_callback(self._on_abort)

    def started(self) -> None:
        """The first event has come: from now on only a single wait can be too long."""
        if self._deadline is not None:
            self._deadline = None
            # The timer that is set looks again by itself; another one is needed only where it would look too late.
            if self._timer is None or self._idle is None or self._loop.time() + self._idle < self._timer.when():
                self._rearm(self._idle)

    def hurry(self, seconds: float) -> None:
        """End the waiting ``seconds`` from now, whatever happens."""
        self._deadline = self._loop.time() + seconds
        self._rearm(seconds)

    async def wait(self, awaitable: Awaitable[T], more: bool = False) -> T:
        """The result of ``awaitable``; ``more``: the wait goes on with the one before, which brought nothing.

        Raises:
            Interrupted: the wait was ended.
        """
        task = asyncio.current_task()
        if task is None or self.reason is not None or self._signal.aborted:
            if isinstance(awaitable, Coroutine):
                awaitable.close()
            self.reason = self.reason or "aborted"
            raise Interrupted(self.reason)
        before = task.cancelling()
        if not more:
            self._since = self._loop.time()
        self._task = task
        try:
            return await awaitable
        except asyncio.CancelledError:
            reason = self._ended()
            if reason is not None and task.uncancel() <= before:
                raise Interrupted(reason) from None
            raise
        finally:
            self._task = None

    def close(self) -> None:
        """Stop watching."""
        self._remove()
        del self._remove  # it leads back here
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ended(self) -> str | None:
        return self.reason

    def _rearm(self, delay: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if delay is not None:
            self._set_timer(delay)

    def _set_timer(self, delay: float) -> None:
        # Without the run's context: the loop keeps a cancelled timer until its time, and with it all that the context holds.
        self._timer = self._loop.call_later(delay, self._tick, context=Context())

    def _tick(self) -> None:
        now = self._loop.time()
        if self._deadline is not None:
            due = self._deadline
        elif self._idle is not None:
            due = self._since + self._idle if self._task is not None else now + self._idle
        else:
            return
        if now >= due:
            self._interrupt("timeout" if self._deadline is not None else "silence")
        else:
            self._set_timer(due - now)

    def _on_abort(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._interrupt, "aborted")

    def _interrupt(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            if self._task is not None:
                self._task.cancel()
