"""A program that was started: reads its output, notices how it ends, ends it with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from asyncio.streams import FlowControlMixin
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, NamedTuple, TypeAlias

from skillkit_core import AbortSignal

from . import table
from .pipes import Pipe, Sink
from .start import Started, Stdin, start
from .tree import Tree

__all__ = ["DRAIN", "GRACE", "Child", "End", "Ended", "run"]

GRACE: Final = 2.0  # seconds between SIGTERM and SIGKILL (spec, section 7)
DRAIN: Final = 0.25  # seconds that processes in the background get after the program has exited
LOOK: Final = (
    3.0  # seconds until the first look for a program that waits for a terminal; each later look waits twice as long
)
KILLING: Final = 15.0  # seconds in which a tree that goes on starting processes is killed again and again
_MARK = "SKILLKIT_PROCESS"

End: TypeAlias = Literal["exited", "timeout", "aborted", "terminal"]


class Child:
    """A started program and everything that this side holds for it. It is used on one loop.

    :meth:`start` makes one, :meth:`end` ends it, with all that it started, and :meth:`close` releases what this side holds.
    Leaving an ``async with`` block does both.

    Attributes:
        pid: the program, or its keeper.
        exited: set when the program has exited; processes that it started may live.
        tree: the processes.
    """

    def __init__(
        self, started: Started, stdout: Sink, stderr: Sink, *, mark: str | None = None, kept: bool = False
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._process = started.process
        self.pid = started.process.pid
        self.exited = asyncio.Event()
        self.tree = Tree(
            self.pid, [os.fstat(fd).st_ino for fd in (started.stdout, started.stderr)], mark=mark, kept=kept
        )
        self._how: asyncio.Future[End] = loop.create_future()
        self._silent: asyncio.Future[None] = loop.create_future()
        self._stdin: asyncio.StreamWriter | None = None
        self._drained: asyncio.TimerHandle | None = None
        self._open = 2
        self._pipes = [
            Pipe(fd, sink, self._pipe_ended, self._failed)
            for fd, sink in ((started.stdout, stdout), (started.stderr, stderr))
        ]
        self._stop_watching = _watch(self._process, loop, self._noticed)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        stdout: Sink,
        stderr: Sink,
        *,
        env: Mapping[str, str],
        cwd: str | Path | None = None,
        stdin: Stdin = None,
        marked: bool = False,
        kept: bool = False,
    ) -> Child:
        """Start a program as the leader of a session of its own, without a terminal.

        Args:
            argv: the program and its arguments; no shell sees them.
            stdout: takes what the program writes there.
            stderr: takes what the program writes there.
            env: all of its variables.
            cwd: its folder.
            stdin: bytes that it reads; ``"pipe"``: what :meth:`send` sends; ``None``: nothing.
            marked: put a mark into the environment, by which its processes are found wherever they went (Linux).
            kept: start it below a keeper, which outlives it and ends whatever it leaves (:mod:`.keeper`).

        Raises:
            ToolError: it cannot be started.
        """
        mark = None
        if marked:
            value = uuid.uuid4().hex
            mark, env = f"{_MARK}={value}", {**env, _MARK: value}
        if kept:
            from .keeper import command

            argv = command(argv)
        started = start(argv, cwd=cwd, env=env, stdin=stdin)
        child = cls(started, stdout, stderr, mark=mark, kept=kept)
        if started.stdin is not None:
            file = os.fdopen(started.stdin, "wb", 0)
            try:
                transport, flow = await child._loop.connect_write_pipe(FlowControlMixin, file)
            except BaseException:
                file.close()
                child.kill()
                child.close()
                raise
            child._stdin = asyncio.StreamWriter(transport, flow, None, child._loop)
        return child

    async def __aenter__(self) -> Child:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            await self.end()
        finally:
            self.close()

    @property
    def code(self) -> int | None:
        """The exit status, negative for a signal; ``None`` while the program runs.

        The program is not reaped before its end was asked for, so that its number stays its own.
        """
        if self._process.returncode is not None or not self.exited.is_set():
            return self._process.returncode
        if not hasattr(os, "waitid"):
            return self._process.poll()
        with contextlib.suppress(ChildProcessError):
            how = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if how is not None:
                return how.si_status if how.si_code == os.CLD_EXITED else -how.si_status
        return None

    async def send(self, data: bytes) -> None:
        """Write to stdin, and wait where the program is slow. Nothing happens when the program reads no more."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)
            with contextlib.suppress(ConnectionError):
                await self._stdin.drain()

    def end_input(self) -> None:
        """End stdin, after what was sent."""
        if self._stdin is not None:
            self._stdin.close()

    def children(self) -> list[int]:
        """Return the processes that the program, or its keeper, started itself and that have not ended."""
        return table.children(self.pid)

    async def wait(self, timeout: float | None = None, abort: AbortSignal | None = None) -> End:
        """Wait until the program has exited, ``timeout`` seconds are over, ``abort`` is set, or it waits for a terminal.

        Raises:
            Exception: what a sink raised.
        """
        timer = None if timeout is None else self._loop.call_later(timeout, self._settle, "timeout")
        self._looker = self._loop.call_later(LOOK, self._look, LOOK)
        remove = None if abort is None else abort.add_callback(self._abort_from_any_thread)
        try:
            return await self._how
        finally:
            self._looker.cancel()
            if timer is not None:
                timer.cancel()
            if remove is not None:
                remove()

    async def finish(self, grace: float = GRACE) -> None:
        """After the exit: take what is still in the pipes, and end what was left in the background.

        Those processes get :data:`DRAIN` seconds for last words, or to leave for a session of their own.
        """
        deadline = time.monotonic() + DRAIN
        if not self._silent.done():
            await asyncio.wait([self._silent], timeout=DRAIN)
        self._process.poll()  # while the group has a member its number is not given to anybody else
        pause = 0.001
        while self.tree.group_alive():
            if time.monotonic() >= deadline:
                await self.end(grace)
                break
            await asyncio.sleep(pause)
            pause *= 2
        self._sweep()

    async def end(self, grace: float = GRACE, *, gently: float = 0.0) -> None:
        """End everything: SIGTERM, ``grace`` seconds, SIGKILL; then the program is reaped and the pipes are empty.

        A caller that is cancelled here waits no longer: whatever is left is killed at once.

        Args:
            grace: seconds between SIGTERM and SIGKILL.
            gently: seconds that the program has to exit after the end of stdin, before the first signal.
        """
        try:
            self.end_input()
            if gently:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(gently):
                        await self.exited.wait()
            if self._process.returncode is None or self.tree.alive():
                self.tree.terminate()
            await self._gone(grace)
            await self._killed()
        except asyncio.CancelledError:
            self.kill()
            raise
        self._sweep()

    async def _gone(self, seconds: float) -> None:
        """Wait until nobody is left, at most so many seconds."""
        deadline = time.monotonic() + seconds
        pause = 0.002
        while self.tree.alive() and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    async def _killed(self) -> None:
        """Kill until nobody is left."""
        deadline = time.monotonic() + KILLING
        # Who hops from one session to the next may be missed by a look, but holds the pipes open.
        while self.tree.kill() or not (self._reaped() and self._silent.done()):
            if time.monotonic() > deadline:
                self.tree.signal_group(signal.SIGKILL)
                break
            await asyncio.sleep(0.005)
        self.tree.reap_orphans()

    def kill(self) -> None:
        """End everything without waiting for anybody's loop: SIGKILL, at most a second for the program to go."""
        for pipe in self._pipes:
            pipe.sink.mute()
        deadline = time.monotonic() + 1.0
        while self.tree.kill() or not self._reaped():
            if time.monotonic() > deadline:
                self.tree.signal_group(signal.SIGKILL)
                break
            time.sleep(0.002)  # the caller wants to be gone
        self.tree.reap_orphans()

    def close(self) -> None:
        """Release descriptors and callbacks. Idempotent."""
        for pipe in self._pipes:
            pipe.close()
        if self._drained is not None:
            self._drained.cancel()
        self._stop_watching()
        if self._stdin is not None:
            stdin = self._stdin.transport
            if stdin.get_write_buffer_size() or not stdin.is_closing():
                stdin.abort()
        if not self._how.done():
            self._how.cancel()

    def _reaped(self) -> bool:
        return self._process.poll() is not None

    def _sweep(self) -> None:
        for pipe in self._pipes:
            pipe.sweep()

    def _look(self, waited: float) -> None:
        if self.tree.reads_its_output():
            self._settle("terminal")
        else:
            self._looker = self._loop.call_later(2 * waited, self._look, 2 * waited)

    def _noticed(self) -> None:
        self.exited.set()
        self._settle("exited")
        if not self._silent.done():
            self._drained = self._loop.call_later(DRAIN, self._over)

    def _over(self) -> None:
        for pipe in self._pipes:
            pipe.sweep()
            pipe.sink.exited()

    def _settle(self, how: End) -> None:
        if not self._how.done():
            self._how.set_result(how)

    def _failed(self, error: Exception) -> None:
        if not self._how.done():
            self._how.set_exception(error)

    def _abort_from_any_thread(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, "aborted")

    def _pipe_ended(self) -> None:
        self._open -= 1
        if not self._open and not self._silent.done():
            self._silent.set_result(None)


class Ended(NamedTuple):
    """How a program ended.

    Attributes:
        how: ``exited``: by itself; ``timeout``, ``aborted``; ``terminal``: it waited for a terminal that it does not have.
        code: the exit status of a program that exited by itself, negative for a signal.
    """

    how: End
    code: int | None


async def run(
    argv: Sequence[str],
    stdout: Sink,
    stderr: Sink,
    *,
    env: Mapping[str, str],
    cwd: str | Path | None = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
    signal: AbortSignal | None = None,
    grace: float = GRACE,
) -> Ended:
    """Run a program, and end everything that it started.

    What a program that exits by itself left in its session is ended, too. A process that left the session may go on.

    Args:
        argv: the program and its arguments; no shell sees them.
        stdout: takes what the program writes there.
        stderr: takes what the program writes there.
        env: all of its variables.
        cwd: its folder.
        stdin: what it reads; ``None``: nothing.
        timeout: seconds until it is ended.
        signal: ends it.
        grace: seconds between SIGTERM and SIGKILL.

    Raises:
        ToolError: it cannot be started.
        Exception: what a sink raised.
    """
    child = await Child.start(argv, stdout, stderr, env=env, cwd=cwd, stdin=stdin)
    try:
        how = await child.wait(timeout, signal)
        if how == "exited":
            await child.finish(grace)
        else:
            await child.end(grace)
    except BaseException:  # a cancelled caller or an exception of a sink: leave nothing behind
        stdout.mute()
        stderr.mute()
        await child.end(grace)
        raise
    finally:
        child.close()
    return Ended(how, child.code if how == "exited" else None)


def _watch(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, notify: Callable[[], None]
) -> Callable[[], None]:
    """Call ``notify()`` on the loop once the process has exited, without reaping it. Return a function that stops."""
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
    """Do the same where there are no pidfds (macOS, old kernels): a thread waits."""

    def wait() -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(notify)

    threading.Thread(target=wait, name=f"skillkit-process-{process.pid}", daemon=True).start()
    return lambda: None
