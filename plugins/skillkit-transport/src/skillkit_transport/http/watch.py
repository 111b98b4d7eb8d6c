"""Ends the waits of one request when the run is aborted, its time is over or the server is silent."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, TypeVar

from skillkit_core.abort import AbortSignal

if TYPE_CHECKING:
    import asyncio  # adapters import this file at each start, and most commands have no loop

__all__ = ["Interrupted", "Watch"]

T = TypeVar("T")


class Interrupted(Exception):
    """A wait was ended; ``reason`` is ``aborted``, ``timeout`` (of :meth:`Watch.limit`) or ``silence``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Watch:
    """Guards the awaits of one request, for adapters.

    A watch works as :func:`asyncio.timeout` does: it cancels the task that waits and turns that cancellation, and no other,
    into :class:`Interrupted`. Unlike a timeout, a watch may be kept over the ``yield`` of a generator, because it touches
    the task only in :meth:`wait`, and it arms nothing per wait: one timer looks now and then whether something is overdue.

    Args:
        signal: ends every wait with ``aborted``.

    Attributes:
        reason: why waits were ended, or ``None``.
    """

    __slots__ = ("_deadline", "_loop", "_patience", "_remove", "_signal", "_since", "_task", "_timer", "reason")

    def __init__(self, signal: AbortSignal) -> None:
        from asyncio import get_running_loop

        self._loop = get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
        self._patience: float | None = None
        self._since = 0.0
        self.reason: str | None = None
        self._signal = signal
        self._remove = signal.add_callback(self._on_abort)

    def limit(self, seconds: float | None) -> None:
        """End the waiting ``seconds`` from now, whatever happens until then; ``None`` takes the limit away."""
        self._deadline = None
        if seconds is not None:
            self._deadline = self._loop.time() + seconds
            self._arm(self._deadline)

    def idle(self, seconds: float | None) -> None:
        """From now on end a wait that takes ``seconds``, with the waits that go on with it; ``None``: no wait is too long."""
        self._patience = seconds
        if seconds is not None:
            self._since = self._loop.time()
            self._arm(self._since + seconds)

    async def wait(self, awaitable: Awaitable[T], more: bool = False) -> T:
        """Return the result of ``awaitable``.

        Args:
            awaitable: what to wait for.
            more: the wait goes on with the wait before, which brought nothing.

        Raises:
            Interrupted: the wait was ended, or is not begun because the run is aborted or an earlier wait was ended.
        """
        from asyncio import CancelledError, current_task

        task = current_task()
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
        except CancelledError:
            reason = self._ended()
            if reason is not None and task.uncancel() <= before:
                raise Interrupted(reason) from None
            raise
        finally:
            self._task = None

    def close(self) -> None:
        """Stop watching."""
        self._remove()
        del self._remove  # the callback leads back to this object
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ended(self) -> str | None:
        return self.reason

    def _arm(self, when: float) -> None:
        """Have a timer look at ``when``. One that looks earlier sees by itself how much is left."""
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        # Without the run's context: the loop keeps a cancelled timer until its time, and with it all that the context holds.
        self._timer = self._loop.call_at(when, self._look, context=Context())

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        if self._deadline is not None and now >= self._deadline:
            self._interrupt("timeout")
            return
        silence = None if self._patience is None else (now if self._task is None else self._since) + self._patience
        if silence is not None and now >= silence:
            self._interrupt("silence")
            return
        due = min((when for when in (self._deadline, silence) if when is not None), default=None)
        if due is not None:
            self._arm(due)

    def _on_abort(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._interrupt, "aborted")

    def _interrupt(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            if self._task is not None:
                self._task.cancel()
