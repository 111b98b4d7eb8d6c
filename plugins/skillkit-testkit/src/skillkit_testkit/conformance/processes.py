"""A command with a stubborn grandchild, and a way to know that it is gone without asking for process ids."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import threading
from pathlib import Path

__all__ = ["GRANDCHILD", "Family"]

# Run as `python -c GRANDCHILD lockfile`. The grandchild ignores SIGTERM, holds a lock for as long as it lives and shares
# the command's output; the command says "ready" and waits for it.
GRANDCHILD = """
import subprocess, sys
code = '''
import fcntl, os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
file.truncate(0); file.write(str(os.getpid())); file.flush()
print("ready", flush=True)
while True: signal.pause()
'''
subprocess.run([sys.executable, "-c", code, sys.argv[1]])
"""


class Family:
    """The processes that :data:`GRANDCHILD` starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = path / "alive"
        self.lock.write_text("")

    def gone(self, timeout: float = 20.0) -> bool:
        """Whether the grandchild is dead, or dies within ``timeout`` seconds: the kernel gives its lock free then."""
        got = threading.Event()

        def wait() -> None:
            with self.lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                got.set()

        threading.Thread(target=wait, daemon=True).start()
        return got.wait(timeout)

    def end(self) -> None:
        """Kill the grandchild if it is alive, so that a failing test leaves nothing behind."""
        with self.lock.open("r+") as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return  # nobody holds it
            pid = file.read().strip()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
