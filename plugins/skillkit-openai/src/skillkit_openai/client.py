"""The official SDK's client, made when it is first needed: its credentials, URLs, headers and transport, no retries."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from .dialect import OPENAI_URL

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

    from .prepared import Prepared

__all__ = ["Client", "Endpoint"]

_KEPT = 8  # kinds of requests whose headers are remembered: there is one, unless their settings give headers


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go.

    Attributes:
        base_url: with the version, without ``/chat/completions``.
        api_key: sent as bearer token; empty: none is sent.
        headers: sent with every request; a value replaces the SDK's own.
        query: added to every URL (Azure's ``api-version``).
        proxy: ``http://[user:password@]host:port``; default: ``HTTPS_PROXY`` and friends.
        connect_timeout: seconds to reach the server. The SDK's 5 are too few for an event loop with a thousand sessions.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = field(default=None, repr=False)
    connect_timeout: float = 60.0


class Client:
    """One SDK client per event loop: connections belong to the loop that opened them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._sdks: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = {}
        self._prepared: dict[tuple[Any, ...], Prepared] = {}

    @staticmethod
    def load() -> None:
        """Import the SDK, which costs about half a second the first time."""
        import openai  # noqa: F401

    def sdk(self) -> AsyncOpenAI:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._sdks.get(loop)
        if found is None:
            for gone in [other for other in self._sdks if other.is_closed()]:
                _forget(self._sdks.pop(gone))
                self._prepared.clear()
            found = self._sdks[loop] = self._make()
        return found

    def _make(self) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        from .connections import keep_nothing

        end = self.endpoint
        # Silence is watched per request (see Watch), so the transport has no timers but the one for connecting.
        timeout = httpx2.Timeout(None, connect=end.connect_timeout)
        options: dict[str, Any] = {} if end.proxy is None else {"proxy": end.proxy}
        # Never on to another place: it would get the key and the conversation.
        http = DefaultAioHttpClient(timeout=timeout, follow_redirects=False, **options)
        keep_nothing(http)
        sdk = AsyncOpenAI(
            api_key=end.api_key,
            base_url=end.base_url,
            default_headers=dict(end.headers),
            default_query=dict(end.query),
            timeout=timeout,
            max_retries=0,
            http_client=http,
            _enforce_credentials=False,
        )
        if end.base_url != OPENAI_URL:
            # OPENAI_ORG_ID and OPENAI_PROJECT_ID, which the SDK reads, are for OpenAI alone.
            sdk.organization = sdk.project = None
        return sdk

    async def post(self, path: str, content: bytes, headers: Mapping[str, Any]) -> httpx2.Response:
        """Send ``content``; the answer's body has not been read.

        The SDK sends the first request of a kind; those that differ in the body alone are sent as it was.

        Raises:
            openai.APIError: the request failed, or the status is an error.
        """
        from .prepared import Prepared, lasting, watched

        sdk = self.sdk()
        key = (sdk, path, *headers.items())
        prepared = self._prepared.get(key)
        if prepared is not None and prepared.stands() and not watched():
            return await prepared.send(content)
        plain = lasting(sdk)
        response = await self._first(sdk, path, content, headers)
        if plain:
            if len(self._prepared) >= _KEPT:
                self._prepared.clear()
            self._prepared[key] = Prepared(sdk, response.request)
        return response

    async def _first(self, sdk: AsyncOpenAI, path: str, content: bytes, headers: Mapping[str, Any]) -> httpx2.Response:
        import httpx2
        from openai import AsyncStream

        # For this type, and this type alone, the SDK hands out the answer as it is, with its body unread.
        response: Any = await sdk.post(
            path,
            cast_to=httpx2.Response,
            content=content,
            options=self._options(headers),
            stream=True,
            stream_cls=AsyncStream[object],
        )
        return cast("httpx2.Response", response)

    async def get(self, path: str) -> bytes:
        """The body at ``path``.

        Raises:
            openai.APIError: the request failed, or the status is an error.
        """
        import httpx2

        response = await self.sdk().get(path, cast_to=httpx2.Response, options=self._options({}))
        return response.content

    def _options(self, headers: Mapping[str, Any]) -> Any:
        """The SDK's options of a request, all of them: it copies the defaults of missing ones deeply, every time.

        ``security`` leaves out the administrator's key, which the SDK would take from ``OPENAI_ADMIN_KEY``.
        """
        return {
            "headers": {**self._keyless(), **headers},
            "max_retries": 0,
            "params": {},
            "security": {"bearer_auth": True},
            "timeout": self.sdk().timeout,
        }

    def _keyless(self) -> dict[str, Any]:
        """What tells the SDK that there is no key, where there is none."""
        from openai import Omit

        if self.endpoint.api_key or "authorization" in {*map(str.lower, self.endpoint.headers)}:
            return {}
        return {"Authorization": Omit()}

    def headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request, credentials included, as the SDK will send them."""
        sdk = self.sdk()
        found = {**sdk.auth_headers, **sdk.default_headers}
        out = {name: value for name, value in found.items() if isinstance(value, str)}
        low = {name.lower(): name for name in out}
        for name, value in extra.items():
            out.pop(low.get(name.lower(), name), None)
            out[name] = value
        return out

    def overrides(self, final: Mapping[str, str], own: Mapping[str, str]) -> dict[str, Any]:
        """What to hand to :meth:`post` so that exactly ``final`` is sent where :meth:`headers` gave ``own``."""
        from openai import Omit

        kept = {name.lower() for name in final}
        gone: dict[str, Any] = {name: Omit() for name in own if name.lower() not in kept}
        return {**gone, **final}

    async def close(self) -> None:
        """Close the connections."""
        mine = self._sdks.pop(asyncio.get_running_loop(), None)
        self._prepared.clear()
        if mine is not None:
            await mine.close()
        self.__del__()

    def __del__(self) -> None:
        # Without this an application that ends without close() is told "Unclosed client session" by aiohttp.
        for sdk in self._sdks.values():
            _forget(sdk)
        self._sdks.clear()


def _forget(sdk: AsyncOpenAI) -> None:
    """Let go of connections that nobody can close any more: their loop has ended, or ends."""
    session = getattr(getattr(sdk._client, "_transport", None), "client", None)
    if session is None or session.closed:
        return
    with contextlib.suppress(RuntimeError, AttributeError):  # closing a transport wants a loop that runs
        session.connector._close()
    session.detach()
