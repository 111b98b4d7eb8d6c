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

__all__ = ["Client", "Endpoint"]


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
        self._sdk: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def sdk(self) -> AsyncOpenAI:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        if self._sdk is None or self._loop is not loop:
            self._forget()
            self._sdk = self._make()
            self._loop = loop
        return self._sdk

    def _make(self) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        end = self.endpoint
        # Silence is watched per request (see Watch), so the transport has no timers but the one for connecting.
        timeout = httpx2.Timeout(None, connect=end.connect_timeout)
        options: dict[str, Any] = {} if end.proxy is None else {"proxy": end.proxy}
        sdk = AsyncOpenAI(
            api_key=end.api_key,
            base_url=end.base_url,
            default_headers=dict(end.headers),
            default_query=dict(end.query),
            timeout=timeout,
            max_retries=0,
            http_client=DefaultAioHttpClient(timeout=timeout, **options),
            _enforce_credentials=False,
        )
        if end.base_url != OPENAI_URL:
            # OPENAI_ORG_ID and OPENAI_PROJECT_ID, which the SDK reads, are for OpenAI alone.
            sdk.organization = sdk.project = None
        return sdk

    async def post(self, path: str, content: bytes, headers: Mapping[str, Any]) -> httpx2.Response:
        """Send ``content``; the answer's body has not been read.

        Raises:
            openai.APIError: the request failed, or the status is an error.
        """
        import httpx2
        from openai import AsyncStream, Omit

        if not self.endpoint.api_key and "authorization" not in {*map(str.lower, self.endpoint.headers)}:
            headers = {"Authorization": Omit(), **headers}  # the SDK wants to be told that there is no key
        # For this type, and this type alone, the SDK hands out the answer as it is, with its body unread.
        response: Any = await self.sdk().post(
            path,
            cast_to=httpx2.Response,
            content=content,
            options={"headers": dict(headers)} if headers else {},
            stream=True,
            stream_cls=AsyncStream[object],
        )
        return cast("httpx2.Response", response)

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

    def _forget(self) -> None:
        """Drop the connections of a loop that is gone."""
        sdk, loop = self._sdk, self._loop
        self._sdk = self._loop = None
        if sdk is None or loop is None or not loop.is_closed():
            return
        session = getattr(getattr(sdk._client, "_transport", None), "client", None)
        if session is not None:
            with contextlib.suppress(RuntimeError, AttributeError):
                session.connector._close_immediately()
                session.detach()

    async def close(self) -> None:
        """Close the connections."""
        sdk, loop = self._sdk, self._loop
        if sdk is not None and loop is asyncio.get_running_loop():
            self._sdk = self._loop = None
            await sdk.close()
        else:
            self._forget()
