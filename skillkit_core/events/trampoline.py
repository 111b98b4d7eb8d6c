"""Runs the handlers of an event, and takes over where one of them waits.

Most handlers are plain functions, or async ones that never wait. A task, a timer and an exception for each of them would cost
more than the rest of the event, so a :class:`Step` runs the whole chain of handlers as one coroutine until it waits::

    emit(event)
      |  step = idle_steps.pop()          a Step is kept and used again
      |  found = step.send(chain)
      v
    Step ---- yield from chain ---->  handler 1, handler 2, ...   (EventBus._run)
      |
      +-- the chain ended:  ``found`` is the answer, the step goes back to idle_steps
      |
      +-- a handler waits:  ``found`` is what asyncio waits for (a future)
            |
            v
          wait(chain, found, step)        the task of emit() goes on from here
            |   a timer for the handler that waits, another one for each handler that waits later
            |   yield future  ---->  the loop of asyncio
            |   <----  result:             chain.send(result)
            |   <----  cancelled outside:  chain.throw(CancelledError)
            |   <----  the timer fired:    chain.throw(CancelledError), the handler's error is HandlerTimeout
            v
          the answer of the chain
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Coroutine, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any

from ..errors import HandlerTimeout, interrupts

if TYPE_CHECKING:
    from .bus import EventBus

__all__ = ["Step", "drive", "idle_steps", "wait"]


class Step:
    """Runs a coroutine until it waits. An exception for its result, as ``coroutine.send`` raises it, costs more than an event.

    Attributes:
        send: runs a coroutine, and returns its result or what it waits for.
        handler: record whose time runs while the coroutine waits, ``None`` between two handlers.
        late: error of the handler whose time is over. What it says to its own end does not matter.
    """

    __slots__ = ("handler", "late", "send")

    def __init__(self, handler: Any = None) -> None:
        self.send = _runner().send
        self.send(None)
        self.handler = handler
        self.late: BaseException | None = None

    def error(self, said: BaseException) -> BaseException:
        """Return the error of a handler that raised ``said``."""
        late, self.late, self.handler = self.late, None, None
        return said if late is None or interrupts(said) else late


@types.coroutine
def _runner() -> Generator[Any, Any, None]:
    work = yield
    while True:
        work = yield (yield from work)


idle_steps: list[Step] = []


@types.coroutine
def wait(work: Coroutine[Any, Any, Any], pending: Any, step: Step, bus: EventBus | None) -> Generator[Any, Any, Any]:
    """Return the result of ``work``, which waits for ``pending``. End each handler whose time is over."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    handler = timer = limit = None
    requested, fired = 0, False

    def expire() -> None:
        nonlocal fired
        fired = True
        if task is not None:
            task.cancel()

    try:
        while True:
            if step.handler is not handler:
                handler = step.handler
                if timer is not None:
                    timer.cancel()
                requested = task.cancelling() if task is not None else 0
                limit = handler and (handler.timeout if bus is None else bus.limit(handler.timeout))
                # The timer gets an empty context, because the loop keeps a cancelled timer and its context until its time.
                timer = None if limit is None else loop.call_later(limit, expire, context=Context())
            error: BaseException | None = None
            try:
                sent = yield pending
            except BaseException as said:  # noqa: BLE001 - the handler gets it
                error = said
                if isinstance(said, asyncio.CancelledError) and bus is not None and bus.overdue():
                    step.late = said
            if fired and task is not None and (error is None or isinstance(error, (Exception, asyncio.CancelledError))):
                fired = False
                others = task.uncancel() > requested  # a cancellation from outside at the same moment comes first
                step.late = (
                    asyncio.CancelledError() if others else HandlerTimeout(f"it did not finish within {limit:g} s")
                )
                error = (
                    error or asyncio.CancelledError()
                )  # none: code that the handler called swallowed the cancellation
            pending = work.send(sent) if error is None else work.throw(error)
            if step.late is not None:  # the handler goes on waiting
                pending = work.throw(GeneratorExit())
    except BaseException as said:
        if step.late is not None:
            raise step.error(said) from None
        if isinstance(said, StopIteration):
            return said.value
        raise
    finally:
        error = None  # its traceback holds this frame
        if timer is not None:
            timer.cancel()


async def drive(awaitable: Awaitable[Any], timeout: float | None, bus: EventBus | None = None) -> Any:
    """Return the awaitable's result. The ``timeout`` in seconds starts when it first suspends; ``None``: no limit.

    After the deadline of an abort of the ``bus`` an awaitable cannot swallow a cancellation.

    Raises:
        HandlerTimeout: the time is over, and the awaitable was cancelled. A cancellation from outside passes unchanged.
    """
    work = _awaited(awaitable)
    try:
        pending = work.send(None)
    except StopIteration as stop:
        return stop.value
    return await wait(work, pending, Step(types.SimpleNamespace(timeout=timeout)), bus)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
