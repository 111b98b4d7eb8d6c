"""A keeper runs one program and leaves nothing of it behind, not even when a signal kills the program.

On Linux the keeper becomes the parent of every orphan below it. When the program has ended, the keeper kills what is left,
whichever group or session that made for itself. :func:`command` gives the command line of a keeper.

A sandbox has a keeper in its launcher, which starts with every command: this module imports only what costs nothing.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal itself imports enum
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["adopt_orphans", "command", "end_children", "end_with_parent", "main", "wait_for"]

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def command(argv: Sequence[str]) -> list[str]:
    """Return the command line that runs ``argv`` below a keeper. Its exit status is 128 + N for a signal N."""
    return [sys.executable, "-I", "-S", __file__, "--", *argv]


def adopt_orphans() -> None:
    """Make this process the parent of orphans below it, where the system has that (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(number: int) -> None:
    """Ask for the signal ``number`` when the parent ends, where the system has that (Linux).

    The parent may have ended before: compare :func:`os.getppid` afterwards.
    """
    _prctl(_PR_SET_PDEATHSIG, number)


def wait_for(wanted: int) -> int:
    """Wait for one of the children, and return its exit status as a shell has it: 128 + N for a signal N."""
    while True:
        pid, status = os.wait()
        if pid == wanted:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def end_children() -> None:
    """Kill every child and wait for it.

    The children of a killed process become children of a process that adopts orphans, and are killed in turn.
    """
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                continue
        except ChildProcessError:
            return
        children = _children()
        if children is None:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has just ended
        if children:  # the list may miss one while another ends
            os.wait()


def _children() -> list[int] | None:
    """Return the children of this process, which has one thread; ``None`` where the system does not say."""
    me = str(os.getpid())
    try:
        with open(f"/proc/self/task/{me}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        pass  # a kernel without this file, or another system
    if not os.path.isdir("/proc/self"):
        return None
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as file:
                if file.read().rpartition(")")[2].split()[1] == me:
                    found.append(int(name))
        except (OSError, ValueError, IndexError):
            pass  # it has just ended, or is no process
    return found


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(argv: list[str]) -> int:
    """Run ``argv`` with the descriptors 0, 1 and 2, end what it leaves, and return its exit status as a shell has it."""
    adopt_orphans()
    keeper = os.getpid()
    program = os.fork()
    if program == 0:
        end_with_parent(signal.SIGTERM)
        if os.getppid() != keeper:
            os._exit(125)
        try:
            os.execvp(argv[0], argv)  # noqa: S606
        except OSError as error:
            os.write(2, f"{argv[0]!r} cannot be started: {error.strerror}\n".encode())
            os._exit(127)

    def forward(number: int, _frame: object) -> None:
        os.kill(program, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, forward)
    # The pipes belong to the program alone, so that their end is its end.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    status = wait_for(program)
    end_children()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
