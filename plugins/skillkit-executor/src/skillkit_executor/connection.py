"""One process that runs tools, and the client of it. The task that opens the client closes it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from contextvars import Context
from functools import partial
from signal import SIGKILL
from typing import Any, Literal, TypeAlias

import mcp_types as types
from mcp import Client, MCPError
from mcp.client import session
from mcp.shared.dispatcher import ProgressFnT
from skillkit_process import Child, LineReader, Tail

from skillkit_core import SkillKitError, ToolError, __version__
from skillkit_core.errors import in_words

from .message_streams import LINE, streams
from .server import ToolServer
from .wire import START

__all__ = ["Connection", "Transport"]

Transport: TypeAlias = Literal["local", "stdio", "http"]
log = logging.getLogger("skillkit.executor")
_GRACE = 2.0  # seconds for the end of the process after the end of stdin
_END = 10.0  # seconds that the last answers, and the word how the process ended, may take on a busy machine
_WORDS = 2000


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
        self._lines, self._errors = LineReader(LINE), Tail(_WORDS)
        self._process: Child | None = None
        self._command = partial(command, [sys.executable, "-P", "-m", "skillkit_executor.child", transport])
        self._env, self._cwd = env, cwd
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
        """Return how the process ended, and the end of what it wrote to stderr."""
        code = self._process.code if self._process is not None else None
        if code is None:
            return "the connection was closed"
        number = -code if code < 0 else code - 128
        how = f"signal {number} ended it" if number > 0 else f"it ended with status {code}"
        said = self._errors.text.strip().splitlines()
        if said and number != SIGKILL:
            how += f"; it wrote: {' '.join(said[-1].split())[-500:]}"
        return how

    async def _own(self) -> None:
        """Open the client, wait, close it."""
        tools: ToolServer | None = None
        _quiet_sdk()
        try:
            async with AsyncExitStack() as stack, asyncio.timeout(self._seconds) as limit:
                if self._transport == "local":
                    tools = self._server()
                    transport: Any = tools.server
                else:
                    transport = await self._open(stack)
                about = types.Implementation(name="skillkit", version=__version__)
                client = await stack.enter_async_context(Client(transport, client_info=about, cache=None))
                result = await self._ask(client, START, self._about)
                data: Mapping[str, Any] = result.structured_content or {}
                below = self._process.children() if self._held and self._process is not None else []
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

    async def _open(self, stack: AsyncExitStack) -> Any:
        """Start the process below a keeper, and return the transport to it.

        Raises:
            ToolError: it cannot be started.
        """
        self._process = process = await Child.start(
            self._command(), self._lines, self._errors, env=self._env, cwd=self._cwd, stdin="pipe", kept=True
        )
        stack.push_async_callback(self._end, process)
        if self._transport == "stdio":
            return streams(self._lines, process.send)
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        token = secrets.token_urlsafe(32)
        await process.send(token.encode() + b"\n")
        if (line := await self._lines.readline()) is None:
            raise ToolError(self.why())
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"}, timeout=httpx2.Timeout(None, connect=5.0), trust_env=False
        )
        await stack.enter_async_context(http)
        return streamable_http_client(
            f"http://127.0.0.1:{json.loads(line)['port']}/mcp", http_client=http, max_sse_event_size=LINE
        )

    async def _end(self, process: Child) -> None:
        """End the process and all that it started: end of stdin, SIGTERM, SIGKILL."""
        self._lines.mute()
        try:
            await process.end(gently=_GRACE)
        finally:
            process.close()

    def carry(self, call: asyncio.Task[Any]) -> None:
        """Let a call have the answer that the process may have written before it ended."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _until_over(self) -> None:
        """Return when the connection is to be closed, or the process has ended and its calls know it."""
        waits = {asyncio.ensure_future(self._stop.wait())}
        if self._process is not None:
            waits.add(asyncio.ensure_future(self._process.exited.wait()))
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
        """Wait a moment for the end of a process whose connection has ended. Let nobody use the connection again."""
        self.gone.set()
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END):
                    await self._process.exited.wait()

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


def _quiet_sdk() -> None:
    """Keep the tracebacks of the SDK off the log, unless the application wants them: its logger ``client`` could be anybody's."""
    session.logger = sdk = logging.getLogger("mcp")
    if sdk.level == logging.NOTSET:
        sdk.setLevel(logging.CRITICAL)
