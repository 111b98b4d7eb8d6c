"""A time limit for code of plugins that runs on the main thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["PluginTimeout", "time_limit"]


class PluginTimeout(BaseException):
    """The plugin took too long. Not an ``Exception``, so that its own handlers do not catch it."""


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Raise :class:`PluginTimeout` in the body after ``seconds`` of wall time.

    Works on the main thread of a POSIX process, and only while nobody else uses the interval timer; elsewhere the body
    runs without a limit. A blocking system call is interrupted; C code that never returns to Python is not.
    """
    usable = (
        seconds > 0
        and threading.current_thread() is threading.main_thread()
        and hasattr(signal, "setitimer")
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
    if not usable:
        yield
        return

    def on_alarm(signum: int, frame: FrameType | None) -> None:
        raise PluginTimeout(f"{what} took longer than {seconds:g} s")

    previous: Any = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
