"""The guard of every request to another host: which address may be reached is decided once, and that address is connected to.

A name is looked up here and nowhere else, so that an answer that changes (DNS rebinding) gains nothing. Private, loopback,
link-local and metadata addresses are refused, by the rules of ``skillkit-web-tools``, and so is plain http, unless
``a2a.client.allow`` names the host. No redirect is followed, no proxy of the environment is asked, and an answer that is too
large is cut off.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Collection
from typing import cast

import httpx
from skillkit_web_tools import is_named, is_public
from yarl import URL

from .errors import PeerError

__all__ = ["Guarded", "guarded_client"]

_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")  # of an event of a stream


def guarded_client(
    allow: Collection[str], *, max_bytes: int, timeout: float, silence: float, agent: str = "skillkit-a2a"
) -> httpx.AsyncClient:
    """Return a client behind the guard.

    Args:
        allow: hosts, or hosts with a port, that may be private and without TLS.
        max_bytes: of an answer, or of one event of a stream.
        timeout: seconds to connect and to send.
        silence: seconds without a byte.
        agent: what the client calls itself.
    """
    return httpx.AsyncClient(
        transport=Guarded(allow, max_bytes),
        headers={"User-Agent": agent, "Accept-Encoding": "identity"},
        timeout=httpx.Timeout(silence, connect=timeout, write=timeout, pool=timeout),
        follow_redirects=False,
        trust_env=False,
    )


class Guarded(httpx.AsyncBaseTransport):
    """Connects to the address that was checked, in the name of the host that was asked for."""

    def __init__(self, allow: Collection[str], max_bytes: int) -> None:
        self._allow, self._max = tuple(allow), max_bytes
        # a connection belongs to one name: another name at the same address gets one of its own
        self._inner = httpx.AsyncHTTPTransport(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and cut off an answer that is too large.

        Raises:
            PeerError: ``address``: the host may not be called; ``protocol``: the answer is packed.
        """
        url = request.url
        address = await self._address(url)
        sent = httpx.Request(
            request.method,
            url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.host},
        )
        response = await self._inner.handle_async_request(sent)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()
            raise PeerError("protocol", f"{url.host} sends a packed answer, which was not asked for")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        body = cast(httpx.AsyncByteStream, response.stream)
        response.stream = _Cut(body, self._max, url.host, by_event=kind == "text/event-stream")
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _address(self, url: httpx.URL) -> str:
        """Return the address that a host has, if it may be called."""
        if url.scheme not in ("http", "https") or not url.host:
            raise PeerError("address", f"{url} is no address of an agent: it begins with https://")
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            named = is_named(URL.build(scheme=url.scheme, host=url.host, port=port), self._allow)
        except ValueError:
            raise PeerError("address", f"{url} is no address of an agent") from None
        hint = f"if you trust it: a2a.client.allow: [{url.host}:{port}]"
        if url.scheme == "http" and not named:
            raise PeerError("address", f"{url.host} is called without TLS, which nobody allowed", hint=hint)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpx.ConnectError(f"there is no host {url.host}: {error}") from None
        addresses = [str(one[4][0]) for one in found]
        allowed = addresses if named else [one for one in addresses if is_public(one)]
        if not allowed:
            raise PeerError("address", f"{url.host} has a private or local address, which nobody allowed", hint=hint)
        return allowed[0]


class _Cut(httpx.AsyncByteStream):
    """A body of at most so many bytes, or a stream of events of at most so many bytes each."""

    def __init__(self, body: httpx.AsyncByteStream, most: int, host: str, *, by_event: bool) -> None:
        self._body, self._most, self._host, self._by_event = body, most, host, by_event

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count, last = 0, b""
        async for piece in self._body:
            # an event may end in the middle of a piece; what stands behind its end is the next one's
            behind = max(((last + piece).rfind(end) + len(end) - len(last) for end in _ENDS), default=0)
            ended = self._by_event and any(end in last + piece for end in _ENDS)
            count = len(piece) - max(0, behind) if ended else count + len(piece)
            last = piece[-3:]
            if count > self._most:
                raise PeerError(
                    "too_large", f"{self._host} sends more than {self._most:,} bytes (a2a.client.max_bytes)"
                )
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()
