"""Awaiting a handler within a time limit that costs nothing while the handler does not suspend."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Generator
from typing import Any

from ..errors import HandlerTimeout

__all__ = ["drive"]


@types.coroutine
def _await(awaitable: Awaitable[Any]) -> Generator[Any, Any, Any]:
    return (yield from awaitable.__await__())


@types.coroutine
def _drive(awaitable: Awaitable[Any], timeout: float) -> Generator[Any, Any, Any]:
    iterator = awaitable.__await__()
    try:
        pending = next(iterator)
    except StopIteration as stop:
        return stop.value
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    fired = False
    requested = task.cancelling() if task is not None else 0

    def expire() -> None:
        nonlocal fired
        fired = True
        if task is not None:
            task.cancel()

    timer = loop.call_later(timeout, expire)
    try:
        while True:
            try:
                sent = yield pending
            except BaseException as error:
                if fired and isinstance(error, asyncio.CancelledError) and task is not None:
                    others = task.uncancel() > requested
                    _end(iterator, error)
                    if others:
                        raise
                    raise HandlerTimeout(f"it did not finish within {timeout:g} s") from None
                throw = getattr(iterator, "throw", None)
                if throw is None:
                    raise
                pending = throw(error)
            else:
                pending = iterator.send(sent) if sent is not None else next(iterator)
    except StopIteration as stop:
        return stop.value
    finally:
        timer.cancel()


def _end(iterator: Any, error: BaseException) -> None:
    """Let the handler see the cancellation; if it goes on waiting it is closed: its time is over."""
    try:
        iterator.throw(error)
    except BaseException:  # noqa: BLE001 - the handler's answer to its own cancellation does not matter
        return
    try:
        iterator.close()
    except BaseException:  # noqa: BLE001
        return


async def drive(awaitable: Awaitable[Any], timeout: float | None) -> Any:
    """The awaitable's result. ``timeout`` seconds start when it first suspends; ``None``: no limit.

    Raises:
        HandlerTimeout: the time is over; the awaitable was cancelled. A cancellation from outside passes unchanged.
    """
    if timeout is None:
        return await _await(awaitable)
    return await _drive(awaitable, timeout)
