"""The keys of a terminal: those that were typed before the UI had it are read first, and Alt-Enter is no Enter.

A terminal that is closed while the UI runs is written to no more.
"""

from __future__ import annotations

import contextlib
import os
import select
from typing import Any, TextIO, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys

__all__ = ["EarlyDriver"]

# Textual knows Alt-Enter only from terminals that speak the protocol of kitty, and takes that of others for Enter.
cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)


class EarlyDriver(LinuxDriver):
    """Textual's driver, which also takes what waits in the terminal's queue for what it was when it was typed.

    Until a program takes the terminal, the terminal makes a line feed of Enter; the UI would read that as Ctrl-J.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._file: Any = _Screen(cast("TextIO", self._file))

    def run_input_thread(self) -> None:
        """Pass on what waits, then what is typed."""
        waiting = b""
        while select.select([self.fileno], [], [], 0)[0] and (read := os.read(self.fileno, 4096)):
            waiting += read
        if waiting:
            parser = XTermParser()
            for part in (waiting.decode(errors="replace").replace("\n", "\r"), ""):  # "" ends an Esc that came last
                for event in parser.feed(part):
                    self.process_message(event)
        super().run_input_thread()


class _Screen:
    """What the UI writes to: the terminal, until it is closed.

    An error would end the thread of Textual that writes; what is written later fills its queue, and then the UI, which
    has the session, waits for ever.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()
