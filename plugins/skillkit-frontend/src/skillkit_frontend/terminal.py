"""One line that a person types at the plain terminal, where no front end has taken it."""

from __future__ import annotations

import asyncio
import os
import sys

from skillkit_core.cli.output import echo

__all__ = ["answer_to"]


async def answer_to(question: str) -> str:
    """Ask at the terminal and return the line that is typed from then on. Several lines at once were pasted: ask again."""
    while True:
        if sys.stdin.isatty():
            from termios import TCIFLUSH, tcflush  # where there is no such module, nobody is asked at a terminal

            tcflush(sys.stdin.fileno(), TCIFLUSH)
        echo(question, err=True, nl=False)
        line = await _line_of_stdin()
        import select

        if not line or not select.select([sys.stdin], [], [], 0)[0]:
            return line.strip()
        echo("what is pasted answers nothing", err=True)


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

    loop.add_reader(descriptor, ready)
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)
