"""The official SDK as a transport: its credentials, base URLs, headers, proxies and error types, our bytes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import anthropic
    import httpx2

    from .prepared import Prepared

__all__ = ["ANTHROPIC_URL", "PATH", "Endpoint", "Transport"]

ANTHROPIC_URL = "https://api.anthropic.com"
PATH = "/v1/messages"
_KEPT = 8  # kinds of requests whose headers are remembered: there is one, unless their settings give headers


class Endpoint:
    """Where requests go and with which credentials.

    Attributes:
        base_url: without ``/v1``; ``None``: the SDK's own choice (``ANTHROPIC_BASE_URL``, a profile, Anthropic).
        api_key: ``None`` with ``official``: whatever the SDK finds (environment, profile); else no credential is sent.
        official: the provider is Anthropic itself. Every other one never sees Anthropic's credentials or variables.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        official: bool,
        headers: Mapping[str, str],
        timeout: float,
        connect_timeout: float,
        proxy: str | None,
    ) -> None:
        self.base_url = base_url.rstrip("/").removesuffix("/v1") if base_url else None
        self.api_key = api_key
        self.official = official
        self.headers = dict(headers)
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.proxy = proxy


class Transport:
    """One client of the SDK per event loop, made with the first request.

    The SDK is imported here and not before: that costs more than a second of CPU.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._clients: dict[asyncio.AbstractEventLoop, anthropic.AsyncAnthropic] = {}
        self._prepared: dict[tuple[Any, ...], Prepared] = {}

    def client(self) -> anthropic.AsyncAnthropic:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            for gone in [other for other in self._clients if other.is_closed()]:
                _forget(self._clients.pop(gone))
                self._prepared.clear()
            client = self._clients[loop] = self._make()
        return client

    def _make(self) -> anthropic.AsyncAnthropic:
        _import_sdk()
        import anthropic
        import httpx2

        from .connections import keep_nothing

        end = self._endpoint
        # Silence is watched per request (see Interrupt), so the transport has no timers but the one for connecting.
        self._timeout = httpx2.Timeout(None, connect=end.connect_timeout)
        headers: dict[str, Any] = dict(end.headers)
        api_key = end.api_key
        if not api_key and (not end.official or end.base_url is not None):
            api_key = "none"  # keeps the SDK from looking for credentials that are not meant for this server
            if not any(k.lower() in ("authorization", "x-api-key") for k in headers):
                headers["Authorization"] = anthropic.omit
        # Never on to another place: it would get the key and the conversation.
        http = anthropic.DefaultAioHttpClient(timeout=self._timeout, proxy=end.proxy, follow_redirects=False)
        keep_nothing(http)
        client = anthropic.AsyncAnthropic(
            api_key=api_key or None,
            base_url=end.base_url,
            max_retries=0,
            timeout=self._timeout,
            default_headers=headers,
            http_client=http,
        )
        if not end.official:
            # ANTHROPIC_CUSTOM_HEADERS may hold a secret meant for Anthropic; only the constructor's parameters count.
            client._custom_headers = headers
        return client

    def headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        """Every header that the next request will have, credentials included."""
        import anthropic

        merged: dict[str, str] = {}
        for source in (self.client().default_headers, extra):
            for name, value in source.items():
                merged = {k: v for k, v in merged.items() if k.lower() != name.lower()}
                if not isinstance(value, anthropic.Omit):
                    merged[name] = str(value)
        return merged

    def exactly(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """Headers for :meth:`post` that leave nothing but ``headers``: what the SDK would add is taken out."""
        import anthropic

        kept = {name.lower() for name in headers}
        return {
            **{n: anthropic.omit for n in self.client().default_headers if n.lower() not in kept},
            **headers,
        }

    async def post(self, content: bytes, headers: Mapping[str, Any]) -> httpx2.Response:
        """Send a body; the response has its headers, its content is still to be read.

        The SDK sends the first request of a kind; those that differ in the body alone are sent as it was.

        Raises:
            anthropic.APIError: no connection, or a status that is not 2xx.
        """
        from .prepared import Prepared, lasting, watched

        client = self.client()
        key = (client, *headers.items())
        prepared = self._prepared.get(key)
        if prepared is not None and prepared.stands() and not watched():
            return await prepared.send(content)
        plain = lasting(client)
        response = await self._first(client, content, headers)
        if plain:
            if len(self._prepared) >= _KEPT:
                self._prepared.clear()
            self._prepared[key] = Prepared(client, response.request)
        return response

    async def _first(
        self, client: anthropic.AsyncAnthropic, content: bytes, headers: Mapping[str, Any]
    ) -> httpx2.Response:
        import anthropic
        import httpx2

        response: Any = await client.post(
            PATH,
            cast_to=httpx2.Response,
            content=content,
            options={"headers": dict(headers), "timeout": self._timeout},
            stream=True,
            stream_cls=anthropic.AsyncStream[Any],
        )
        return cast("httpx2.Response", response)

    async def get(self, path: str) -> bytes:
        """The body at ``path``.

        Raises:
            anthropic.APIError: no connection, or a status that is not 2xx.
        """
        import httpx2

        timeout = httpx2.Timeout(self._endpoint.timeout, connect=self._endpoint.connect_timeout)
        answer = await self.client().get(path, cast_to=httpx2.Response, options={"timeout": timeout})
        return answer.content

    def has_credentials(self) -> bool:
        """Whether a request can prove who asks; a compatible server may want no proof."""
        if not self._endpoint.official or self.client().custom_auth is not None:
            return True
        return not {"authorization", "x-api-key"}.isdisjoint(name.lower() for name in self.headers({}))

    async def close(self) -> None:
        """Close the connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        self._prepared.clear()
        if client is not None:
            await client.close()
        self.__del__()

    def __del__(self) -> None:
        # Without this an application that ends without close() is told "Unclosed client session" by aiohttp.
        for client in self._clients.values():
            _forget(client)
        self._clients.clear()


def _forget(client: anthropic.AsyncAnthropic) -> None:
    """Let go of connections that nobody can close any more: their loop has ended, or ends."""
    session = getattr(getattr(client._client, "_transport", None), "client", None)
    if session is None or session.closed:
        return
    with contextlib.suppress(RuntimeError, AttributeError):  # closing a transport wants a loop that runs
        session.connector._close()
    session.detach()


def _import_sdk() -> None:
    """Import the SDK without the garbage collector, which would look in vain through the many classes it makes."""
    if "anthropic" in sys.modules:
        return
    collecting = gc.isenabled()
    gc.disable()
    try:
        import anthropic  # noqa: F401
    finally:
        if collecting:
            gc.enable()
