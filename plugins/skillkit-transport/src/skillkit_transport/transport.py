"""An official SDK as a transport: its credentials, base URLs, headers, proxies and error types, our bytes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

if TYPE_CHECKING:
    import httpx2

    from .prepared import Prepared

__all__ = ["SDKTransport"]

_log = logging.getLogger(__name__)

C = TypeVar("C")  # the SDK's client

_LONGER = "%s: %s; each request takes the SDK's own, longer way"
_KEPT = 8  # kinds of requests whose headers are remembered: there is one, unless their settings give headers


class SDKTransport(ABC, Generic[C]):
    """Sends bytes as an SDK would send them, and gives the answer as bytes.

    For SDKs of OpenAI's and Anthropic's kind: an async client on httpx2 with a low-level ``post``, and an
    HTTP client over aiohttp beside it. There is one client per event loop, for connections belong to the loop that opened them;
    it is made, and the SDK imported, with the first request.

    Attributes:
        package: the SDK's package.
        detour: why each request takes the SDK's own, longer way; empty: those after the first take the short one.
    """

    package: ClassVar[str]

    def __init__(self) -> None:
        self._sdks: dict[asyncio.AbstractEventLoop, C] = {}
        self._prepared: dict[tuple[Any, ...], Prepared] = {}
        self.detour = ""
        self._logs = (logging.getLogger(self.package), logging.getLogger("httpx2"))

    # --- what depends on the SDK --------------------------------------------------------------------------------

    @abstractmethod
    def make(self) -> C:
        """A client of the SDK, with :meth:`http` as its HTTP client and without retries."""

    def settings(self, sdk: C) -> tuple[object, ...]:
        """What the URL and the headers of a request depend on, besides the request."""
        known: Any = sdk
        return known.api_key, known.base_url, known.timeout, dict(known._custom_headers), dict(known._custom_query)

    def lasting(self, sdk: C) -> bool:
        """Whether the headers of one request are right for the next.

        They are not where the server has set cookies, which are of their moment, or where the SDK numbers its requests.
        """
        known: Any = sdk
        return not known._client.cookies and known._idempotency_header is None

    def options(self, headers: Mapping[str, Any]) -> dict[str, Any]:
        """The SDK's options of a request with these headers."""
        sdk: Any = self.sdk()
        return {"headers": dict(headers), "timeout": sdk.timeout}

    # --- clients ------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls) -> Any:
        """The SDK's package, imported as far as a client needs it, which costs a third to three quarters of a second.

        The garbage collector, which would look in vain through the many classes that come into being, waits meanwhile.
        """
        if cls.package in sys.modules:
            return importlib.import_module(cls.package)  # which waits for another thread's import
        collecting = gc.isenabled()
        gc.disable()
        try:
            from .light import import_light

            return import_light(cls.package)
        finally:
            if collecting:
                gc.enable()

    def http(self, connect_timeout: float, proxy: str | None) -> httpx2.AsyncClient:
        """The HTTP client for a client of the SDK, over aiohttp.

        Args:
            connect_timeout: seconds to reach the server. There is no other time limit: a
                :class:`~skillkit_transport.http.Watch` per request costs less than timers for every piece of data.
            proxy: its URL; ``None``: the environment's.

        Raises:
            ProviderError: the environment names a proxy of an unknown kind.
        """
        import httpx2

        from .connections import keep_nothing, unusable_proxy

        timeout = httpx2.Timeout(None, connect=connect_timeout)
        given = {} if proxy is None else {"proxy": proxy}
        # Never on to another place: it would get the key and the conversation.
        make = self.load().DefaultAioHttpClient
        try:
            http: httpx2.AsyncClient = make(timeout=timeout, follow_redirects=False, **given)
        except ValueError:  # its text may hold the proxy's password
            raise unusable_proxy("http", "https") from None
        keep_nothing(http)
        return http

    def sdk(self) -> C:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._sdks.get(loop)
        if found is None:
            for gone in [other for other in self._sdks if other.is_closed()]:
                _forget(self._sdks.pop(gone))
                self._prepared.clear()
            found = self._sdks[loop] = self.make()
        return found

    async def close(self) -> None:
        """Close the connections."""
        mine: Any = self._sdks.pop(asyncio.get_running_loop(), None)
        self._prepared.clear()
        if mine is not None:
            await mine.close()
        self.__del__()

    def __del__(self) -> None:
        # Without this an application that ends without close() is told "Unclosed client session" by aiohttp.
        for sdk in self._sdks.values():
            _forget(sdk)
        self._sdks.clear()

    # --- requests -----------------------------------------------------------------------------------------------

    async def post(self, path: str, content: bytes, headers: Mapping[str, Any]) -> httpx2.Response:
        """Send ``content``; the answer's body has not been read.

        The SDK sends the first request of a kind; those that differ in the body alone are sent as it was.

        Raises:
            Exception: the SDK's ``APIError``: the request failed, or the status is an error.
        """
        from .prepared import Prepared, obstacle

        sdk = self.sdk()
        key = (sdk, path, *headers.items())
        prepared = self._prepared.get(key)
        if prepared is not None and prepared.stands(self.settings(sdk)) and not self._watched():
            return await prepared.send(content)
        self._look(obstacle(sdk, self.package))
        plain = not self.detour and self.lasting(sdk)
        response = await self._first(sdk, path, content, headers)
        if plain:
            if len(self._prepared) >= _KEPT:
                self._prepared.clear()
            self._prepared[key] = Prepared(sdk, response.request, self.settings(sdk), self.load())
        return response

    async def _first(self, sdk: Any, path: str, content: bytes, headers: Mapping[str, Any]) -> httpx2.Response:
        import httpx2

        # For this type, and this type alone, the SDK hands out the answer as it is, with its body unread.
        response: Any = await sdk.post(
            path,
            cast_to=httpx2.Response,
            content=content,
            options=self.options(headers),
            stream=True,
            stream_cls=self.load().AsyncStream[object],
        )
        return cast("httpx2.Response", response)

    def _look(self, obstacle: str) -> None:
        """Say once what keeps requests from the short way."""
        if obstacle and obstacle != self.detour:
            _log.warning(_LONGER, self.package, obstacle)
        self.detour = obstacle

    def prepare(self) -> None:
        """Import all that the first request needs; another thread may do so. Nothing is sent."""
        from . import connections, prepared  # noqa: F401

        self.make()

    def remark(self) -> str:
        """Why requests would take the SDK's own, longer way, in words for ``skillkit doctor``; empty: they would not.

        Nothing is sent. The SDK is imported.
        """
        from .prepared import obstacle

        found = obstacle(self.make(), self.package)
        return _LONGER % (self.package, found) if found else ""

    def _watched(self) -> bool:
        """Whether somebody wants the log of the SDK or of its HTTP client, which only they themselves can write."""
        return any(log.isEnabledFor(logging.INFO) for log in self._logs)

    async def get(self, path: str, timeout: float | None) -> bytes:
        """The body at ``path``; ``timeout`` is the longest silence in seconds.

        Raises:
            Exception: the SDK's ``APIError``: the request failed, or the status is an error.
        """
        import httpx2

        sdk: Any = self.sdk()
        options = {**self.options({}), "timeout": httpx2.Timeout(timeout, connect=httpx2.Timeout(sdk.timeout).connect)}
        response = await sdk.get(path, cast_to=httpx2.Response, options=options)
        return cast("bytes", response.content)

    # --- headers ------------------------------------------------------------------------------------------------

    def headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request with ``extra``, credentials included, as the SDK will send them."""
        sdk: Any = self.sdk()
        found: dict[str, tuple[str, Any]] = {}
        for source in (sdk.auth_headers, sdk.default_headers, extra):
            for name, value in source.items():
                found.pop(name.lower(), None)
                found[name.lower()] = (name, value)
        return {name: value for name, value in found.values() if isinstance(value, str)}

    def exactly(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """Headers for :meth:`post` that leave nothing but ``headers``: what the SDK would add is taken out."""
        omit = self.load().Omit
        kept = {name.lower() for name in headers}
        return {**{name: omit() for name in self.headers({}) if name.lower() not in kept}, **headers}


def _forget(sdk: Any) -> None:
    """Let go of connections that nobody can close any more: their loop has ended, or ends."""
    client = sdk._client
    for transport in (getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()):
        session: Any = getattr(transport, "client", None)
        if getattr(session, "closed", True):  # without the attribute it is what makes a session: nothing was ever sent
            continue
        with contextlib.suppress(RuntimeError, AttributeError):  # closing a transport wants a loop that runs
            session.connector._close()
        session.detach()
