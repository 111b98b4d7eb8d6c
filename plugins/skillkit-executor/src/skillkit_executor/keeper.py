"""Runs one program and leaves nothing of it behind, not even when a signal kills the program: ``keeper.py -- PROGRAM ...``.

On Linux the keeper is the parent that orphans below it get. Whatever is left when the program has ended is killed, whichever
group or session it made for itself. The keeper needs only the standard library, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process, where the system has it."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def children() -> list[int]:
    """Return the processes whose parent is this one."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123
        return [int(pid) for pid in file.read().split()]


def sweep() -> None:
    """Kill what is left, and wait for it. Killing a process gives its children to this one."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):
        while left := children():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def main(argv: list[str]) -> int:
    """Run ``argv`` with the descriptors 0, 1 and 2, and return its exit status; 128 + N for a signal N."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent = os.getpid()
    program = os.fork()
    if program == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(125)
        try:
            os.execvp(argv[0], argv)  # noqa: S606
        except OSError as error:
            os.write(2, f"{argv[0]!r} cannot be started: {error.strerror}\n".encode())
            os._exit(127)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, frame: os.kill(program, n))
    # the pipes belong to the program alone, so that their end is its end
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    status = 0
    while True:
        pid, how = os.wait()
        if pid == program:
            status = how
            break
    sweep()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
