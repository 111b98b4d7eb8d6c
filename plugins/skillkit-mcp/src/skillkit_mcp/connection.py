"""One server: connected when it is first needed, called with limits, connected again after it died.

A client of the SDK is closed by the task that opened it, so each connection has a task of its own that opens, waits and closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from contextvars import Context
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.client import session
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from skillkit_core import Deferred, SkillKitError, Suspended, ToolError, __version__

from .elicitation import ask_form, ask_url
from .http import GuardedClient
from .messages import MessageFilter
from .stdio import StdioTransport
from .text import shortened

if TYPE_CHECKING:
    import httpx2

    from skillkit_core import AbortSignal, UserInterface

    from .servers import Server

__all__ = ["Connection"]

R = TypeVar("R")
_Question: TypeAlias = "tuple[types.ElicitRequestParams, asyncio.Future[types.ElicitResult]]"
_CANCEL, _DECLINE = types.ElicitResult(action="cancel"), types.ElicitResult(action="decline")
log = logging.getLogger("skillkit.mcp")
_CLOSING = 4.0
_LEFT_BEHIND = 1.0
_PAGES = 50
_QUESTIONS = 20
_RELIST = 1.0
_STARTS = 4
_STARTS_WITHIN = 60.0


def _quiet_sdk() -> None:
    """Keep the tracebacks of the SDK off the log, unless the application wants them: its logger ``client`` could be anybody's."""
    session.logger = sdk = logging.getLogger("mcp")
    if sdk.level == logging.NOTSET:
        sdk.setLevel(logging.CRITICAL)


class _Call:
    """A call in progress: who can be asked, what the server asks meanwhile, and how long questions took.

    The server's questions come in the task of the connection, and are put to the person in the task of the call: they belong to
    the call, end with it, and can make it wait (:class:`Suspended`).
    """

    def __init__(self, ui: UserInterface | None) -> None:
        self.ui = ui
        self.questions = 0
        self.posted: asyncio.Queue[_Question] = asyncio.Queue()
        self.asked = 0.0  # seconds
        self.asking_since: float | None = None
        self._open: list[_Question] = []

    async def post(self, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """Hand a question of the server on; return the answer."""
        self.questions += 1
        answer: asyncio.Future[types.ElicitResult] = asyncio.get_running_loop().create_future()
        question = (params, answer)
        self._open.append(question)
        self.posted.put_nowait(question)
        return await answer

    async def put(self, server: str) -> None:
        """Put the server's questions to the person, one after the other; raise Suspended where the call has to wait."""
        while True:
            params, answer = await self.posted.get()
            if answer.done():
                continue
            since = self.asking_since = monotonic()
            asking = asyncio.ensure_future(_answer_of(self.ui, server, params))
            withdrawn = partial(_withdraw, asking)
            answer.add_done_callback(withdrawn)
            try:
                await asyncio.wait({asking})
                if not answer.done():
                    answer.set_result(asking.result())
            finally:
                answer.remove_done_callback(withdrawn)
                asking.cancel()
                self.asked += monotonic() - since
                self.asking_since = None

    def close(self) -> None:
        """Answer what nobody has answered: the call is over."""
        for _, answer in self._open:
            if not answer.done():
                answer.set_result(_CANCEL)


def _withdraw(asking: asyncio.Future[types.ElicitResult], answer: asyncio.Future[types.ElicitResult]) -> None:
    asking.cancel()


async def _answer_of(ui: UserInterface | None, server: str, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Put a question of a server to the person."""
    assert ui is not None
    try:
        if isinstance(params, types.ElicitRequestURLParams):
            opened = await ask_url(ui, server, params.message, params.url)
            return types.ElicitResult(action="accept" if opened else "decline")
        content = await ask_form(ui, server, params.message, params.requested_schema)
        return types.ElicitResult(action="accept", content=content) if content is not None else _DECLINE
    except Suspended:
        raise
    except Deferred:
        return _CANCEL
    except Exception as error:  # noqa: BLE001 - a front end that fails is nobody who answers
        log.warning("%s: the question could not be asked: %s", server, _flat(error))
        return _CANCEL


class Connection:
    """The connection to one server.

    Args:
        server: what is configured.
        auth: makes the login for a server over HTTP; ``None``: it has none.

    Attributes:
        tools: the server's tools.
        prompts: the server's prompts.
        state: ``idle``, ``starting``, ``ready`` or ``failed``.
        problem: why it failed.
        version: grows when the lists change.
    """

    def __init__(
        self, server: Server, auth: Callable[[Connection], httpx2.Auth | None] = lambda connection: None
    ) -> None:
        self.server = server
        self.tools: tuple[types.Tool, ...] = ()
        self.prompts: tuple[types.Prompt, ...] = ()
        self.state = "idle"
        self.problem: str | None = None
        self.version = 0
        self.messages = MessageFilter(server.max_message, self._list_changed)
        self.protocol: str | None = None
        self.instructions: str | None = None
        self.has_resources = False
        self._auth = auth
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._stop = asyncio.Event()
        self._lock = asyncio.Lock()
        self._transport: StdioTransport | None = None
        self._http: GuardedClient | None = None
        self._calls: list[_Call] = []
        self._changed: set[str] = set()
        self._side: set[asyncio.Task[Any]] = set()
        self._starts: list[float] = []
        self.waiting_for: str | None = None  # what a login waits for

    # --- life ---------------------------------------------------------------------------------------------------

    def start(self) -> asyncio.Future[None]:
        """Begin to connect, unless that was done; return what is done when the server is ready or has failed."""
        if self._ready is None or (self._ready.done() and self.state == "failed"):
            loop = asyncio.get_running_loop()
            self._ready = loop.create_future()
            self._ready.add_done_callback(lambda f: f.cancelled() or f.exception())
            self._stop = asyncio.Event()
            self.state, self.problem = "starting", None
            self._starts = [t for t in self._starts if monotonic() - t < _STARTS_WITHIN] + [monotonic()]
            self._owner = loop.create_task(self._own(self._ready, self._stop), context=Context())
        return self._ready

    async def client(self) -> Client:
        """Return the client, connected.

        Raises:
            ToolError: the server cannot be reached.
        """
        async with self._lock:
            if self.state == "ready" and self._is_gone():
                await self.close()
            ready = self._start_again()
        await asyncio.shield(ready)
        assert self._client is not None
        return self._client

    def _is_gone(self) -> bool:
        """Return whether the server has ended or forgotten the session."""
        if self._transport is not None:
            return self._transport.ended.is_set()
        return (self._http is not None and self._http.session_gone) or self._client is None

    def _start_again(self) -> asyncio.Future[None]:
        """Begin to connect, but not for ever again."""
        if self.state == "failed" and len([t for t in self._starts if monotonic() - t < _STARTS_WITHIN]) >= _STARTS:
            raise ToolError(
                f"the MCP server {self.server.name!r} failed {_STARTS} times within a minute: {self.problem}"
            )
        return self.start()

    async def close(self) -> None:
        """End the connection and the server."""
        owner, self._owner = self._owner, None
        self._stop.set()
        for task in list(self._side):
            task.cancel()
        if owner is not None:
            done, _ = await asyncio.wait({owner}, timeout=_CLOSING)
            if not done:
                self.kill()
                owner.cancel()
                await asyncio.wait({owner}, timeout=_LEFT_BEHIND)
        if self._side:
            await asyncio.wait(self._side, timeout=_LEFT_BEHIND)
        self._ready, self.state, self._client = None, "idle", None

    def kill(self) -> None:
        """End the process without waiting."""
        if self._transport is not None:
            self._transport.kill()

    async def _own(self, ready: asyncio.Future[None], stop: asyncio.Event) -> None:
        """Open the client, wait until it is not needed or the server is gone, and close it."""
        server = self.server
        ended_by: BaseException | None = None
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(server.connect_timeout):
                    client = await self._open(stack)
                    await self._list(client, {"tools", "prompts"})
                self._client, self.state = client, "ready"
                self.protocol, self.instructions = client.protocol_version, client.instructions
                self.has_resources = client.server_capabilities.resources is not None
                self._tend(self._listen(client))
                ready.set_result(None)
                await self._until_over(stop)
        except BaseException as error:  # noqa: BLE001 - whatever ends the client ends this connection alone
            ended_by = error
        self._client = None
        for task in list(self._side):
            task.cancel()
        if not stop.is_set() or not ready.done():
            self._fail(ready, ended_by)

    async def _open(self, stack: AsyncExitStack) -> Client:
        _quiet_sdk()
        server = self.server
        self._transport = self._http = None
        if server.command is not None:
            self._transport = StdioTransport([server.command, *server.args], server.env, server.cwd, self.messages)
            transport: Any = self._transport
        else:
            assert server.url is not None
            self._http = GuardedClient(server.url, self.messages, server.headers, self._auth(self))
            await stack.enter_async_context(self._http)
            transport = streamable_http_client(
                server.url, http_client=self._http, max_sse_event_size=2 * server.max_message
            )
        client = Client(
            transport,
            elicitation_callback=self._elicit,
            client_info=types.Implementation(name="skillkit", version=__version__),
            cache=None,
        )
        return await stack.enter_async_context(client)

    async def _until_over(self, stop: asyncio.Event) -> None:
        """Return when the connection is closed, or raise ToolError when the server has ended."""
        waits = {asyncio.ensure_future(stop.wait())}
        if self._transport is not None:
            waits.add(asyncio.ensure_future(self._transport.ended.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    def _fail(self, ready: asyncio.Future[None], error: BaseException | None) -> None:
        text = self._why(error)
        self.state, self.problem = "failed", text
        if not ready.done():
            ready.set_exception(ToolError(f"the MCP server {self.server.name!r} cannot be used: {text}"))

    def _why(self, error: BaseException | None) -> str:
        """Return why the connection ended."""
        parts = []
        if isinstance(error, TimeoutError):
            what = f": it waits for {self.waiting_for}" if self.waiting_for else ""
            parts.append(f"no answer within {self.server.connect_timeout:g} s{what}")
        elif error is not None and not isinstance(error, asyncio.CancelledError):
            parts.append(_flat(error))
        if self._http is not None and self._http.problem and self._http.problem not in "".join(parts):
            parts.append(self._http.problem)
        if self._http is not None and self._http.login:
            parts.append(f"log in with 'skillkit mcp login {self.server.name}'")
        if self._transport is not None and (said := self._transport.last_words()):
            parts.append(said)
        elif self.messages.noise and self.messages.log:
            parts.append(f"it wrote what is no message: {self.messages.log[-1]}")
        return self.server.redact("; ".join(dict.fromkeys(parts))) or "the connection ended"

    # --- lists --------------------------------------------------------------------------------------------------

    def _list_changed(self, what: str) -> None:
        if what not in ("tools", "prompts"):
            return
        first = not self._changed
        self._changed.add(what)
        if first and self._client is not None:
            self._tend(self._relist())

    def _tend(self, work: Any) -> None:
        """Run a task beside the calls, until it ends or the connection does."""
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._side.add(task)
        task.add_done_callback(self._side.discard)

    async def _relist(self) -> None:
        """Read the lists again, at most once a second."""
        while self._changed and self._client is not None:
            await asyncio.sleep(0.1)
            what, client = set(self._changed), self._client
            self._changed.clear()
            try:
                async with asyncio.timeout(self.server.connect_timeout):
                    await self._list(client, what)
            except Exception as error:  # noqa: BLE001 - the old list stays
                log.debug("%s: the list could not be read again: %s", self.server.name, _flat(error))
            await asyncio.sleep(_RELIST)

    async def _list(self, client: Client, what: set[str]) -> None:
        offers = client.server_capabilities
        if "tools" in what:
            self.messages.left_out.clear()
            self.messages.unchecked.clear()
            found: list[types.Tool] = await self._pages(client.list_tools, lambda r: r.tools, 2000)
            first = {tool.name: tool for tool in reversed(found)}
            for name in {tool.name for tool in found if first[tool.name] is not tool}:
                self.messages.left_out[f"the second {shortened(name, 60)}"] = "another tool has the same name"
            self.tools = tuple(tool for tool in found if first[tool.name] is tool)
        if "prompts" in what and offers.prompts is not None:
            with contextlib.suppress(MCPError, ValidationError):
                prompts: list[types.Prompt] = await self._pages(client.list_prompts, lambda r: r.prompts, 500)
                self.prompts = tuple(sorted({p.name: p for p in reversed(prompts)}.values(), key=lambda p: p.name))
        self.version += 1

    async def _pages(self, fetch: Callable[..., Awaitable[Any]], items: Callable[[Any], list[R]], most: int) -> list[R]:
        """Return the items of all pages, of a listing that may never end."""
        found: list[R] = []
        cursor, seen = None, set()
        for _ in range(_PAGES):
            page = await fetch(cursor=cursor)
            found += items(page)
            cursor = page.next_cursor
            if not cursor or cursor in seen or len(found) >= most:
                break
            seen.add(cursor)
        return found[:most]

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes, for servers that send them only to who asks (2026-07-28)."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        offers = client.server_capabilities
        tools = offers.tools is not None and bool(offers.tools.list_changed)
        prompts = offers.prompts is not None and bool(offers.prompts.list_changed)
        while tools or prompts:
            try:
                async with client.listen(tools_list_changed=tools, prompts_list_changed=prompts) as events:
                    async for _ in events:
                        pass  # the filter has seen the message
            except MCPError:
                return
            except Exception as error:  # noqa: BLE001 - a lost subscription is made again
                log.debug("%s: the subscription was lost: %s", self.server.name, _flat(error))
            await asyncio.sleep(5)
            self._list_changed("tools")

    # --- requests -----------------------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        signal: AbortSignal | None = None,
        ui: UserInterface | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> types.CallToolResult:
        """Call a tool by the server's name for it, within the limit for calls.

        Raises:
            ToolError: there is no result; the text says why.
        """

        async def told(progress: float, total: float | None, message: str | None) -> None:
            if on_progress is not None:
                share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
                on_progress(f"{share} {shortened(message or '', 500)}".rstrip() + "\n")

        async def send(client: Client) -> types.CallToolResult:
            return await client.call_tool(tool, dict(args), progress_callback=told)

        return await self.request(send, f"{tool!r}", signal=signal, ui=ui)

    async def request(
        self,
        send: Callable[[Client], Awaitable[R]],
        what: str,
        *,
        signal: AbortSignal | None = None,
        ui: UserInterface | None = None,
    ) -> R:
        """Send a request of any kind, within the limit for calls. Send it once more where the server had forgotten the session.

        Raises:
            ToolError: there is no answer; the text says why.
        """
        name = self.server.name
        for again in (True, False):
            client = await self.client()
            try:
                return await self._within_limits(send(client), what, signal, ui)
            except MCPError as error:
                gone = self._http is not None and self._http.session_gone
                if gone and again:
                    continue
                if error.code == types.CONNECTION_CLOSED and self._transport is not None:
                    await self._transport.settled()
                raise ToolError(f"{name}: {what} failed: {self.server.redact(self._error_text(error))}") from None
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(str(part) for part in first["loc"][-4:])
                text = shortened(f"{where}: {first['msg']}", 300)
                raise ToolError(f"{name}: the answer to {what} is malformed: {text}") from None
            except SkillKitError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the SDK raises is this request's failure
                raise ToolError(f"{name}: {what} failed: {self.server.redact(_flat(error))}") from None
        raise AssertionError("unreachable")

    def _error_text(self, error: MCPError) -> str:
        text = shortened(error.message, 2000)
        if error.code == types.CONNECTION_CLOSED and self._transport is not None:
            text = "the server ended"
            if said := self._transport.last_words():
                text += f"; {said}"
        elif error.code == types.URL_ELICITATION_REQUIRED and isinstance(error.data, dict):
            asked = error.data.get("elicitations")
            urls = [str(one.get("url")) for one in (asked if isinstance(asked, list) else ()) if isinstance(one, dict)]
            text += "".join(f"; a person must open {shortened(url, 500)}" for url in urls[:3])
        return text

    async def _within_limits(
        self, work: Awaitable[R], what: str, signal: AbortSignal | None, ui: UserInterface | None
    ) -> R:
        """Await an answer until the limit. The time in which a person is asked does not count.

        The request is a task of its own: it cannot hold up its caller when the server takes no more messages.
        """
        call = _Call(ui)
        self._calls.append(call)
        loop = asyncio.get_running_loop()
        task: asyncio.Task[R] = loop.create_task(_awaited(work), context=Context())
        aborted = loop.create_task(signal.wait()) if signal is not None else None
        putting = loop.create_task(call.put(self.server.name))  # in the context of the caller, to whom questions belong
        limit, began = self.server.call_timeout, monotonic()
        try:
            while True:
                now = monotonic()
                asking = now - call.asking_since if call.asking_since is not None else 0.0
                left = limit - (now - began - call.asked - asking)
                if left <= 0:
                    raise ToolError(f"{self.server.name}: {what} gave no answer within {limit:g} s")
                waits = {task, putting} if aborted is None else {task, putting, aborted}
                await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    return task.result()
                if putting.done():
                    putting.result()  # raises: the call waits for a person
                if aborted is not None and aborted.done():
                    raise ToolError(f"{self.server.name}: {what} was aborted")
        finally:
            self._calls.remove(call)
            putting.cancel()
            if aborted is not None:
                aborted.cancel()
            if not task.done():
                task.cancel()
                self._side.add(task)
                task.add_done_callback(self._side.discard)
                task.add_done_callback(lambda t: t.cancelled() or t.exception())
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({task}, timeout=_LEFT_BEHIND)
            call.close()

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """Put a question of the server to the person of the newest call. Decline where nobody is there."""
        call = next((c for c in reversed(self._calls) if c.ui is not None), None)
        return await call.post(params) if call is not None and call.questions < _QUESTIONS else _CANCEL


async def _awaited(work: Awaitable[R]) -> R:
    return await work


def _flat(error: BaseException) -> str:
    """Return an error in one line. Of a group, return the innermost errors."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(_flat(one) for one in error.exceptions))
    text = shortened(str(error), 500) or type(error).__name__
    return text if isinstance(error, (SkillKitError, MCPError)) else f"{type(error).__name__}: {text}"
