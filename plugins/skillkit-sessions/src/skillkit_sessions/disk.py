"""Putting files on the disk in threads, so that the event loop goes on, and nobody waits who need not."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from weakref import WeakKeyDictionary, ref

__all__ = ["Syncs", "make_directory", "sync_data", "sync_directory", "wait_for_the_disk"]

_MOST = 8  # threads; syncs at the same time share a commit of the file system's journal
_MOMENT = 0.02  # seconds that syncs nobody waits for are collected: a switch between threads costs more than a sync
_SHARE = 8  # files for each thread
_LINGER = 10.0  # seconds that a thread waits for more to do
_CROWD = 64  # files that are left to the threads, each with its descriptor
_PATIENCE = 10.0  # seconds that the end of the program waits for what was begun

log = logging.getLogger("skillkit.sessions")


class Syncs:
    """The syncs of one file, counted from 1, in threads of this module.

    One is at work at a time. What is begun meanwhile is done by the next one, however often it was begun. A thread collects for
    a moment what was begun, unless somebody waits for it. Nobody has to wait: a failure is kept in :attr:`failed` until somebody
    looks.

    Args:
        work: puts everything written by now on the disk, or raises ``OSError``. It keeps what it needs open.
        among: the set in which this object is while a sync is on its way.

    Attributes:
        begun: the number of the sync that was begun last.
        done: the number up to which all are through.
        failed: the number of the last sync that failed; 0: none did.
        problem: why it failed.
    """

    __slots__ = ("__weakref__", "_among", "_at_work", "_end", "_waiting", "_work", "begun", "done", "failed", "problem")

    def __init__(self, work: Callable[[], None], among: set[Syncs]) -> None:
        self._work = work
        self._among = among
        self._at_work = False
        self._end: Callable[[], str | None] | None = None
        self._waiting: list[tuple[int, asyncio.Future[None], _Bell]] = []
        self.begun = self.done = self.failed = 0
        self.problem: OSError | None = None

    def begin(self) -> int:
        """Begin a sync of what is written by now; return its number."""
        with _mutex:
            self.begun += 1
            if self._at_work:
                return self.begun
            self._at_work = True
            self._among.add(self)
            _flying.add(self)
        _workers.take(self)
        return self.begun

    async def wait(self, number: int) -> None:
        """Wait until the sync of this number is through, with or without success. Who is cancelled does not stop it."""
        if self.done >= number:
            return
        loop = asyncio.get_running_loop()
        future, bell = loop.create_future(), _Bell.of(loop)
        with _mutex:
            if self.done >= number:
                return
            self._waiting.append((number, future, bell))
        _workers.hurry()
        await future

    @staticmethod
    def crowded() -> bool:
        """Whether so many files are on their way to the disk that who leaves another one should wait for it."""
        return len(_flying) > _CROWD

    def end(self, last: Callable[[], str | None]) -> None:
        """Call ``last`` when everything that was begun is through: now, or in a thread. What it returns is logged as an error."""
        with _mutex:
            if self._at_work:
                self._end = last
                return
        complaint = last()
        if complaint is not None:
            log.error(complaint)

    def leave(self) -> None:
        """Count as through: another process does it."""
        self._at_work, self._waiting, self.done = False, [], self.begun
        self._among.discard(self)

    def work(self) -> None:
        """Do it, on the thread that calls this."""
        number = self.begun
        problem: OSError | None = None
        try:
            self._work()
        except OSError as error:
            problem = error
        complaint = None
        with _mutex:
            if problem is not None:
                self.problem, self.failed = problem, number
            self.done = number
            more = self.begun > number
            if not more:
                self._at_work = False
                last, self._end = self._end, None
                if last is not None:
                    complaint = last()
                self._among.discard(self)
                _flying.discard(self)
            ready = [waiting for waiting in self._waiting if waiting[0] <= number]
            if ready:
                self._waiting = [waiting for waiting in self._waiting if waiting[0] > number]
        if more:
            _workers.take(self)
            if self._waiting:
                _workers.hurry()
        for _, future, bell in ready:
            bell.ring(future)
        if complaint is not None:
            log.error(complaint)


class _Bell:
    """Wakes one loop for all who wait on it and are through by the time it looks, not for each."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._done: deque[asyncio.Future[None]] = deque()
        self._rung = False

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> _Bell:
        bell = _bells.get(loop)
        if bell is None:
            bell = _bells[loop] = cls(loop)
        return bell

    def ring(self, future: asyncio.Future[None]) -> None:
        """From any thread."""
        self._done.append(future)
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
            future = self._done.popleft()
            if not future.done():
                future.set_result(None)


_bells: WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell] = WeakKeyDictionary()


class _Workers:
    """A few threads that end when there is nothing to do for a while, and never keep the process alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: deque[Syncs] = deque()
        self._calls: SimpleQueue[bool] = SimpleQueue()  # each wakes a thread, which collects first or helps at once
        self._pause = threading.Lock()  # held: whoever collects waits for what is begun in this moment
        self._pause.acquire()
        self._collecting = False
        self._threads = self._idle = 0

    def take(self, syncs: Syncs) -> None:
        """Do this in a moment, with what is taken until then."""
        with self._lock:
            self._due.append(syncs)
            if self._collecting:
                return
            self._collecting = True
        self._call(True)

    def hurry(self) -> None:
        """Do now what was taken."""
        with self._lock:
            if self._collecting and self._pause.locked():
                self._pause.release()

    def _call(self, collect: bool) -> None:
        self._calls.put(collect)
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
                collect = self._calls.get_nowait()
            except Empty:
                with self._lock:
                    self._idle += 1
                try:
                    collect = self._calls.get(timeout=_LINGER)
                except Empty:
                    with self._lock:
                        if not self._idle:  # somebody counts on this thread
                            continue
                        self._idle -= 1
                        self._threads -= 1
                    return
            if collect:
                self._collect()
            while self._due:
                try:
                    syncs = self._due.popleft()
                except IndexError:  # another thread was quicker
                    break
                syncs.work()
                del syncs  # it leads to the loop, which may be closed long before the next one comes

    def _collect(self) -> None:
        self._pause.acquire(timeout=_MOMENT)
        with self._lock:
            self._pause.acquire(blocking=False)  # for the next one
            self._collecting = False
            helpers = min(len(self._due) // _SHARE, _MOST - 1)
        for _ in range(helpers):
            self._call(False)


_workers = _Workers()
_mutex = threading.Lock()
_flying: set[Syncs] = set()


def _forked() -> None:
    """The threads stayed in the parent, and what they do is its business: here nobody waits for it."""
    global _mutex, _workers
    _workers, _mutex = _Workers(), threading.Lock()
    for syncs in list(_flying):
        syncs.leave()
    _flying.clear()


def wait_for_the_disk() -> None:
    """Wait for what is on its way, ten seconds at most. At the end of the program, for the threads end with it."""
    give_up = time.monotonic() + _PATIENCE
    while _flying and time.monotonic() < give_up:
        _workers.hurry()
        time.sleep(0.001)


os.register_at_fork(after_in_child=_forked)
atexit.register(wait_for_the_disk)


def sync_data(fd: int) -> None:
    """Put the content of a file on the disk, and of what is known about it only what is needed to read it again."""
    getattr(os, "fdatasync", os.fsync)(fd)  # macOS has only the other one


def make_directory(path: Path) -> list[Path]:
    """Make a directory with its parents; return the directories that have a new name in them, which the disk may not have."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [one.parent for one in missing]


def sync_directory(path: Path) -> None:
    """Put the names in a directory on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
