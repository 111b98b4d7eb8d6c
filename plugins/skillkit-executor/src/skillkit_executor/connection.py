"""One process that runs tools, and the client of it. The task that opens the client closes it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import Context
from pathlib import Path
from typing import Any, Literal, TypeAlias

import mcp_types as types
from mcp import Client, MCPError
from mcp.shared.dispatcher import ProgressFnT

from skillkit_core import SkillKitError, ToolError, __version__
from skillkit_core.errors import in_words

from .pipes import LINE, streams
from .server import ToolServer
from .wire import START

__all__ = ["Connection", "Transport"]

Transport: TypeAlias = Literal["local", "stdio", "http"]
log = logging.getLogger("skillkit.executor")
_GRACE = 2.0  # seconds for the end of the process, after the end of stdin and after SIGTERM
_END = 10.0  # seconds that the last answers, and the word how the process ended, may take on a busy machine
_KEEPER = Path(__file__).with_name("keeper.py")
_WORDS = 2000


class Process:
    """A process that runs tools, below a keeper that leaves nothing of it behind.

    Attributes:
        ended: set when the process has ended.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self.ended = asyncio.Event()
        self._argv, self._env, self._cwd = argv, env, cwd
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._watch: asyncio.Task[None] | None = None
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> asyncio.subprocess.Process:
        """Start the process.

        Raises:
            ToolError: it cannot be started.
        """
        pipe = asyncio.subprocess.PIPE
        argv = [sys.executable, "-I", "-S", str(_KEEPER), "--", *self._argv]
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=self._errors, cwd=self._cwd, env=dict(self._env),
                start_new_session=True, limit=LINE,
            )  # fmt: skip
        except OSError as error:
            raise ToolError(f"the process that runs tools cannot be started: {error.strerror}") from None
        self.process = process
        self._watch = asyncio.get_running_loop().create_task(self._wait(process), context=Context())
        return process

    async def _wait(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        self.ended.set()

    def last_words(self) -> str:
        """Return how the process ended, and the end of what it wrote to stderr."""
        code = self.process.returncode if self.process is not None else None
        how = ""
        if code is not None:
            how = f"signal {code - 128} ended it" if code > 128 else f"it ended with status {code}"
        with contextlib.suppress(OSError, ValueError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _WORDS))
            said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            if said and code not in (None, 137):
                how += f"; it wrote: {' '.join(said[-1].split())[-500:]}"
        return how

    async def stop(self) -> None:
        """End the process and all that it started: end of stdin, SIGTERM, SIGKILL."""
        process = self.process
        if process is None:
            self._errors.close()
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            for number in (None, signal.SIGTERM):
                if number is not None:
                    self._signal(number)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_GRACE):
                        await process.wait()
                        break
        finally:
            if process.returncode is None:
                # the keeper is spared: it kills what the program leaves
                for pid in _children(process.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_GRACE):
                        await process.wait()
                self._signal(signal.SIGKILL)
            self.ended.set()
            if self._watch is not None:
                self._watch.cancel()
            self._errors.close()

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


class Connection:
    """A process that runs tools, or this process, and its client.

    Args:
        transport: how messages travel.
        command: the command line of the process, given its own arguments.
        env: all variables of the process.
        cwd: its folder.
        about: what it is told as it starts.
        server: makes the server of the transport ``local``.
        seconds: until it must be ready.
        held: ``command`` puts a sandbox around the process, in which the process has another number.

    Attributes:
        pid: the process, by its own account; the one that made the sandbox where ``held``.
        problems: why plugins could not be loaded.
        gone: set when the connection is of no use any more.
    """

    def __init__(
        self,
        transport: Transport,
        command: Callable[[list[str]], list[str]],
        env: Mapping[str, str],
        cwd: str,
        about: dict[str, Any],
        server: Callable[[], ToolServer],
        seconds: float,
        held: bool = False,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.pid = 0
        self.problems: list[str] = []
        self.gone = asyncio.Event()
        self.client: Client | None = None
        self._transport = transport
        self._about = about
        self._server = server
        self._seconds = seconds
        self._held = held
        self._stop = asyncio.Event()
        self._calls: set[asyncio.Task[Any]] = set()
        self._ready: asyncio.Future[None] = self.loop.create_future()
        self._ready.add_done_callback(lambda f: f.cancelled() or f.exception())
        self._process: Process | None = None
        if transport != "local":
            self._process = Process(command([sys.executable, "-m", "skillkit_executor.child", transport]), env, cwd)
        self._owner = self.loop.create_task(self._own(), context=Context())

    async def ready(self) -> None:
        """Wait until tools can be called.

        Raises:
            ToolError: the process did not start; the text says why.
        """
        await asyncio.shield(self._ready)

    async def call(
        self, name: str, args: dict[str, Any], progress: ProgressFnT | None = None, meta: Any = None
    ) -> types.CallToolResult:
        """Make one request of the process.

        Raises:
            MCPError: the connection was closed, or the process refused the request.
        """
        if self.client is None:
            raise MCPError(types.CONNECTION_CLOSED, "the connection was closed")
        return await self._ask(self.client, name, args, progress, meta)

    @staticmethod
    async def _ask(
        client: Client, name: str, args: dict[str, Any], progress: ProgressFnT | None = None, meta: Any = None
    ) -> types.CallToolResult:
        # Client.call_tool lists all tools for each name that it does not know, to check an output that nobody declared
        params = types.CallToolRequestParams(name=name, arguments=args, _meta=meta)
        request = types.CallToolRequest(params=params)
        return await client.session.send_request(request, types.CallToolResult, progress_callback=progress)

    def why(self) -> str:
        """Return how the process ended."""
        return (self._process.last_words() if self._process is not None else "") or "the connection was closed"

    async def _own(self) -> None:
        """Open the client, wait, close it."""
        tools: ToolServer | None = None
        try:
            async with AsyncExitStack() as stack, asyncio.timeout(self._seconds) as limit:
                if self._process is None:
                    tools = self._server()
                    transport: Any = tools.server
                else:
                    stack.push_async_callback(self._process.stop)
                    transport = await self._open(stack, await self._process.start())
                about = types.Implementation(name="skillkit", version=__version__)
                client = await stack.enter_async_context(Client(transport, client_info=about, cache=None))
                result = await self._ask(client, START, self._about)
                data: Mapping[str, Any] = result.structured_content or {}
                below = (
                    _children(self._process.process.pid)
                    if self._held and self._process and self._process.process
                    else []
                )
                self.pid, self.problems = below[0] if below else int(data["pid"]), list(data["problems"])
                self.client = client
                limit.reschedule(None)
                if self.problems:
                    log.warning("%s", "; ".join(self.problems))
                self._ready.set_result(None)
                await self._until_over()
        except Exception as error:  # noqa: BLE001 - whoever waits for the connection is told
            self._fail(error)
        finally:
            self.client = None
            self.gone.set()
            if tools is not None:
                await tools.close()
            if not self._ready.done():
                self._ready.cancel()

    def _fail(self, error: Exception) -> None:
        if self._ready.done():
            return
        if isinstance(error, TimeoutError):
            error = ToolError(f"it was not ready within {self._seconds:g} s")
        said = str(error) if isinstance(error, SkillKitError) else f"{in_words(_innermost(error))}; {self.why()}"
        self._ready.set_exception(ToolError(f"the process that runs tools did not start: {said}"))

    async def _open(self, stack: AsyncExitStack, process: asyncio.subprocess.Process) -> Any:
        """Return the transport to a process that was started."""
        assert self._process is not None
        if self._transport == "stdio":
            assert process.stdin is not None and process.stdout is not None
            return streams(process.stdout, process.stdin)
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        assert process.stdin is not None and process.stdout is not None
        token = secrets.token_urlsafe(32)
        process.stdin.write(token.encode() + b"\n")
        line = await process.stdout.readline()
        if not line:
            raise ToolError(self.why())
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"}, timeout=httpx2.Timeout(None, connect=5.0), trust_env=False
        )
        await stack.enter_async_context(http)
        return streamable_http_client(
            f"http://127.0.0.1:{json.loads(line)['port']}/mcp", http_client=http, max_sse_event_size=LINE
        )

    def carry(self, call: asyncio.Task[Any]) -> None:
        """Let a call have the answer that the process may have written before it ended."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _until_over(self) -> None:
        """Return when the connection is to be closed, or the process has ended and its calls know it."""
        waits = {asyncio.ensure_future(self._stop.wait())}
        if self._process is not None:
            waits.add(asyncio.ensure_future(self._process.ended.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if self._calls and not self._stop.is_set():
                # the pipe ends behind the last answer, and its end is the answer of all other calls
                await asyncio.wait(set(self._calls), timeout=_END)
        finally:
            self.gone.set()
            for one in waits:
                one.cancel()

    async def settled(self) -> None:
        """Wait a moment for the end of a process whose connection has ended; nobody uses the connection again."""
        self.gone.set()
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END):
                    await self._process.ended.wait()

    async def close(self) -> None:
        """End the process."""
        self._stop.set()
        if not self._ready.done():
            self._owner.cancel()
        await asyncio.gather(self._owner, return_exceptions=True)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
