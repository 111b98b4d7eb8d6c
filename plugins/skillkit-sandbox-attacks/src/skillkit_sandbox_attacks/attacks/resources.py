# ruff: noqa
# mypy: ignore-errors
"""Attacks by amount, where the policy has limits."""

from __future__ import annotations

import mmap
import os
import signal
import time

from .attack import STAGE, attack, project, quiet


@attack(limits=True, lack="limits.processes")
def fork_flood():
    most, pids = STAGE["limits"]["processes"] * 3, []
    try:
        for _ in range(most):
            if (pid := os.fork()) == 0:
                signal.pause()
            pids.append(pid)
        return f"{most} processes"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def touched(megabytes):
    memory = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, megabytes << 20, 4096):
        memory[at] = 1
    return memory


@attack(limits=True)
def memory_flood():
    touched(STAGE["limits"]["memory_mb"] * 2)
    return "all of it"


@attack(limits=True, lack="limits.memory_mb")
def memory_flood_children():
    read, write = os.pipe()
    pids = []
    for _ in range(5):
        if (pid := os.fork()) == 0:
            held = touched(STAGE["limits"]["memory_mb"] // 2)
            os.write(write, b"x")
            signal.pause()
            del held
        pids.append(pid)
    os.close(write)
    got, deadline = b"", time.monotonic() + 15
    os.set_blocking(read, False)
    while len(got) < 5 and time.monotonic() < deadline:
        with quiet(BlockingIOError):
            if not (piece := os.read(read, 10)):
                break
            got += piece
        if any(os.waitpid(pid, os.WNOHANG) != (0, 0) for pid in pids):
            break
        time.sleep(0.01)
    for pid in pids:
        with quiet(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return "all of it" if len(got) == 5 else None


def filled(path, megabytes):
    with open(path, "wb", buffering=0) as file:
        for _ in range(megabytes):
            file.write(b"x" * (1 << 20))
    return os.path.getsize(path)


@attack(limits=True)
def disk_flood():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = STAGE["limits"]["disk_mb"] * 2
    claims = []
    for path in (project("flood"), "/tmp/flood"):
        with quiet():
            filled(path, size)
            claims.append(path)
        with quiet():
            os.unlink(path)
    return " ".join(claims)


@attack(limits=True, lack="limits.disk_mb")
def tmp_flood_many():
    size = STAGE["limits"]["disk_mb"]
    for folder in ("/tmp", os.environ.get("TMPDIR")):
        with quiet(TypeError):
            for n in range(5):
                filled(f"{folder}/many{n}", size // 2)
            return "all of it"


@attack(limits=True)
def descriptor_flood():
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(STAGE["limits"]["open_files"] * 4)]
    return f"{len(fds)} files"
