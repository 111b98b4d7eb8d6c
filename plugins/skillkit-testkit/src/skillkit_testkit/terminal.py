"""Runs a program at a pseudo-terminal: what a person sees there, and what a person types."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fork_server import Forked, ForkServer

__all__ = ["Terminal", "screen_text"]

_TICK = 0.05
"""Seconds between two looks at whether the program has ended."""


class Terminal:
    """A program that runs at a terminal of its own, as the leader of its session.

    Use it as a context manager: the program is killed when the block is left before the program ended.

    Attributes:
        process: the program.
        seen: everything that the program has written so far, in bytes.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        columns: int = 100,
        rows: int = 40,
        timeout: float = 60.0,
        server: ForkServer | None = None,
    ) -> None:
        """Start the program.

        Args:
            argv: the program and its arguments.
            cwd: the folder in which the program starts; none: this process's.
            env: its whole environment, to which ``TERM=xterm-256color`` is added where ``TERM`` is missing; none: a
                copy of this process's, with that ``TERM``.
            columns: width of the screen in characters.
            rows: height of the screen in lines.
            timeout: seconds of silence after which ``wait_for`` and ``wait`` give up.
            server: what forks the process, of which ``argv`` is ``skillkit`` with its arguments; none: it is started.
        """
        self._timeout = timeout
        self._place = 0
        self.seen = b""
        # This process keeps the other end open: Linux may drop what the program wrote last once nobody holds it.
        self._leader, self._follower = pty.openpty()
        fcntl.ioctl(self._follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        whole = {"TERM": "xterm-256color", **env} if env is not None else {**os.environ, "TERM": "xterm-256color"}
        screen = (self._follower, self._follower, self._follower)
        forked = server and server.start(argv, screen, whole, cwd or Path.cwd(), terminal=True)
        self.process: subprocess.Popen[bytes] | Forked = forked or subprocess.Popen(
            list(argv), stdin=self._follower, stdout=self._follower, stderr=self._follower, cwd=cwd, env=whole,
            start_new_session=True, preexec_fn=_take_terminal,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """Everything that the program has written so far, with ``\\n`` at the end of a line."""
        return self.seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def send(self, keys: str | bytes) -> None:
        """Type these keys."""
        os.write(self._leader, keys.encode() if isinstance(keys, str) else keys)

    def wait_for(self, text: str | bytes) -> None:
        """Wait until this text was written after the text that the last call waited for.

        Raises:
            AssertionError: the program ended or was silent for too long; shows what it wrote.
        """
        wanted = text.encode() if isinstance(text, str) else text
        while (found := self.seen.find(wanted, self._place)) < 0:
            if not self._read():
                raise AssertionError(f"{text!r} was never written after byte {self._place} of:\n{self.text}")
        self._place = found + len(wanted)

    def wait(self) -> int:
        """Read until the program has ended; return its exit code.

        Raises:
            AssertionError: the program was silent for too long; shows what it wrote.
        """
        while self._read():
            pass
        if self.process.poll() is None:
            raise AssertionError(f"the program did not end after:\n{self.text}")
        return self.process.wait()

    def resize(self, columns: int, rows: int) -> None:
        """Give the screen another size; the program gets ``SIGWINCH``."""
        fcntl.ioctl(self._follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> bool:
        """Read what there is; False: the program has ended and everything was read, or it was silent too long."""
        until = time.monotonic() + self._timeout
        while True:
            ended = self.process.poll() is not None
            if select.select([self._leader], [], [], 0 if ended else _TICK)[0]:
                self.seen += os.read(self._leader, 65536)
                return True
            if ended or time.monotonic() > until:
                return False

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._leader)
        os.close(self._follower)


def screen_text(screen: Any) -> str:
    """Return the text on a screen of `pyte <https://pyte.readthedocs.io>`_, without the blanks at the ends of its lines.

    Tests look hundreds of times: only cells that were written count, where ``screen.display`` measures every cell.

    Args:
        screen: a ``pyte.Screen``.
    """
    rows = [screen.buffer.get(y) or {} for y in range(screen.lines)]
    lines = ["".join(row[x].data for x in range(max(row, default=-1) + 1)) for row in rows]
    return "\n".join(line.rstrip() for line in lines).rstrip()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
