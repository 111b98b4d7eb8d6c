"""Ending a wait when the run is aborted or the time is over, without a task per wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from contextvars import Context
from types import TracebackType
from typing import Literal, TypeVar

from skillkit_core.abort import AbortSignal

__all__ = ["Interrupt", "Interrupted"]

T = TypeVar("T")


class Interrupted(Exception):
    """The wait was ended; ``Interrupt.reason`` says why."""


class Interrupt:
    """Watches an abort signal, a time limit and silence while the current task waits in :meth:`wait`, and only then.

    As ``asyncio.timeout`` does, it cancels the task and takes the cancellation back; unlike it, it may be kept over the
    ``yield`` of a generator, because it never touches the task between two waits. The watch for silence is one timer
    that looks at the clock now and then, where a transport's read timeout makes a timer for every piece of data. A timer
    that was cancelled stays with the event loop until its time, so none holds the context of the run.
    """

    __slots__ = ("_guard", "_loop", "_patience", "_remove", "_signal", "_since", "_task", "_timer", "reason")

    def __init__(self, signal: AbortSignal) -> None:
        self._signal = signal
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._guard: asyncio.TimerHandle | None = None
        self._patience = 0.0
        self._since = 0.0
        self.reason: Literal["aborted", "timeout", "silence"] | None = None

    def __enter__(self) -> Interrupt:
        self._remove = self._signal.add_callback(self._aborted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._remove()
        self.limit(None)
        if self._guard is not None:
            self._guard.cancel()

    def limit(self, seconds: float | None) -> None:
        """End a wait in ``seconds`` from now; ``None``: no limit any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._fire, "timeout", context=Context())

    def watch(self, seconds: float) -> None:
        """End a wait that, with those that go on with it, takes longer than ``seconds``, counted from now or from its start."""
        self._patience = seconds
        self._since = self._loop.time()
        self._guard = self._loop.call_later(seconds, self._look, context=Context())

    def _look(self) -> None:
        left = self._since + self._patience - self._loop.time() if self._task is not None else self._patience
        if left <= 0:
            self._fire("silence")
        else:
            self._guard = self._loop.call_later(left, self._look, context=Context())

    def _aborted(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._fire, "aborted")

    def _fire(self, reason: Literal["aborted", "timeout", "silence"]) -> None:
        if self.reason is None:
            self.reason = reason
            if self._task is not None:
                self._task.cancel()

    def check(self) -> None:
        """Raise :class:`Interrupted` if it is over."""
        if self._signal.aborted:
            self.reason = "aborted"
        if self.reason is not None:
            raise Interrupted

    async def wait(self, awaitable: Awaitable[T], more: bool = False) -> T:
        """Await ``awaitable``; ``more``: the wait goes on with the one before, which brought nothing.

        Raises:
            Interrupted: the signal was set or the time was over; ``awaitable`` was cancelled.
        """
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        self._task = task
        if not more:
            self._since = self._loop.time()
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self.reason is not None and task.uncancel() <= before:
                raise Interrupted from None
            raise
        finally:
            self._task = None
