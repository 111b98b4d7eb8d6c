"""Calling code of plugins that may raise what is no ``Exception``.

It is never swallowed (spec, section 4): ``KeyboardInterrupt``, ``SystemExit`` and a ``BaseException`` of one's own are meant for
the program, so they pass once the run is closed and its file is whole; ``CancelledError`` is the task's. The one exception is a
``GeneratorExit`` that a plugin raises: it means nothing but "this generator is closed", and would close whatever waits above
without a word, so it becomes a failure of that plugin. One that closes the coroutine that waits passes.
"""

from __future__ import annotations

import asyncio
import contextlib
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

from .errors import SkillKitError

__all__ = [
    "Carried",
    "Escaped",
    "as_failure",
    "await_contained",
    "call_contained",
    "carried",
    "in_words",
    "interrupts",
    "reason_of",
    "run_in_thread",
    "seen",
    "working_task",
]

T = TypeVar("T")


class Escaped(SkillKitError):
    """Code of a plugin raised ``GeneratorExit``, or in a thread what is meant for a program; ``__cause__`` is that."""

    def __init__(self, error: BaseException, where: str | None = None) -> None:
        if isinstance(error, SystemExit):
            message = f"it tried to end the program (SystemExit {error.code!r})"
        else:
            message = f"it raised {_plain(error)}, which is no Exception"
        super().__init__(message, where=where)
        self.__cause__ = error


def _plain(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def interrupts(error: BaseException) -> bool:
    """Whether ``error`` is meant for the program: nobody's failure, it must pass."""
    return not isinstance(error, (Exception, GeneratorExit, asyncio.CancelledError))


def reason_of(error: BaseException) -> str:
    """Why a run was aborted that ``error`` interrupted, and for all but the user's interrupt where that was raised."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted by the user"
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f", raised at {place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else ""
    return f"ended by {_plain(error)}{where}"


def in_words(error: BaseException) -> str:
    """What failed, on one line: the type and the text."""
    return str(error) if isinstance(error, Escaped) else f"{type(error).__name__}: {error}"


def call_contained(function: Callable[..., T], *args: Any, where: str | None = None) -> T:
    """``function(*args)``. ``where`` says in an :class:`Escaped` whose it is."""
    try:
        return function(*args)
    except GeneratorExit as error:
        raise Escaped(error, where) from error


@types.coroutine
def _contained(awaitable: Awaitable[Any], where: str | None) -> Generator[Any, Any, Any]:
    iterator: Any = awaitable.__await__()
    step: Callable[[], Any] = partial(next, iterator)
    while True:
        try:
            pending = step()
        except StopIteration as stop:
            return stop.value
        except GeneratorExit as error:
            raise Escaped(error, where) from error
        try:
            sent = yield pending
        except GeneratorExit:
            iterator.close()
            raise
        except BaseException as error:  # noqa: BLE001 - handed on
            step = partial(iterator.throw, error)
        else:
            step = partial(next, iterator) if sent is None else partial(iterator.send, sent)


async def await_contained(awaitable: Awaitable[T], where: str | None = None) -> T:
    """``await awaitable``. ``where`` says in an :class:`Escaped` whose it is."""
    found: T = await _contained(awaitable, where)
    return found


def working_task() -> asyncio.Task[Any] | None:
    """The task that runs this code, ``None`` outside of one."""
    with contextlib.suppress(RuntimeError):
        return asyncio.current_task()
    return None


def as_failure(error: BaseException, task: asyncio.Task[Any] | None, where: str | None = None) -> Exception:
    """``error`` as an ``Exception``; raises it again if it is nobody's failure.

    Args:
        task: the task that worked when it was raised: where it is another one now, a ``GeneratorExit`` closes the coroutine.
    """
    if isinstance(error, Exception):
        return error
    if not isinstance(error, GeneratorExit) or working_task() is not task:
        raise error
    return Escaped(error, where)


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
