"""One line that a person types at the plain terminal, where no front end has taken it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
from collections.abc import Iterator

from skillkit_core.cli.output import echo

from .answering import TOGETHER

__all__ = ["answer_to", "is_asked", "more_follows"]

_questions = 0  # that are open at this terminal


def is_asked() -> bool:
    """Whether a person is asked at the terminal right now: what moves there would take the question away."""
    return _questions > 0


async def answer_to(question: str, *, hidden: bool = False) -> str:
    """Ask at the terminal and return the line that is typed from then on; ask again where more follows at once, as of a paste.

    Args:
        question: the text in front of the line.
        hidden: nobody sees what is typed.
    """
    if hidden:
        with _unseen():
            line = await answer_to(question)
        echo("", err=True)  # the typed line break was not seen either
        return line
    while True:
        if sys.stdin.isatty():
            from termios import TCIFLUSH, tcflush  # where there is no such module, nobody is asked at a terminal

            tcflush(sys.stdin.fileno(), TCIFLUSH)
        echo(question, err=True, nl=False)
        line = await _line_of_stdin()
        if not line or not await asyncio.to_thread(more_follows):
            return line.strip()
        echo("\nwhat is pasted answers nothing", err=True)


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    import termios

    before = termios.tcgetattr(sys.stdin)
    unseen = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, unseen)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


async def _line_of_stdin() -> str:
    """The next line that is typed; empty when the input has ended."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()
    descriptor = sys.stdin.fileno()
    typed = b""

    def ready() -> None:
        nonlocal typed
        data = os.read(descriptor, 4096)
        typed += data
        if (not data or b"\n" in data) and not line.done():
            line.set_result(typed.decode("utf-8", "replace"))

    global _questions
    loop.add_reader(descriptor, ready)
    _questions += 1
    try:
        return await line
    finally:
        _questions -= 1
        loop.remove_reader(descriptor)


def more_follows() -> bool:
    """Whether something comes behind a line at once, if only the beginning of another line, which a terminal holds back.

    It waits for that, a moment; for use in a thread.
    """
    descriptor = sys.stdin.fileno()
    if not sys.stdin.isatty():
        return bool(select.select([descriptor], [], [], 0)[0])
    from termios import ICANON, TCSANOW, tcgetattr, tcsetattr

    kept, by_character = tcgetattr(descriptor), tcgetattr(descriptor)
    by_character[3] &= ~ICANON
    tcsetattr(descriptor, TCSANOW, by_character)
    try:
        return bool(select.select([descriptor], [], [], TOGETHER)[0])
    finally:
        tcsetattr(descriptor, TCSANOW, kept)
