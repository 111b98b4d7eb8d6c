"""How a front end ends: a signal, or a terminal that goes away, ends it in time, whatever its loop or a plugin is doing."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError, raised_at

from .tasks import run_tasks

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["ends_in_time", "lived"]

SIGNAL = 1.5
"""Seconds that a front end has to leave after a signal, before the process ends on the spot."""
GONE = 0.7
"""The same where its terminal went away."""
_RESET = b"\x1b[?1049l\x1b[?2004l\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[?25h\r\n"
"""Leave the other screen, take no more pastes, mouse and keys of the protocol of kitty, show the cursor."""


def lived(work: Coroutine[Any, Any, int], host: Host | None = None) -> int:
    """Run a front end, to which Ctrl-C is a key; return its exit code: that of SIGHUP where its terminal went away.

    Args:
        work: the front end.
        host: a plugin of it whose handler cancels the front end's tasks has failed, and they go on; default: they end.

    Raises:
        SkillKitError: a plugin raised ``KeyboardInterrupt``.
    """
    terminal = _terminal()
    try:
        return run_tasks(host, work) if host is not None else asyncio.run(work)
    except OSError as error:
        if terminal is None or error.errno != errno.EIO or _terminal() is not None:
            raise
        return 128 + signal.SIGHUP
    except KeyboardInterrupt as error:
        place = raised_at(error)
        if place is None or Path(place.rpartition(":")[0]).parent.name == "asyncio":  # SIGINT came
            raise
        raise SkillKitError("a plugin ended the conversation: it raised KeyboardInterrupt", where=place) from error


@contextmanager
def ends_in_time(leave: Callable[[int], None]) -> Iterator[None]:
    """Let SIGTERM, SIGHUP, and the end of the terminal, end the front end that runs meanwhile.

    ``leave`` is called on the loop with the exit code. A process that is still there some time later ends on the spot: no handler
    and no driver that loops keeps a session. A second signal does not wait. What is on the disk stays: sessions are written line
    by line, and the system takes their locks back.

    Args:
        leave: ends the front end; it may be called more than once.
    """
    loop = asyncio.get_running_loop()
    ending, terminal = threading.Event(), _terminal()

    def end(number: int, seconds: float) -> None:
        if ending.is_set():
            _stop(128 + number, terminal)
        ending.set()
        last = threading.Timer(seconds, _stop, (128 + number, terminal))
        last.daemon = True
        last.start()
        with suppress(RuntimeError):  # the loop is closed: it is ending
            loop.call_soon_threadsafe(leave, 128 + number)

    def gone() -> None:
        if not ending.is_set():
            end(signal.SIGHUP, GONE)

    # plain handlers, not the loop's: a handler of a plugin may hold the loop up
    before = {
        number: signal.signal(number, lambda number, frame: end(number, GONE if number == signal.SIGHUP else SIGNAL))
        for number in (signal.SIGTERM, signal.SIGHUP)
    }
    over, say_over = os.pipe()
    threading.Thread(target=_watch, args=(terminal, over, gone), daemon=True).start()
    try:
        yield
    finally:
        os.close(say_over)
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminal() -> tuple[int, Any] | None:
    """Return the terminal that a person types at, and how it is set."""
    import termios

    try:
        number = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        return number, termios.tcgetattr(number)
    except (OSError, ValueError, termios.error):
        return None


def _watch(terminal: tuple[int, Any] | None, over: int, gone: Callable[[], object]) -> None:
    """Wait, in a thread, until the terminal is gone or the front end has ended."""
    poll = select.poll()
    poll.register(over, 0)
    if terminal is not None:
        poll.register(terminal[0], 0)  # a hang-up is always told
    found = [number for number, _ in poll.poll()]
    os.close(over)
    if over not in found:
        gone()


def _stop(code: int, terminal: tuple[int, Any] | None) -> None:
    """End the process on the spot, and leave a terminal in which a person can go on."""
    import termios

    if terminal is not None:
        with suppress(OSError, termios.error):
            os.write(terminal[0], _RESET)
            termios.tcsetattr(terminal[0], termios.TCSANOW, terminal[1])
    os._exit(code)
