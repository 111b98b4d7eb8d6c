"""JSON-RPC 2.0 over lines: both sides ask and answer, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import IO, Any, Protocol

from .protocol import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR

__all__ = ["Connection", "RpcError"]

MAX_LINE = 64 * 1024 * 1024  # bytes of a message
ROOM = 256 * 1024  # bytes that wait for the other side to read before no more messages of the session are put there
MOST_UNREAD = 4 * 1024 * 1024  # bytes of answers that wait before no more requests are read


class RpcError(Exception):
    """An error that the other side is told, or has told.

    Attributes:
        code: as in JSON-RPC.
        message: one line.
        data: what else is known; JSON.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Writer(Protocol):
    """What has a file descriptor."""

    def fileno(self) -> int:
        """Return the descriptor."""


Handler = Callable[[str, Any], Awaitable[Any]]


class Connection:
    """One end of a connection.

    Attributes:
        ended: set once the other side sends nothing more.
        broken: set once the other side reads nothing more.

    Args:
        reader: lines of the other side, a binary file.
        writer: where lines go, a file or a socket.
        handle: ``async (method, params) -> result``, called for each request and notification of the other side; what it
            raises as :class:`RpcError` is told.
    """

    def __init__(self, reader: IO[bytes], writer: Writer, handle: Handler) -> None:
        self._reader, self._writer, self._handle = reader, writer, handle
        self._loop = asyncio.get_running_loop()
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked = 0
        self.ended, self.broken = asyncio.Event(), asyncio.Event()
        self._outbox: deque[bytes] = deque()
        self._unwritten = 0
        self._emptied = asyncio.Event()
        self._emptied.set()
        self._out = threading.Condition()
        threading.Thread(target=self._read, name="rpc reader", daemon=True).start()
        threading.Thread(target=self._write, name="rpc writer", daemon=True).start()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the other side something."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the other side; return the result.

        A cancelled call tells the other side ``withdrawn`` with its id.

        Raises:
            RpcError: the other side answered with an error.
            ConnectionError: it is gone.
        """
        if self.ended.is_set():
            raise ConnectionError("the other side is gone")
        self._asked += 1
        key = str(self._asked)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._answers[key] = future
        self._send({"jsonrpc": "2.0", "id": key, "method": method, "params": params})
        try:
            return await future
        except asyncio.CancelledError:
            self.notify("withdrawn", {"id": key})
            raise
        finally:
            self._answers.pop(key, None)

    async def room(self) -> None:
        """Wait until the other side has read nearly everything, or is gone: what is said meanwhile is not kept here."""
        while self._unwritten > ROOM and not self.broken.is_set():
            self._emptied.clear()
            await self._emptied.wait()

    async def drain(self) -> None:
        """Wait until every request of the other side is answered and read, or nobody reads."""
        broken = asyncio.ensure_future(self.broken.wait())
        while (self._tasks or self._unwritten) and not broken.done():
            emptied = asyncio.ensure_future(self._emptied.wait())
            self._emptied.clear()
            await asyncio.wait([broken, emptied, *self._tasks], timeout=1, return_when=asyncio.FIRST_COMPLETED)
            emptied.cancel()
            if self._nobody_reads():
                self.broken.set()
        broken.cancel()

    def close(self) -> None:
        """Write nothing more. The files stay open."""
        self.broken.set()
        with self._out:
            self._out.notify_all()

    def _nobody_reads(self) -> bool:
        """Return True when the other end of the pipe is closed, without writing anything."""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._writer.fileno(), 0)
        return any(happened & (select.POLLERR | select.POLLHUP) for _, happened in poll.poll(0))

    def _read(self) -> None:
        """Read lines until the other side is gone; in a thread, because a file can not always be waited for."""
        try:
            while line := self._reader.readline(MAX_LINE + 1):
                with self._out:  # who asks on and on without reading the answers waits
                    self._out.wait_for(lambda: self._unwritten < MOST_UNREAD or self.broken.is_set())
                self._loop.call_soon_threadsafe(self._received, line)
        except (OSError, ValueError):
            pass  # closed while it was read: the end
        self._soon(self._end)

    def _write(self) -> None:
        """Write what is in the outbox; in a thread, so that a reader that does not read holds up nobody else."""
        while True:
            with self._out:
                self._out.wait_for(lambda: self._outbox or self.broken.is_set())
                if self.broken.is_set():
                    return
                line = self._outbox.popleft()
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._writer.fileno(), rest) :]
            except (OSError, ValueError):
                self._soon(self._broke)
                return
            with self._out:
                self._unwritten -= len(line)
                self._out.notify_all()
            if self._unwritten <= ROOM:
                self._soon(self._emptied.set)

    def _soon(self, work: Callable[[], object]) -> None:
        """Do something on the loop, if there is one left."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work)

    def _broke(self) -> None:
        self.close()
        self._emptied.set()
        self._end()

    def _end(self) -> None:
        self.ended.set()
        for future in self._answers.values():
            if not future.done():
                future.set_exception(ConnectionError("the other side is gone"))

    def _received(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > MAX_LINE:
            self._fail(None, RpcError(PARSE_ERROR, f"a line is longer than {MAX_LINE} bytes"))
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._fail(None, RpcError(PARSE_ERROR, f"this line is no JSON: {error}"))
            return
        if not isinstance(message, dict):
            self._fail(None, RpcError(INVALID_REQUEST, "a message must be an object"))
        elif isinstance(message.get("method"), str):
            task = self._loop.create_task(self._serve(message.get("id"), message["method"], message.get("params")))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "result" in message or "error" in message:
            self._answered(message)
        else:
            self._fail(message.get("id"), RpcError(INVALID_REQUEST, "a message needs 'method', 'result' or 'error'"))

    def _answered(self, message: dict[str, Any]) -> None:
        future = self._answers.get(str(message.get("id")))
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        elif isinstance(error, dict):
            code = error.get("code")
            future.set_exception(
                RpcError(
                    code if isinstance(code, int) else INTERNAL_ERROR, str(error.get("message", "")), error.get("data")
                )
            )
        else:
            future.set_exception(RpcError(INVALID_REQUEST, "the error of an answer must be an object"))

    async def _serve(self, key: Any, method: str, params: Any) -> None:
        try:
            result = await self._handle(method, params)
        except RpcError as error:
            self._fail(key, error, told=key is not None)
        except Exception as error:  # noqa: BLE001 - the other side is told, and the connection lives on
            self._fail(key, RpcError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"), told=key is not None)
        else:
            if key is not None:
                self._send({"jsonrpc": "2.0", "id": key, "result": result})

    def _fail(self, key: Any, error: RpcError, *, told: bool = True) -> None:
        if told:
            about = {"code": error.code, "message": error.message}
            self._send(
                {"jsonrpc": "2.0", "id": key, "error": about if error.data is None else {**about, "data": error.data}}
            )

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message, ensure_ascii=True, separators=(",", ":"), default=str).encode() + b"\n"
        with self._out:
            if self.broken.is_set():
                return
            self._outbox.append(line)
            self._unwritten += len(line)
            self._out.notify_all()
