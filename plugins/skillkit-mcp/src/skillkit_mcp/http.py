"""The HTTP client that the SDK's transport uses: every answer is bounded, read by the filter, and sent on as an event stream.

The transport loses the whole connection when a body is cut or a host cannot be reached, takes any answer on a stream for the one
it waits for, and does not say the status of an error. This client gives it an error for the one request instead.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from mcp.shared._httpx_utils import next_request_within_origin

from skillkit_core import __version__
from skillkit_core.errors import SkillKitError

from .text import shortened

if TYPE_CHECKING:
    from .messages import MessageFilter

__all__ = ["GuardedClient"]

_SIDE_REQUEST = 5.0  # seconds for a notification, or the end of a session
_MIN_RETRY = 1000
_MAX_OWNERS = 1000
_ENCODINGS = ("", "identity", "gzip", "deflate")


class TooLarge(httpx2.StreamError):
    """A body is longer than allowed, or packed in a way that is not read."""


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error where it is too long, in bytes as they are sent and as they are unpacked."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for piece in self._inner:
            length += len(piece)
            if length > self._most:
                raise TooLarge(f"the answer is longer than {self._most:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Body(httpx2.AsyncByteStream):
    """A body that is made while it is read."""

    def __init__(self, pieces: AsyncIterator[bytes], inner: httpx2.Response | None = None) -> None:
        self._pieces = pieces
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


class _Network(httpx2.AsyncHTTPTransport):
    """The network, without packings that a few bytes may blow up."""

    def __init__(self, most: int, **options: Any) -> None:
        super().__init__(**options)
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        packing = response.headers.get("content-encoding", "").strip().lower()
        if packing not in _ENCODINGS:
            await response.aclose()
            raise httpx2.RemoteProtocolError(f"the answer is packed as {shortened(packing, 60)}, which is not read")
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Bounded(response.stream, self._most)
        return response


class GuardedClient(httpx2.AsyncClient):
    """Sends the requests of the SDK's transport.

    Args:
        url: the server.
        messages: reads what the server sends.
        headers: headers of every request.
        auth: adds tokens.

    Attributes:
        session_gone: the server does not know the session any more: connect again.
        problem: the last thing that went wrong, for a connection that ends without a word.
        login: the server asked for a login.
    """

    def __init__(
        self, url: str, messages: MessageFilter, headers: Mapping[str, str], auth: httpx2.Auth | None = None
    ) -> None:
        super().__init__(
            headers={"User-Agent": f"skillkit/{__version__}", **headers, "Accept-Encoding": "identity"},
            auth=auth,
            timeout=httpx2.Timeout(30.0, read=300.0),
            transport=_Network(messages.max_message, proxy=_proxy(url)),
        )
        self.session_gone = self.login = False
        self.problem: str | None = None
        self._messages = messages
        self._owners: dict[str, Any] = {}

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; return an answer that the transport can use."""
        message = _message_of(request)
        number = message.get("id") if "method" in message else None
        if message:
            self._messages.sent(message)
        limit = None if number is not None or request.method == "GET" else _SIDE_REQUEST
        try:
            async with asyncio.timeout(limit):
                response = await super().send(request, **{**options, "stream": True})
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, TimeoutError, SkillKitError, OSError) as error:
            return self._failure(request, number, _in_words(error, request))
        except Exception as error:  # noqa: BLE001 - the login of the SDK fails in many ways; each is one request's failure
            return self._failure(request, number, f"the login failed: {shortened(str(error), 300)}")
        if response.is_redirect and next_request_within_origin(response) is not None:
            return response
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "GET" and response.is_success and kind == "text/event-stream":
            owner = self._owners.get(request.headers.get("last-event-id", ""))
            return _stream(response, self._events(response, owner), request)
        if number is None:
            return response
        if response.is_success and kind == "text/event-stream":
            return _stream(response, self._events(response, number), request)
        if response.is_success and response.status_code != 202 and kind in ("application/json", "text/plain"):
            return await self._one(response, number, request)
        if response.is_success or response.is_redirect:
            return (
                response if response.is_redirect or response.status_code == 202 else await self._odd(response, number)
            )
        return await self._refused(response, number, request)

    async def _one(self, response: httpx2.Response, number: Any, request: httpx2.Request) -> httpx2.Response:
        """Return the answer in a body."""
        try:
            body = await self._whole(response)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            return self._failure(request, number, _in_words(error, request))
        found = self._messages.read(body, frozenset((number,)))
        if not any(one.get("id") == number and "method" not in one for one in found):
            return self._failure(request, number, "the body holds no answer")
        return _stream(response, _pieces(found), request)

    async def _whole(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > self._messages.max_message:
                    raise TooLarge(f"the answer is longer than {self._messages.max_message:,} bytes")
        finally:
            await response.aclose()
        return bytes(body)

    async def _odd(self, response: httpx2.Response, number: Any) -> httpx2.Response:
        kind = response.headers.get("content-type", "")
        await response.aclose()
        what = f"type {shortened(kind, 60)!r}" if kind else "no type"
        return self._failure(response.request, number, f"HTTP {response.status_code} with a body of {what}")

    async def _refused(self, response: httpx2.Response, number: Any, request: httpx2.Request) -> httpx2.Response:
        """Return the error in a body, else one that says the status."""
        status = response.status_code
        try:
            body = await self._whole(response)
        except (httpx2.HTTPError, httpx2.StreamError):
            body = b""
        if status == 404 and "mcp-session-id" in request.headers:
            self.session_gone = True
        if status == 401:
            self.login = True
        if body[:1] == b"{":
            try:
                found = json.loads(body)
            except (ValueError, RecursionError):
                found = None
            if isinstance(found, dict) and isinstance(found.get("error"), dict):
                told = self._messages.read(
                    json.dumps({**found, "id": number, "jsonrpc": "2.0"}).encode(), frozenset((number,))
                )
                if told:
                    told[0]["error"]["message"] = f"HTTP {status}: {told[0]['error']['message']}"
                    self.problem = told[0]["error"]["message"]
                    return _stream(response, _pieces(told), request)
        text = f"HTTP {status} {response.reason_phrase}".strip()
        if status == 401:
            ways = "resource_metadata" in response.headers.get("www-authenticate", "")
            text += ": the server wants a login" + ("" if ways else " and names no way to log in")
        return self._failure(request, number, text)

    def _failure(self, request: httpx2.Request, number: Any, text: str) -> httpx2.Response:
        """Return an error for the one request, and nothing for a message that wants no answer."""
        self.problem = text
        if number is None:
            return httpx2.Response(405 if request.method == "GET" else 202, request=request)
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": text}}
        return _stream(httpx2.Response(200, request=request), _pieces([error]), request)

    async def _events(self, response: httpx2.Response, number: Any) -> AsyncIterator[bytes]:
        """Yield the events of a stream whose messages may pass. Of answers, only that to the request ``number`` passes."""
        only = frozenset(() if number is None else (number,))
        source = httpx2.EventSource(response, max_event_size=self._messages.max_message)
        try:
            async with aclosing(source.__aiter__()) as events:  # type: ignore[type-var]
                async for event in events:
                    if event.id and number is not None:
                        self._owners[event.id] = number
                        if len(self._owners) > _MAX_OWNERS:
                            del self._owners[next(iter(self._owners))]
                    retry = max(event.retry, _MIN_RETRY) if event.retry is not None else None
                    found = self._read(event, only)
                    if not found and (event.id or retry is not None):
                        yield _event("", event.id, retry)
                    for one in found:
                        yield _event(json.dumps(one), event.id, retry)
        except httpx2.SSEError as error:
            if number is not None:
                self.problem = f"the stream of events is broken: {error}"
            raise
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            self.problem = _in_words(error, response.request)

    def _read(self, event: httpx2.ServerSentEvent, only: frozenset[Any]) -> list[dict[str, Any]]:
        if event.event not in ("", "message"):
            return []
        return self._messages.read(event.data.encode("utf-8", "replace"), only)


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a server that is not on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def _message_of(request: httpx2.Request) -> dict[str, Any]:
    """Return the message in a request."""
    if request.method != "POST":
        return {}
    try:
        found = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return {}
    return found if isinstance(found, dict) else {}


def _in_words(error: BaseException, request: httpx2.Request) -> str:
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return f"no answer from {request.url.host}"
    if isinstance(error, httpx2.ConnectError):
        return f"{request.url.host}:{request.url.port or ''} cannot be reached".replace(": ", " ")
    return shortened(str(error) or type(error).__name__, 300)


def _stream(response: httpx2.Response, pieces: AsyncIterator[bytes], request: httpx2.Request) -> httpx2.Response:
    """Return an event stream with the session of ``response``."""
    headers = {"content-type": "text/event-stream"}
    if session := response.headers.get("mcp-session-id"):
        headers["mcp-session-id"] = session
    return httpx2.Response(200, headers=headers, stream=_Body(pieces, response), request=request)


async def _pieces(messages: list[dict[str, Any]]) -> AsyncIterator[bytes]:
    for one in messages:
        yield _event(json.dumps(one))


def _event(data: str, number: str | None = None, retry: int | None = None) -> bytes:
    head = (f"id: {number}\n" if number else "") + (f"retry: {retry}\n" if retry is not None else "")
    return f"{head}data: {data}\n\n".encode()
