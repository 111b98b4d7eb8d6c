"""Waiting for the disk in threads, so that the event loop goes on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue
from weakref import WeakKeyDictionary, ref

__all__ = ["Sync", "sync_directory"]

_MOST = 8  # threads; syncs at the same time share a commit of the file system's journal
_LINGER = 10.0  # seconds that a thread waits for more to do


class Sync:
    """One ``fsync`` of a file, and of the directory that names it, in a thread of this module.

    asyncio's own executor does the same with several locks, futures and steps of the loop more for each; a turn with a
    session file waits for the disk twice, and felt it.

    Args:
        fd: the file; it must stay open until :attr:`done`.
        directory: synced after the file; ``None``: only the file.

    Attributes:
        done: whether the thread is through with it. problem: why it failed.
    """

    __slots__ = ("_bell", "_directory", "_fd", "_future", "_loop", "done", "problem")

    def __init__(self, fd: int, directory: Path | None) -> None:
        self._fd = fd
        self._directory = directory
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()
        self._bell = _Bell.of(self._loop)
        self.done = False
        self.problem: OSError | None = None
        _workers.take(self)

    async def wait(self) -> None:
        """Wait for it. Who is cancelled here does not stop it, and may wait again, also on another loop.

        Raises:
            OSError: the disk did not take it.
        """
        if asyncio.get_running_loop() is not self._loop:
            while not self.done:  # noqa: ASYNC110 - the loop that began it may be closed, and tell nobody
                await asyncio.sleep(0.001)
        elif not self.done:
            if self._future.done():
                self._future = self._loop.create_future()
            await self._future
        if self.problem is not None:
            raise self.problem

    def work(self) -> None:
        """Do it, on the thread that calls this."""
        try:
            os.fsync(self._fd)
            if self._directory is not None:
                sync_directory(self._directory)
        except OSError as error:
            self.problem = error
        self.done = True
        self._bell.ring(self)

    def wake(self) -> None:
        """Tell who waits, on the loop."""
        if not self._future.done():
            self._future.set_result(None)


class _Bell:
    """Wakes one loop for all syncs that are done by the time it looks, not for each."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._done: deque[Sync] = deque()
        self._rung = False

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> _Bell:
        bell = _bells.get(loop)
        if bell is None:
            bell = _bells[loop] = cls(loop)
        return bell

    def ring(self, sync: Sync) -> None:
        """From any thread."""
        self._done.append(sync)
        loop = self._loop()
        if self._rung or loop is None:
            return
        self._rung = True
        try:
            loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # the loop is closed: nobody waits on it any more
            self._done.clear()

    def _answer(self) -> None:
        self._rung = False  # before the look: what comes after it rings again
        while self._done:
            self._done.popleft().wake()


_bells: WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell] = WeakKeyDictionary()


class _Workers:
    """A few threads that end when there is nothing to do for a while, and never keep the process alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Sync] = SimpleQueue()
        self._threads = 0
        self._idle = 0

    def take(self, sync: Sync) -> None:
        self._waiting.put(sync)
        with self._lock:
            if self._idle:
                self._idle -= 1  # that one wakes up
                return
            if self._threads >= _MOST:
                return
            self._threads += 1
        threading.Thread(target=self._serve, name="skillkit fsync", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                sync = self._waiting.get_nowait()
            except Empty:
                with self._lock:
                    self._idle += 1
                try:
                    sync = self._waiting.get(timeout=_LINGER)
                except Empty:
                    with self._lock:
                        if not self._idle:  # somebody counts on this thread
                            continue
                        self._idle -= 1
                        self._threads -= 1
                    return
            sync.work()
            del sync  # it leads to the loop, which may be closed long before the next one comes


def _forked() -> None:
    """The threads stayed in the parent."""
    global _workers
    _workers = _Workers()


_workers = _Workers()
os.register_at_fork(after_in_child=_forked)


def sync_directory(path: Path) -> None:
    """Put the names in a directory on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
