"""Connections that know nothing of the run that opened them, and read no more of an error than can be told.

The event loop keeps a copy of the current context variables with every callback. A connection outlives the run that opened it,
and would keep alive what that run's variables lead to: agent, session, tools. So what stays behind a request is set up where no
variable has a value.
"""

from __future__ import annotations

import os
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from functools import partial
from typing import Any, TypeAlias, TypeVar

import aiohttp
import httpx2
from aiohttp.client_proto import ResponseHandler

from skillkit_core.errors import ErrorKind, ProviderError

from .http import MOST_BYTES

__all__ = ["keep_nothing", "unusable_proxy"]

T = TypeVar("T")
Send: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]

_MOST_OF_ERROR = 256 * 1024  # bytes
_MOST_OF_HEADER = 64 * 1024  # bytes; gateways put tokens and policies there that aiohttp's 8 KiB do not hold
_PROXIES = ("http", "https")


def keep_nothing(http: httpx2.AsyncClient) -> None:
    """Let the transports of ``http``, which go over aiohttp and have sent nothing yet, open such connections."""
    for transport in (http._transport, *http._mounts.values()):
        if transport is not None:
            transport.client = partial(_session, transport)  # type: ignore[attr-defined]
            proxy = getattr(transport, "proxy", None)
            usable = proxy is None or proxy.url.scheme in _PROXIES
            send = partial(_bounded, transport.handle_async_request) if usable else _refused
            transport.handle_async_request = send  # type: ignore[method-assign]


async def _refused(request: httpx2.Request) -> httpx2.Response:
    """Send nothing: aiohttp would take a SOCKS proxy for an HTTP proxy, and hand it the whole request, key included."""
    raise unusable_proxy(request.url.scheme)


def unusable_proxy(*schemes: str) -> ProviderError:
    """Return the error for a proxy in the environment that is no HTTP proxy; it names the variable.

    Args:
        schemes: of the addresses that the proxy would be used for.
    """
    names = {f"{scheme}_proxy" for scheme in (*schemes, "all")}
    found = [
        (name, kind)
        for name, value in sorted(os.environ.items())
        if name.lower() in names and (kind := value.lower().partition("://")[0]) not in _PROXIES and "://" in value
    ]
    name, kind = found[0] if found else ("the proxy of the system", "socks")
    return ProviderError(
        f"{name} names a {'SOCKS' if kind.startswith('socks') else kind} proxy, which is not supported: nothing was sent",
        kind=ErrorKind.invalid_request,
        hint="name an HTTP proxy (http://host:port), or take this server out with NO_PROXY",
    )


async def _bounded(send: Send, request: httpx2.Request) -> httpx2.Response:
    """The answer to ``request``; what is read whole (errors, the list of models) has an end, whatever the server does."""
    response = await send(request)
    most = MOST_BYTES if response.is_success else _MOST_OF_ERROR
    if not response.is_success or request.method == "GET":
        response.stream = _Beginning(response.stream, most)
    return response


class _Beginning(httpx2.AsyncByteStream):
    """At most the first ``most`` bytes of a body."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


def _session(transport: Any) -> aiohttp.ClientSession:
    """The session that the transport makes for itself, but for the connector."""
    limits = transport.limits
    most = {} if limits.max_connections is None else {"limit": limits.max_connections}
    connector = _Connector(keepalive_timeout=limits.keepalive_expiry, ssl=transport.ssl_context, **most)
    return aiohttp.ClientSession(connector=connector, max_line_size=_MOST_OF_HEADER, max_field_size=_MOST_OF_HEADER)


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = partial(_Protocol, loop=self._loop)  # type: ignore[assignment]

    async def _create_connection(self, *given: Any, **named: Any) -> ResponseHandler:
        return await _apart(super()._create_connection(*given, **named))

    def _release(self, *given: Any, **named: Any) -> None:
        Context().run(super()._release, *given, **named)  # sets the timer that closes idle connections


class _Protocol(ResponseHandler):
    __slots__ = ()

    def resume_reading(self, *given: Any, **named: Any) -> None:
        if self._reading_paused:  # aiohttp asks after every piece of data, and would parse nothing each time
            Context().run(super().resume_reading, *given, **named)


@types.coroutine
def _apart(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """The result of ``work``, done by this task in an empty context."""
    run = Context().run
    step: Any = work.send
    value: Any = None
    while True:
        try:
            awaited = run(step, value)
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            step, value = work.send, (yield awaited)
        except BaseException as error:  # noqa: BLE001 - a cancellation, too, is for the work
            step, value = work.throw, error
