"""The transport of a server over stdio: its process, its lines, and the end of everything that it started.

A transport in the SDK's sense: an async context manager that gives the streams for its session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import Mapping, Sequence
from contextvars import Context
from typing import Any

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from skillkit_core import ToolError

from .messages import MessageFilter
from .text import plain

__all__ = ["StdioTransport"]

_MARK = "SKILLKIT_MCP_PROCESS"
_READ_AHEAD = 1 << 20
_GRACE = 1.0  # seconds, after the end of stdin and after SIGTERM
_AFTER_EXIT = 0.3  # seconds for what a server that ended has still in its pipe
_STDERR = 4000
_SKIPPED = 4  # messages' length that an endless line may have


class _Pipes(asyncio.SubprocessProtocol):
    """The pipes of one process.

    Attributes:
        ended: set when stdout has ended, or shortly after the process has.
        exited: set when the process has ended; its children may live.
    """

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.errors = bytearray()
        self.more = asyncio.Event()
        self.ended = asyncio.Event()
        self.exited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self._stdout: Any = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._stdout = transport.get_pipe_transport(1)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.errors += data
            del self.errors[:-_STDERR]
            return
        self.buffer += data
        self.more.set()
        if len(self.buffer) > _READ_AHEAD and not self._paused:
            self._paused = True
            self._stdout.pause_reading()

    def read_on(self) -> None:
        """Read again after the buffer was looked at."""
        self.more.clear()
        if self._paused:
            self._paused = False
            self._stdout.resume_reading()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._end()

    def process_exited(self) -> None:
        self.exited.set()
        # a child of the server may hold the pipe for ever
        asyncio.get_running_loop().call_later(_AFTER_EXIT, self._end)

    def _end(self) -> None:
        self.ended.set()
        self.more.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()


class StdioTransport:
    """Starts a server and carries its messages.

    Args:
        argv: the program and its arguments.
        env: all of its variables.
        cwd: its folder.
        messages: reads what the server writes.

    Attributes:
        ended: set when the server has ended.
        why: why the connection was ended from here; ``None``: it was not.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, messages: MessageFilter) -> None:
        self.ended = asyncio.Event()
        self.why: str | None = None
        self._argv = argv
        self._cwd = cwd
        self._messages = messages
        self._mark = uuid.uuid4().hex
        self._env = {**env, _MARK: self._mark}
        self._pipes = _Pipes()
        self._transport: asyncio.SubprocessTransport | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> TransportStreams:
        """Start the process.

        Raises:
            ToolError: the program cannot be started.
        """
        loop = asyncio.get_running_loop()
        pipe = asyncio.subprocess.PIPE
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self._pipes, *self._argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._cwd, env=self._env,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else error
            raise ToolError(f"{self._argv[0]!r} cannot be started: {what}") from None
        self._transport = transport
        self._incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](64)
        write_stream, self._outgoing = anyio.create_memory_object_stream[SessionMessage](256)
        for work in (self._read(), self._write()):
            self._tasks.append(loop.create_task(work, context=Context()))
        self._streams = (read_stream, write_stream)
        return self._streams

    async def __aexit__(self, *error: object) -> None:
        await self._stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for stream in (*self._streams, self._incoming, self._outgoing):
            stream.close()

    @property
    def pid(self) -> int | None:
        """The process."""
        return self._transport.get_pid() if self._transport is not None else None

    def last_words(self) -> str:
        """Return how the process ended and the end of what it wrote to stderr."""
        code = self._transport.get_returncode() if self._transport is not None else None
        how = ""
        if code is not None:
            how = f"it ended with status {code}" if code >= 0 else f"signal {-code} ended it"
        said = " ".join(plain(self._pipes.errors.decode("utf-8", "replace")).split())[-1000:]
        return "; ".join(part for part in (self.why or how, f"it wrote: {said}" if said else "") if part)

    async def settled(self) -> None:
        """Wait a moment for the end of a process whose output has ended."""
        await _within(_AFTER_EXIT, self._pipes.exited)

    async def _read(self) -> None:
        """Send every message to the session, until the process ends."""
        pipes, begin = self._pipes, 0
        async with self._incoming:
            try:
                while True:
                    await pipes.more.wait()
                    at_end = pipes.ended.is_set()
                    pipes.read_on()
                    lines, begin = self._lines(begin)
                    for n, line in enumerate(lines):
                        for message in self._messages.read(line):
                            await self._incoming.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
                        if n % 100 == 99:
                            await asyncio.sleep(0)
                    if at_end or self.why is not None:
                        return
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            finally:
                self.ended.set()

    def _lines(self, begin: int) -> tuple[list[bytes], int]:
        """Take the whole lines from the buffer; return them, and up to where the rest holds no end of a line."""
        buffer, most = self._pipes.buffer, self._messages.max_message
        end = buffer.rfind(b"\n", begin)
        if end >= 0:
            lines = bytes(buffer[:end]).split(b"\n")
            del buffer[: end + 1]
            return lines, 0
        if len(buffer) > _SKIPPED * most:
            self.why = f"it sent a line of more than {_SKIPPED * most:,} bytes"
        return [], len(buffer)

    async def _write(self) -> None:
        """Write every message of the session."""
        assert self._transport is not None
        stdin: Any = self._transport.get_pipe_transport(0)
        async with self._outgoing:
            async for session_message in self._outgoing:
                message = session_message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                self._messages.sent(message)
                text = session_message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._pipes.writable.wait()
                if not stdin.is_closing():
                    stdin.write(text.encode() + b"\n")

    async def _stop(self) -> None:
        """End the process and all that it started: end of stdin, SIGTERM, SIGKILL."""
        assert self._transport is not None
        pid = self._transport.get_pid()
        stdin: Any = self._transport.get_pipe_transport(0)
        with contextlib.suppress(Exception):
            stdin.close()
        # what is still read must not keep the process from ending
        self._pipes.read_on()
        drain = asyncio.get_running_loop().create_task(self._drain(), context=Context())
        try:
            if self.why is None:
                await _within(_GRACE, self._pipes.exited)
            if _signal_group(pid, signal.SIGTERM):
                for _ in range(50):
                    if not _signal_group(pid, None):
                        break
                    await asyncio.sleep(_GRACE / 50)
            _signal_group(pid, signal.SIGKILL)
            kill_marked(self._mark)
            await _within(_GRACE, self._pipes.exited)
        finally:
            # a cancelled stop must leave nothing behind either
            _signal_group(pid, signal.SIGKILL)
            drain.cancel()
            self._transport.close()
            await asyncio.gather(drain, return_exceptions=True)

    async def _drain(self) -> None:
        while True:
            await asyncio.sleep(0.02)
            self._pipes.buffer.clear()
            self._pipes.read_on()

    def kill(self) -> None:
        """End the process without waiting, when no loop runs any more."""
        if self._transport is not None:
            _signal_group(self._transport.get_pid(), signal.SIGKILL)
            kill_marked(self._mark)


async def _within(seconds: float, event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _signal_group(leader: int, number: signal.Signals | None) -> bool:
    """Send a signal to the group of a process; return whether it has a member."""
    try:
        os.killpg(leader, number or 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # macOS: only zombies are left
    return True


def kill_marked(mark: str) -> None:
    """End the processes that left the group of the server but have its mark in their environment (Linux)."""
    wanted = f"{_MARK}={mark}".encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():  # noqa: PTH112, PTH208
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                    if wanted in file.read().split(b"\0"):
                        os.kill(int(name), signal.SIGKILL)
