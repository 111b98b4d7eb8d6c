"""Errors of plugins that are not subclasses of ``Exception``.

They are never swallowed (spec, section 4): ``KeyboardInterrupt``, ``SystemExit`` and any other ``BaseException`` are meant for
the program, so they pass once the run is closed and its file is whole. ``CancelledError`` belongs to the task. A
``GeneratorExit`` that a plugin raises fails the run; one that closes the coroutine of the run passes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..errors import Escaped, interrupts, plain, raised_at

T = TypeVar("T")


def reason_of(error: BaseException) -> str:
    """Return why a run was aborted that ``error`` interrupted, and for all but the user's interrupt where it was raised."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted by the user"
    where = raised_at(error)
    return f"ended by {plain(error)}" + (f", raised at {where}" if where else "")


def working_task() -> asyncio.Task[Any] | None:
    """The task that runs this code, ``None`` outside of one."""
    with contextlib.suppress(RuntimeError):
        return asyncio.current_task()
    return None


def as_failure(error: BaseException, task: asyncio.Task[Any] | None) -> Exception:
    """Return ``error`` as an ``Exception``; raise it again if it is not a failure of the run.

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

    No signal of the user arrives there, and ``SystemExit`` ends a thread and not the program: both are failures of the function.

    Raises:
        Escaped: it raised one of these. RuntimeError: a ``StopIteration``, which no future takes: nobody would hear of it.
    """
    try:
        return function(*args)
    except StopIteration as error:
        raise RuntimeError("it raised StopIteration") from error
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        raise Escaped(error) from error


class Carried(Exception):
    """What interrupts a run, on its way from one task to the one that waits for it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


async def carried(work: Coroutine[Any, Any, T]) -> T:
    """``await work`` in a task of its own; what interrupts it must not leave that: most of it would stop the loop at once."""
    try:
        return await work
    except BaseException as error:
        if interrupts(error):
            raise Carried(error) from error
        raise


def seen(task: asyncio.Future[Any]) -> None:
    """As a done callback: whoever waits for the task deals with its end, so that asyncio need not complain of an interrupt."""
    if not task.cancelled():
        task.exception()
