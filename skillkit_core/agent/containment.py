"""Errors of plugins that are not subclasses of ``Exception``.

``KeyboardInterrupt``, ``SystemExit`` and any other ``BaseException`` are meant for the program, so the core raises them again
once the run is closed and its session is whole (spec, section 4). ``CancelledError`` belongs to the task. A
``GeneratorExit`` that a plugin raises fails the run; one that closes the coroutine of the run is raised again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..errors import Escaped, interrupts, plain, raised_at

T = TypeVar("T")


def reason_of(error: BaseException) -> str:
    """Return the abort reason of a run that ``error`` interrupted, with the place of the ``raise`` unless the user did it."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted by the user"
    where = raised_at(error)
    return f"ended by {plain(error)}" + (f", raised at {where}" if where else "")


def working_task() -> asyncio.Task[Any] | None:
    """Return the task that runs this code; ``None`` outside of a task."""
    with contextlib.suppress(RuntimeError):
        return asyncio.current_task()
    return None


def as_failure(error: BaseException, task: asyncio.Task[Any] | None) -> Exception:
    """Return ``error`` as an ``Exception``, or raise ``error`` if it is not a failure of the run.

    Args:
        task: the task of the run. A ``GeneratorExit`` outside of this task closes the coroutine, and is no failure.
    """
    if isinstance(error, Exception):
        return error
    if not isinstance(error, GeneratorExit) or working_task() is not task:
        raise error
    return Escaped(error)


def run_in_thread(function: Callable[..., T], *args: Any) -> T:
    """Call a plain function in a thread that is not the main one.

    Interrupts are failures of the function: no signal of the user reaches the thread, and ``SystemExit`` ends only the thread.

    Raises:
        Escaped: the function raised ``KeyboardInterrupt``, ``SystemExit`` or ``GeneratorExit``.
        RuntimeError: the function raised ``StopIteration``, which no future can carry.
    """
    try:
        return function(*args)
    except StopIteration as error:
        raise RuntimeError("it raised StopIteration") from error
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        raise Escaped(error) from error


class Carried(Exception):
    """Carries an interrupt of a run from one task to the task that awaits it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


async def carried(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` as the body of a task; wrap an interrupt in :class:`Carried`, because it would stop the loop at once."""
    try:
        return await work
    except BaseException as error:
        if interrupts(error):
            raise Carried(error) from error
        raise


def seen(task: asyncio.Future[Any]) -> None:
    """Mark the error of a task as retrieved (a done callback), so that asyncio does not log an interrupt as lost."""
    if not task.cancelled():
        task.exception()
