"""Waiting for a fact: an event of an agent, a change of files, the end of a process. A fact that does not come fails the test."""

from __future__ import annotations

import asyncio
import ctypes
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillkit_core import EventBus

__all__ = ["PATIENCE", "until", "until_changed", "until_ended", "until_event"]

PATIENCE = 60.0  # seconds after which a fact does not come any more
_CHANGES = (
    0x00000002 | 0x00000008 | 0x00000080 | 0x00000100 | 0x00000200
)  # inotify(7): modify, close, moved, create, delete
_ELSEWHERE = 0.02  # seconds between two looks, on systems that tell nothing


async def until(holds: Callable[[], object]) -> None:
    """Wait until something is true that other tasks of this loop bring: ``holds`` is asked after each turn of the loop.

    Raises:
        AssertionError: it does not come true.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - other tasks, threads and sockets bring it
                await asyncio.sleep(0)
    except TimeoutError:
        raise AssertionError(f"it did not come true within {PATIENCE:g} s: {holds}") from None


async def until_event(holds: Callable[[], object], events: EventBus) -> None:
    """Wait until something is true that an event brings: ``holds`` is asked now, and after each event of ``events``.

    Raises:
        AssertionError: it does not come true.
    """
    happened = asyncio.Event()
    stop = events.observe(lambda event: happened.set())
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await happened.wait()
                happened.clear()
    except TimeoutError:
        raise AssertionError(f"no event made it true within {PATIENCE:g} s: {holds}") from None
    finally:
        stop()


def until_changed(holds: Callable[[], object], folder: Path) -> None:
    """Wait until something is true of the files in ``folder``: ``holds`` is asked now, and after each change there.

    Folders below it are not watched. Call it in a thread (``asyncio.to_thread``) where a loop has to go on.

    Raises:
        AssertionError: it does not come true.
    """
    end = time.monotonic() + PATIENCE
    watch = _watch(folder)
    try:
        while not holds():
            left = end - time.monotonic()
            assert left > 0, f"no change of {folder} made it true within {PATIENCE:g} s: {holds}"
            if watch is None:
                time.sleep(_ELSEWHERE)
            elif select.select([watch], [], [], left)[0]:
                os.read(watch, 65_536)
    finally:
        if watch is not None:
            os.close(watch)


def until_ended(pid: int) -> None:
    """Wait until a process has ended, whoever its parent is; one that is not there has ended.

    Raises:
        AssertionError: it goes on.
    """
    if not hasattr(os, "pidfd_open"):
        _until_ended_elsewhere(pid)
        return
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], PATIENCE)[0], f"process {pid} goes on after {PATIENCE:g} s"
    finally:
        os.close(handle)


def _watch(folder: Path) -> int | None:
    """Return a descriptor that is ready to be read when something in a folder changes; ``None`` where there is no inotify."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    handle = int(libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
    if handle < 0 or libc.inotify_add_watch(handle, os.fsencode(folder), _CHANGES) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))
    return handle


def _until_ended_elsewhere(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(_ELSEWHERE)
    raise AssertionError(f"process {pid} goes on after {PATIENCE:g} s")
