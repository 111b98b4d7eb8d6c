"""The processes of an isolated plugin: ``python -m skillkit_isolation.child FD``, where FD is one end of a socket pair.

The process that is started is a keeper. It runs nothing of the plugin: it waits for the end of its stdin, which ends with the
host whatever ends that, and for the end of the worker below it, and then kills all that is left. The worker holds the plugin.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys

from skillkit_process import adopt_orphans, confine, end_children, end_with_parent

__all__ = ["main"]


def main() -> None:
    """Keep a worker, or be it."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    keeper, ended = os.getpid(), list[int]()
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: ended.append(number))
    adopt_orphans()
    worker = os.fork()
    if worker:
        channel.close()
        status = _keep(worker, woken, ended)
        end_children()
        os._exit(status)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for descriptor in (null, woken, wakes):
        os.close(descriptor)
    from .worker import serve

    confined = confine()
    serve(channel, confined)


def _keep(worker: int, woken: int, ended: list[int]) -> int:
    """Wait for the end of the worker or of the host; return the exit status of the worker, 128 + N for a signal N."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what the plugin prints ends with the plugin
    os.dup2(null, 2)
    while not ended:
        ready, _, _ = select.select([0, woken], [], [])
        if 0 in ready:
            break
        os.read(woken, 4096)
        while (one := _reaped()) is not None:
            if one[0] == worker:
                return one[1] if one[1] >= 0 else 128 - one[1]
    return 0


def _reaped() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


if __name__ == "__main__":
    main()
