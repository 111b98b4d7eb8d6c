"""Connections of an SDK that know nothing of the run that opened them, and read no more of an error than can be told."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import aiohttp
import httpx2

from skillkit_core.errors import ErrorKind, ProviderError

from .http import MOST_BYTES
from .sockets import MOST_OF_ERROR, session

__all__ = ["keep_nothing", "unusable_proxy"]

Send: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]

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
    most = MOST_BYTES if response.is_success else MOST_OF_ERROR
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
    return session(keepalive_timeout=limits.keepalive_expiry, ssl=transport.ssl_context, **most)
