"""Requests after the first: what the SDK worked out for one body serves every body that follows."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import httpx2

__all__ = ["Prepared", "obstacle"]

# What the short way leans on, or leaves out, by the object that has it.
_OF_SDK = (
    "_client",
    "_custom_headers",
    "_custom_query",
    "_idempotency_header",
    "_make_status_error_from_response",
    "post",
)
_OF_HTTP = ("_transport_for_url", "cookies", "send")


def obstacle(sdk: Any, package: str) -> str:
    """Return why requests must take the SDK's own way; empty: they need not.

    A name is missing (another version of the SDK), or somebody wrapped the SDK's ``post`` or the ``send`` below it, as tracers
    do, and wants to see each request.

    Args:
        sdk: the SDK's client.
        package: the SDK's package.
    """
    for name in _OF_SDK:
        if not hasattr(sdk, name):
            return f"this version of the SDK has no {type(sdk).__name__}.{name}"
    http = sdk._client
    for name in _OF_HTTP:
        if not hasattr(http, name):
            return f"this version of httpx2 has no {type(http).__name__}.{name}"
    for owner, name, home in ((sdk, "post", package), (http, "send", httpx2.__name__)):
        if not _own(getattr(owner, name), home):
            return f"{type(owner).__name__}.{name} was wrapped"
    return ""


def _own(method: Any, package: str) -> bool:
    """Whether a bound method is the package's own: neither replaced on the object nor on its class."""
    function = getattr(method, "__func__", None)
    module = getattr(function, "__module__", None) or ""
    return (
        isinstance(function, FunctionType)
        and module.partition(".")[0] == package
        and not hasattr(function, "__wrapped__")
    )


class Prepared:
    """A request that the SDK has built and sent, ready for other bodies.

    Its URL, credentials and headers are the SDK's. Putting them together again, and walking through layers that have nothing to
    do (options, retries, authentication flows, cookies), costs more than the request.

    Args:
        sdk: the SDK's client.
        request: what it has sent.
        settings: what the URL and the headers of a request depend on, besides the request.
        errors: the SDK's module, which has ``APITimeoutError`` and ``APIConnectionError``.
    """

    __slots__ = (
        "_encoding",
        "_errors",
        "_extensions",
        "_headers",
        "_http",
        "_post",
        "_sdk",
        "_send",
        "_settings",
        "_transport",
        "_url",
    )

    def __init__(self, sdk: Any, request: httpx2.Request, settings: tuple[object, ...], errors: Any) -> None:
        self._sdk = sdk
        self._settings = settings
        self._post, self._send = sdk.post, sdk._client.send
        self._errors = errors
        self._http = sdk._client
        self._transport = sdk._client._transport_for_url(request.url)  # a proxy's, where one is set
        self._url = request.url
        self._headers = request.headers
        self._encoding = request.headers.encoding
        self._extensions = request.extensions

    def stands(self, settings: tuple[object, ...]) -> bool:
        """Whether the SDK would still build the same request, and nobody has wrapped it since."""
        return self._settings == settings and self._sdk.post == self._post and self._http.send == self._send

    async def send(self, content: bytes) -> httpx2.Response:
        """Send ``content``; the answer's body has not been read.

        Raises:
            Exception: the SDK's ``APIError``: the request failed, or the status is an error.
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
            response: httpx2.Response = await self._transport.handle_async_request(request)
            response.request = request
            if "set-cookie" in response.headers:
                cookies.extract_cookies(response)
            if not response.is_success:
                await response.aread()
        except httpx2.TimeoutException as error:
            raise self._errors.APITimeoutError(request=request) from error
        except Exception as error:  # as the SDK does it, for the transport lets errors of its own through
            raise self._errors.APIConnectionError(request=request) from error
        if not response.is_success:
            raise self._sdk._make_status_error_from_response(response)
        return response
