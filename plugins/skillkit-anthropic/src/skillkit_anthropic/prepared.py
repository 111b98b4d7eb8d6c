"""Requests after the first: what the SDK worked out for one body serves every body that follows."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import anthropic
import httpx2

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

__all__ = ["Body", "Prepared", "lasting", "watched"]

_PIECE = 16_384  # bytes
_LOGS = (logging.getLogger("anthropic"), logging.getLogger("httpx2"))


def lasting(sdk: AsyncAnthropic) -> bool:
    """Whether the headers of one request are right for the next.

    They are not where the credentials are tokens that are made anew, where the server has set cookies that are of their
    moment, or where the SDK numbers its requests.
    """
    return sdk.custom_auth is None and not sdk._client.cookies and sdk._idempotency_header is None


def watched() -> bool:
    """Whether somebody wants the log of the SDK or of its HTTP client, which only they themselves can write."""
    return any(log.isEnabledFor(logging.INFO) for log in _LOGS)


def _settings(sdk: AsyncAnthropic) -> tuple[object, ...]:
    """What the URL and the headers of a request depend on, besides the request."""
    given = dict(sdk._custom_headers), dict(sdk._custom_query)
    return sdk.api_key, sdk.auth_token, sdk.base_url, sdk.timeout, *given


class Prepared:
    """A request that the SDK has built and sent, ready for other bodies.

    Its URL, credentials and headers are the SDK's. Putting them together again, and walking through layers that have
    nothing to do (options, retries, authentication flows, cookies), costs more than the request.
    """

    __slots__ = ("_encoding", "_extensions", "_headers", "_http", "_sdk", "_settings", "_transport", "_url")

    def __init__(self, sdk: AsyncAnthropic, request: httpx2.Request) -> None:
        self._sdk = sdk
        self._settings = _settings(sdk)
        self._http = sdk._client
        self._transport = sdk._client._transport_for_url(request.url)  # a proxy's, where one is set
        self._url = request.url
        self._headers = request.headers
        self._encoding = request.headers.encoding
        self._extensions = request.extensions

    def stands(self) -> bool:
        """Whether the SDK would still build the same request."""
        return self._settings == _settings(self._sdk)

    async def send(self, content: bytes) -> httpx2.Response:
        """Send ``content``; the answer's body has not been read.

        Raises:
            anthropic.APIError: the request failed, or the status is an error.
        """
        request = httpx2.Request(
            "POST", self._url, headers=self._headers, extensions=self._extensions, stream=httpx2.ByteStream(content)
        )
        request.read()
        request.headers.encoding = self._encoding  # else it is found out again for every header
        request.headers["Content-Length"] = str(len(content))
        cookies = self._http.cookies
        if cookies:
            cookies.set_cookie_header(request)
        try:
            response = await self._transport.handle_async_request(request)
        except httpx2.TimeoutException as error:
            raise anthropic.APITimeoutError(request=request) from error
        except Exception as error:
            raise anthropic.APIConnectionError(request=request) from error
        response.request = request
        if "set-cookie" in response.headers:
            cookies.extract_cookies(response)
        if not response.is_success:
            await response.aread()
            raise self._sdk._make_status_error_from_response(response)
        return response


class Body:
    """The body of an answer as it arrives.

    Straight from the connection where nothing has to be decoded: the four generators in between cost as much as a delta.
    In pieces: what a fast server sent meanwhile would be thousands of events at once, alive together.

    Attributes:
        read: an async function that gives what has arrived since, at most a piece of it, and ``b""`` at the end.
    """

    __slots__ = ("_content", "_parts", "_response", "read")

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._parts: AsyncGenerator[bytes, None] | None = None
        inner = getattr(response.stream, "_aiohttp_response", None)
        if inner is not None and "content-encoding" not in response.headers:
            self._content = inner.content
            self.read: Callable[[], Awaitable[bytes]] = partial(inner.content.read, _PIECE)
        else:
            self._content = None
            self._parts = response.aiter_bytes()
            self.read = self._decoded

    @property
    def ended(self) -> bool:
        """Whether it is known that nothing follows."""
        return self._content is not None and bool(self._content.at_eof())

    async def _decoded(self) -> bytes:
        assert self._parts is not None
        return await anext(self._parts, b"")

    async def close(self) -> None:
        """Let go of the connection; it is closed where the body was not read to its end."""
        if self._parts is not None:
            await self._parts.aclose()
        if not self._response.is_closed:
            await self._response.aclose()
