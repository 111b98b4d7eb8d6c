"""One running command: reads its output, notices how it ends, ends it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import threading
import time
from array import array
from collections.abc import Callable
from fcntl import ioctl
from termios import FIONREAD
from typing import Literal, TypeAlias

from skillkit_core.abort import AbortSignal

from .capture import Capture
from .process import Started
from .tree import Tree

__all__ = ["DRAIN", "GRACE", "End", "Run"]

CHUNK = 256 * 1024
GRACE = 2.0  # seconds between SIGTERM and SIGKILL (spec, section 7)
DRAIN = 0.25  # seconds that processes in the background get after the command has exited
LOOK = 3.0  # seconds until the first look for a program that waits for a terminal; each later look waits twice as long
KILLING = 15.0  # seconds in which a tree that goes on starting processes is killed again and again

End: TypeAlias = Literal["exited", "timeout", "aborted", "terminal"]


class _Pipe:
    """The reading end of one output pipe."""

    __slots__ = ("_fail", "_loop", "_on_end", "capture", "fd")

    def __init__(
        self,
        fd: int,
        capture: Capture,
        loop: asyncio.AbstractEventLoop,
        on_end: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self.fd = fd
        self.capture = capture
        self._loop = loop
        self._on_end = on_end
        self._fail = fail
        loop.add_reader(fd, self.read)

    def read(self) -> int:
        """Hand on what is there, at most one chunk. Returns how many bytes that was."""
        if self.fd < 0:
            return 0
        try:
            data = os.read(self.fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return 0
        try:
            if data:
                self.capture.feed(data)
            else:
                self.close()
                self.capture.end()
        except Exception as error:  # noqa: BLE001 - the subscriber's error: ends the run, raised by execute()
            self.capture.mute()
            self._fail(error)
        return len(data)

    def sweep(self) -> None:
        """Read what the pipe holds now, and not what a survivor keeps writing."""
        if self.fd < 0:
            return
        waiting = array("i", [0])
        ioctl(self.fd, FIONREAD, waiting)
        left = waiting[0]
        while left > 0 and (count := self.read()):
            left -= count

    def close(self) -> None:
        """Stop reading. Idempotent."""
        if self.fd >= 0:
            self._loop.remove_reader(self.fd)
            os.close(self.fd)
            self.fd = -1
            self._on_end()


class Run:
    """A started command and everything that the host holds for it. Used on one loop; :meth:`close` releases it all."""

    def __init__(self, started: Started, stdout: Capture, stderr: Capture) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._process = started.process
        self._ended: asyncio.Future[End] = loop.create_future()
        self._silent: asyncio.Future[None] = loop.create_future()
        self._tree = Tree(self._process.pid, [os.fstat(fd).st_ino for fd in (started.stdout, started.stderr)])
        self._open = 2
        self._pipes = [
            _Pipe(fd, capture, loop, self._pipe_ended, self._failed)
            for fd, capture in ((started.stdout, stdout), (started.stderr, stderr))
        ]
        self._stop_watching = _watch(self._process, loop, lambda: self._settle("exited"))

    @property
    def exit_code(self) -> int | None:
        """Exit status, negative for a signal; ``None`` while it is not known."""
        return self._process.returncode

    async def wait(self, timeout: float | None, signal: AbortSignal | None) -> End:
        """Wait until the command has exited, ``timeout`` seconds are over, ``signal`` is set, or it waits for a terminal.

        Raises:
            Exception: what a subscriber raised.
        """
        timer = None if timeout is None else self._loop.call_later(timeout, self._settle, "timeout")
        self._looker = self._loop.call_later(LOOK, self._look, LOOK)
        remove = None if signal is None else signal.add_callback(self._abort_from_any_thread)
        try:
            return await self._ended
        finally:
            self._looker.cancel()
            if timer is not None:
                timer.cancel()
            if remove is not None:
                remove()

    async def finish(self) -> None:
        """After the exit: take what is still in the pipes, end what was left in the background.

        Those get :data:`DRAIN` seconds for last words, or to leave for a session of their own.
        """
        deadline = time.monotonic() + DRAIN
        if not self._silent.done():
            await asyncio.wait([self._silent], timeout=DRAIN)
        self._process.poll()  # while the group has a member its number is not given to anybody else
        pause = 0.001
        while self._tree.group_alive():
            if time.monotonic() >= deadline:
                await self.end()
                break
            await asyncio.sleep(pause)
            pause *= 2
        self._sweep()

    async def end(self) -> None:
        """End the tree: SIGTERM, :data:`GRACE` seconds, SIGKILL; then the leader is reaped and the pipes are empty."""
        self._tree.terminate()
        deadline = time.monotonic() + GRACE
        pause = 0.002
        while self._tree.alive() and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
        deadline = time.monotonic() + KILLING
        # who hops from one session to the next may be missed by a look, but holds the pipes open
        while self._tree.kill() or not (self._reaped() and self._silent.done()):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.005)
        self._tree.reap_orphans()
        self._sweep()

    def kill_now(self) -> None:
        """End the tree without waiting for anybody's loop: SIGKILL, at most a second for the leader to go."""
        for pipe in self._pipes:
            pipe.capture.mute()
        deadline = time.monotonic() + 1.0
        while (self._tree.kill() or not self._reaped()) and time.monotonic() < deadline:
            time.sleep(0.002)  # only after a second cancellation: the caller wants to be gone
        self._tree.reap_orphans()

    def close(self) -> None:
        """Release descriptors and callbacks. Idempotent."""
        for pipe in self._pipes:
            pipe.close()
        self._stop_watching()
        if not self._ended.done():
            self._ended.cancel()

    def _reaped(self) -> bool:
        return self._process.poll() is not None

    def _sweep(self) -> None:
        for pipe in self._pipes:
            pipe.sweep()

    def _look(self, waited: float) -> None:
        if self._tree.reads_its_output():
            self._settle("terminal")
        else:
            self._looker = self._loop.call_later(2 * waited, self._look, 2 * waited)

    def _settle(self, end: End) -> None:
        if not self._ended.done():
            self._ended.set_result(end)

    def _failed(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)

    def _abort_from_any_thread(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, "aborted")

    def _pipe_ended(self) -> None:
        self._open -= 1
        if not self._open and not self._silent.done():
            self._silent.set_result(None)


def _watch(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, notify: Callable[[], None]
) -> Callable[[], None]:
    """Call ``notify()`` on the loop once the process has exited, without reaping it. Returns a function that stops."""
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return _watch_by_thread(process, loop, notify)

    def exited() -> None:
        loop.remove_reader(fd)
        notify()

    def stop() -> None:
        nonlocal fd
        if fd >= 0:
            loop.remove_reader(fd)
            os.close(fd)
            fd = -1

    loop.add_reader(fd, exited)
    return stop


def _watch_by_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, notify: Callable[[], None]
) -> Callable[[], None]:
    """The same where there are no pidfds (macOS, old kernels): a thread waits."""

    def wait() -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(notify)

    threading.Thread(target=wait, name=f"skillkit-bash-{process.pid}", daemon=True).start()
    return lambda: None
