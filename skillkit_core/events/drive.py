"""Awaiting a handler within a time limit that costs nothing while the handler does not suspend."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from types import CoroutineType
from typing import Any

from ..containment import Escaped, interrupts
from ..errors import HandlerTimeout

__all__ = ["drive", "drive_on"]


@types.coroutine
def _drive(iterator: Any, pending: Any, timeout: float | None, overdue: Callable[[], bool]) -> Generator[Any, Any, Any]:
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    fired = closing = False
    requested = task.cancelling() if task is not None else 0

    def expire() -> None:
        nonlocal fired
        fired = True
        if task is not None:
            task.cancel()

    def expired(error: BaseException) -> BaseException:
        """What to raise now that the time is over; a cancellation from outside at the same moment comes first."""
        assert task is not None
        others = task.uncancel() > requested
        _end(iterator, error)
        return asyncio.CancelledError() if others else HandlerTimeout(f"it did not finish within {timeout:g} s")

    # Without the run's context: the loop keeps a cancelled timer until its time, and with it all that the context holds.
    timer = loop.call_later(timeout, expire, context=Context()) if timeout is not None else None
    try:
        while True:
            try:
                sent = yield pending
            except BaseException as error:
                if fired and isinstance(error, (Exception, asyncio.CancelledError)):
                    raise expired(error) from None
                if isinstance(error, asyncio.CancelledError) and overdue():
                    _end(iterator, error)
                    raise
                throw = getattr(iterator, "throw", None)
                if throw is None:
                    raise
                closing = isinstance(error, GeneratorExit)
                pending = throw(error)
            else:
                if fired:  # something below the handler swallowed the cancellation
                    raise expired(asyncio.CancelledError())
                pending = iterator.send(sent) if sent is not None else next(iterator)
    except StopIteration as stop:
        return stop.value
    except GeneratorExit as error:
        if closing:  # nobody goes on here
            raise
        raise Escaped(error) from error
    finally:
        if timer is not None:
            timer.cancel()


def _end(iterator: Any, error: BaseException) -> None:
    """Let the handler see the cancellation; if it goes on waiting it is closed: its time is over."""
    for end in (lambda: iterator.throw(error), iterator.close):
        try:
            end()
        except BaseException as said:
            if interrupts(said):
                raise
            return  # the handler's answer to its own cancellation does not matter


async def drive(awaitable: Awaitable[Any], timeout: float | None, overdue: Callable[[], bool] = lambda: False) -> Any:
    """The awaitable's result. ``timeout`` seconds start when it first suspends; ``None``: no limit.

    A cancellation that comes when ``overdue()`` holds ends it, whether it wants to or not.

    Raises:
        HandlerTimeout: the time is over; the awaitable was cancelled. A cancellation from outside passes unchanged. Escaped: it
        raised a ``GeneratorExit`` of its own.
    """
    iterator = awaitable.__await__()
    try:
        pending = next(iterator)
    except StopIteration as stop:
        return stop.value
    except GeneratorExit as error:
        raise Escaped(error) from error
    return await _drive(iterator, pending, timeout, overdue)


async def drive_on(
    coroutine: CoroutineType[Any, Any, Any], pending: Any, timeout: float | None, overdue: Callable[[], bool]
) -> Any:
    """As :func:`drive`, for a coroutine that was sent its first step by hand and suspended with ``pending``."""
    return await _drive(coroutine.__await__(), pending, timeout, overdue)
