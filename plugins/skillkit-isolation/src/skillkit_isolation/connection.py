"""The process of one isolated plugin as the host holds it: started, asked, ended, and started again within limits.

A thread reads what the process says, so that calls without a loop (registration) and with any loop (hooks, tools, streams) are
answered alike. Nothing that the process does or leaves undone holds the host longer than the limit of a call.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import Any, TypeAlias

from skillkit_core import PluginError
from skillkit_core.cli.output import printable

from .values import pack, unpack
from .wire import Frames, Message, encoded

__all__ = ["Asked", "Connection", "Gone", "TooLate"]

log = logging.getLogger("skillkit.isolation")
Asked: TypeAlias = Callable[[str, Any], Any]
"""Answers a question of the process: ``(what, body)``. For a call with a loop the answer may be awaitable."""
_OUTPUT = 64 * 1024  # characters of its output that are shown
_PAUSE = 0.02  # seconds between two looks at the output that is not shown
_GRACE = 2.0  # seconds that a keeper has to end what is below it
_LATE = 3.0  # seconds that a cancelled call has to end by itself
_BEHIND = 1 << 28  # bytes that the process may leave unread, and that a call of the host may have unread of it
_OPEN = 1000  # questions of a call that may be open at once


class Gone(PluginError):
    """The process ended before the call had its answer."""


class TooLate(PluginError):
    """The call had no answer in time, and the process was ended."""


class Process:
    """One process, from its start to its end.

    Args:
        plugin: the name of the plugin.
        command: its command line, to which the number of a descriptor is added.
        env: all of its variables.
        cwd: its folder.

    Attributes:
        why: how it ended; ``None`` while it runs.
        pid: its keeper.
        size: bytes of the message that a box is given.
    """

    def __init__(self, plugin: str, command: list[str], env: Mapping[str, str], cwd: str) -> None:
        self.plugin = plugin
        self.why: str | None = None
        self._boxes: dict[int, Callable[[Message | None], object]] = {}
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._program = subprocess.Popen(
                [*command, str(theirs.fileno())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env=dict(env), cwd=cwd, pass_fds=(theirs.fileno(),), start_new_session=True,
            )  # fmt: skip
        self.pid = self._program.pid
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[bytes] | None = None
        self._behind = 0
        self.size = 0
        self._shown = 0
        self._line = b""
        self._reader = threading.Thread(target=self._read, daemon=True, name=f"isolated-{plugin}")
        self._reader.start()

    def open(self, number: int, box: Callable[[Message | None], object]) -> None:
        """Give ``box`` what the process says of a request, and ``None`` when the process is gone."""
        self._boxes[number] = box
        if self.why is not None:
            box(None)

    def shut(self, number: int) -> None:
        """Forget a request."""
        self._boxes.pop(number, None)

    def send(self, message: Message) -> None:
        """Send a message without waiting for a process that does not read.

        Raises:
            TypeError, ValueError: it is no message.
        """
        data = encoded(message)
        with self._lock, suppress(OSError):
            sent = 0
            if self._waiting is None:
                with suppress(BlockingIOError):
                    sent = self._channel.send(data, socket.MSG_DONTWAIT)
                if sent == len(data):
                    return
                self._waiting = queue.SimpleQueue()
                threading.Thread(target=self._write, args=(self._waiting,), daemon=True).start()
            self._waiting.put(data[sent:])
            self._behind += len(data)
        if self._behind > _BEHIND:
            self.end("it does not read what it is told")

    def _write(self, waiting: queue.SimpleQueue[bytes]) -> None:
        """Send what did not fit at once, in order."""
        with suppress(OSError):
            while True:
                with self._lock:
                    if waiting.empty():
                        self._waiting = None
                        return
                    data = waiting.get()
                    self._behind = 0 if waiting.empty() else self._behind - len(data)
                self._channel.sendall(data)

    def _read(self) -> None:
        frames, output = Frames(), self._program.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(output, selectors.EVENT_READ)
            try:
                while True:
                    for key, _ in selector.select():
                        if key.fileobj is self._channel:
                            if not (data := self._channel.recv(1 << 16)):
                                raise OSError
                            for message in frames.feed(data):
                                self.size = frames.size
                                if (box := self._boxes.get(message.get("id", -1))) is not None:
                                    box(message)
                        elif not self._show(os.read(output.fileno(), 1 << 16)):
                            selector.unregister(output)
            except OSError:
                pass  # the other end is closed
            except Exception as error:  # noqa: BLE001 - what makes no sense ends the process that said it
                self.end(f"it said what is no message ({type(error).__name__})")
        with suppress(OSError):
            self._show(os.read(output.fileno(), 1 << 16))
        self.end(self._how())

    def _show(self, data: bytes) -> bool:
        """Show what the plugin prints in the log, not for ever; return whether more may come."""
        *lines, self._line = (self._line + data).split(b"\n")
        if len(self._line) > _OUTPUT or not data:
            lines, self._line = [*lines, self._line], b""
        for line in filter(None, lines):
            if self._shown <= _OUTPUT:
                log.warning("%s", printable(line[: _OUTPUT // 8].decode("utf-8", "replace").rstrip()))
                self._shown += len(line)
                if self._shown > _OUTPUT:
                    log.warning("plugin %r prints more than is shown", self.plugin)
        if self._shown > _OUTPUT:
            time.sleep(_PAUSE)  # the thread has more to do than to read what nobody sees
        return bool(data)

    def _how(self) -> str:
        """Return how the process ended, which its keeper says by its exit status."""
        try:
            code = self._program.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its end of the connection"
        number = -code if code < 0 else code - 128
        return f"signal {number} ended it" if number > 0 else f"it ended with status {code}"

    def end(self, why: str) -> None:
        """End the process and all that it started. Idempotent."""
        with self._lock:
            if self.why is not None:
                return
            self.why = why
        program = self._program
        assert program.stdin is not None
        with suppress(OSError):
            program.stdin.close()  # the keeper ends the others then
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            program.wait(_GRACE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        for box in list(self._boxes.values()):
            box(None)

    def close(self) -> None:
        """Release what this side holds, after the end."""
        if threading.current_thread() is not self._reader:
            self._reader.join(_GRACE)
        self._channel.close()
        if self._program.stdout is not None:
            self._program.stdout.close()


class Connection:
    """The process of a plugin, whichever that is now.

    Args:
        plugin: the name of the plugin.
        start: starts a process.
        load: what a process is asked first, and the seconds for it.
        restarts: how often a process is started again.
        start_timeout: seconds until a process must be there.
        report: called with the problems that the plugin's host has.

    Attributes:
        lost: why no process is started any more.
    """

    def __init__(
        self,
        plugin: str,
        start: Callable[[], Process],
        load: Callable[[], tuple[Message, float]],
        restarts: int,
        start_timeout: float,
        report: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self.plugin = plugin
        self.lost: str | None = None
        self.confined = False
        self._start_process = start
        self._load = load
        self._left = restarts
        self._start_timeout = start_timeout
        self._report = report
        self._process: Process | None = None
        self._numbers = count(1)
        self._lock = threading.RLock()
        self._closed = False

    # --- the process --------------------------------------------------------------------------------------------------

    def start(self) -> Any:
        """Start the process with its plugin, and return the answer of the plugin.

        Raises:
            PluginError: it did not start, or the plugin did not load.
        """
        process = self._start_process()
        try:
            ready = self._ask(process, 0, None, self._start_timeout, None)
            self.confined = bool(ready["confined"])
            message, seconds = self._load()
            answer = self._ask(process, self.next(), message, seconds, None)
        except BaseException:
            process.end("it was not needed")
            process.close()
            raise
        self._process = process
        return answer

    def _running(self) -> Process:
        """Return the process, and start it again where it is gone.

        Raises:
            Gone: it may not be started again, or does not start.
        """
        process = self._process
        if process is not None and process.why is None:
            return process
        with self._lock:
            process = self._process
            if process is None or process.why is not None:
                why = process.why if process is not None else "it was closed"
                if process is not None:
                    process.close()
                    self._process = None
                if self._closed or self.lost is not None:
                    raise Gone(f"its process is gone: {self.lost or why}")
                if self._left <= 0:
                    self._lose(f"its process ended too often, the last time so: {why}")
                self._left -= 1
                log.warning("the process of plugin %r is started again: %s", self.plugin, why)
                try:
                    self.start()
                except PluginError as error:
                    self._lose(f"its process does not start again: {error.message}")
                process = self._process
            assert process is not None
            return process

    def _lose(self, why: str) -> None:
        self.lost = why
        remedy = f"report it to the plugin's author, or run without it: skillkit -P no:{self.plugin} ..."
        self._report({"stage": "isolation", "message": why, "remedy": remedy})
        raise Gone(why)

    def kill(self, why: str, process: Process | None = None) -> None:
        """End the process at once; the next call starts another one."""
        found = process or self._process
        if found is not None:
            found.end(why)

    def close(self) -> None:
        """End the process for good. Idempotent."""
        self._closed = True
        with self._lock:
            if self._process is not None:
                self._process.end("the host closed")
                self._process.close()
                self._process = None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.why is None

    @property
    def pid(self) -> int | None:
        """The keeper of the process that runs now."""
        return self._process.pid if self._process is not None else None

    def next(self) -> int:
        """Return the number of another request."""
        return next(self._numbers)

    # --- calls --------------------------------------------------------------------------------------------------------

    def ask(self, message: Message, seconds: float, asked: Asked | None = None) -> Any:
        """Make a request and wait for its answer without a loop.

        Raises:
            Gone, TooLate: there is no answer.
            Exception: the plugin failed; what it raised is told in its words.
        """
        return self._ask(self._running(), self.next(), message, seconds, asked)

    def _ask(self, process: Process, number: int, message: Message | None, seconds: float, asked: Asked | None) -> Any:
        said: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        deadline = monotonic() + seconds
        process.open(number, said.put)
        answered = False
        try:
            if message is not None:
                process.send({**message, "id": number})
            while True:
                try:
                    told = said.get(timeout=max(0.0, deadline - monotonic()))
                except queue.Empty:
                    raise self._late(process, seconds) from None
                if told is None:
                    answered = True
                    raise Gone(str(process.why))
                if "ask" in told:
                    try:
                        value = asked(told["what"], unpack(told["body"])) if asked is not None else None
                        process.send({"id": number, "ask": told["ask"], "value": pack(value)})
                    except Exception as error:  # noqa: BLE001 - the plugin is told
                        process.send({"id": number, "ask": told["ask"], "error": str(error)})
                elif "item" not in told:
                    answered = True
                    return self.value_of(told)
        finally:
            process.shut(number)
            if not answered:
                process.end("it did not answer")

    def value_of(self, told: Message) -> Any:
        """Return the answer of a request, or raise what the plugin raised."""
        for problem in told.get("problems", ()):
            self._report(problem)
        if "error" in told:
            raise unpack(told["error"])
        return unpack(told.get("value"))

    def _late(self, process: Process, seconds: float) -> TooLate:
        process.end(f"it did not answer within {seconds:g} s")
        return TooLate(f"it did not answer within {seconds:g} s, and its process was ended")

    async def call(
        self, message: Message, seconds: float | None, asked: Asked | None = None, item: Callable[[Any], object] = repr
    ) -> Any:
        """Make a request, and return its answer. ``item`` gets the pieces of the answer; raise as :meth:`ask`."""
        call, process = (
            Call(self, message, asked),
            await self.running(),
        )  # the limit is that of the call, not of a start
        try:
            async with asyncio.timeout(seconds) as limit:
                async for piece in call:
                    item(piece)
        except TimeoutError:
            if not limit.expired():
                raise
            raise await asyncio.to_thread(self._late, process, seconds or 0.0) from None
        return call.value

    async def running(self) -> Process:
        """Return the process, started again where that is needed, in a thread."""
        process = self._process
        if process is not None and process.why is None:
            return process
        return await asyncio.to_thread(self._running)


class Call:
    """A request whose answer comes in pieces: ``async for piece in call``, then ``value``.

    Where the loop over it is left early, the request is cancelled in the process; a process that does not listen is ended.

    Args:
        asked: answers the questions of the process.

    """

    def __init__(self, connection: Connection, message: Message, asked: Asked | None = None) -> None:
        self.value: Any = None
        self._process: Process | None = None
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._connection = connection
        self._message = message
        self._asked = asked
        self._id = 0
        self._read = self._answered = 0  # bytes, and questions

    def abort(self, reason: str) -> None:
        """Abort the request, from any thread. The answer says what came of it."""
        if self._process is not None:
            self._process.send({"id": self._id, "abort": reason})

    async def __aiter__(self) -> AsyncGenerator[Any, None]:
        loop = asyncio.get_running_loop()
        process = self._process = await self._connection.running()
        said: asyncio.Queue[tuple[Message | None, int]] = asyncio.Queue()
        number = self._id = self._connection.next()

        came = asked = 0

        def box(message: Message | None) -> None:
            nonlocal came, asked
            if message is not None:
                came, asked = came + process.size, asked + ("ask" in message)
                if came - self._read > _BEHIND or asked - self._answered > _OPEN:
                    process.end("it says more than anybody reads")
                    return
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(said.put_nowait, (message, process.size))

        process.open(number, box)
        side: set[asyncio.Task[Any]] = set()
        ended = False
        try:
            process.send({**self._message, "id": number})
            while True:
                told, size = await said.get()
                self._read += size
                if told is None:
                    ended = True
                    raise Gone(str(process.why))
                if "ask" in told:
                    task = loop.create_task(self._answer(process, told))
                    side.add(task)
                    task.add_done_callback(side.discard)
                elif "item" in told:
                    yield unpack(told["item"])
                else:
                    ended = True
                    self.value = self._connection.value_of(told)
                    return
        finally:
            for task in side:
                task.cancel()
            if ended:
                process.shut(number)
            else:
                self._left(process, number, loop)

    async def _answer(self, process: Process, told: Message) -> None:
        """Answer a question of the process."""
        answer: Message = {"id": self._id, "ask": told["ask"]}
        try:
            value = self._asked(told["what"], unpack(told["body"])) if self._asked is not None else None
            answer["value"] = pack(await value if isinstance(value, Awaitable) else value)
        except Exception as error:  # noqa: BLE001 - the plugin is told
            answer["error"] = str(error)
        process.send(answer)
        self._answered += 1

    async def settled(self) -> None:
        """Wait until a request that was cancelled is over in the process, or the process is."""
        if self._process is not None:
            await asyncio.wait({self._over}, timeout=_LATE + _GRACE)

    def _left(self, process: Process, number: int, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel a request that nobody waits for, and end a process that goes on with it."""
        timer = threading.Timer(_LATE, process.end, ("it did not end a call that was cancelled",))
        timer.daemon = True

        def over() -> None:
            if not self._over.done():
                self._over.set_result(None)

        def box(message: Message | None) -> None:
            if message is None or ("ask" not in message and "item" not in message):
                timer.cancel()
                process.shut(number)
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(over)

        timer.start()
        process.open(number, box)
        process.send({"id": number, "abort": "the call was cancelled", "cancel": True})
