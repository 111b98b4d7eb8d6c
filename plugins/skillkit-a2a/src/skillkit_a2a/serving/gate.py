"""What every request passes before anything reads it: the name of the host, no web page, a key, and limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from a2a.auth.user import User
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes import ServerCallContextBuilder
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from .card import JSONRPC
from .keys import ANYONE, Caller

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .keys import Keys

__all__ = ["CallContexts", "Gate", "Rates", "context_for", "found_by"]

_JSON = ("application/json", "application/a2a+json")
_CALLER, _FORBIDDEN = "a2a.caller", "a2a.forbidden"
_MINUTE = 60.0


class Rates:
    """How often each caller may ask: so many times a minute, saved up to that number."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Count a request; return for how many seconds the caller must wait instead, 0 where it may ask."""
        now = self._clock()
        left, then = self._left.get(name, (float(self._most), now))
        left = min(float(self._most), left + (now - then) * self._most / _MINUTE)
        self._left[name] = (left - 1, now) if left >= 1 else (left, now)
        return 0.0 if left >= 1 else (1 - left) * _MINUTE / self._most


def found_by(keys: Keys, authorization: str, api_key: str) -> Caller | None:
    """Return who calls by the headers of a request."""
    scheme, _, token = authorization.strip().partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else api_key.strip()
    return keys.find(given) if given else None


class Gate:
    """Lets requests through, or refuses them.

    Args:
        app: what is behind.
        keys: the keys; ``None``: callers need none.
        hosts: values of ``Host`` that mean this server.
        rates: how often a caller may ask.
        largest: bytes of a request.
    """

    def __init__(self, app: ASGIApp, keys: Keys | None, hosts: Collection[str], rates: Rates, largest: int) -> None:
        self._app, self._keys, self._hosts = app, keys, frozenset(hosts)
        self._rates, self._largest = rates, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is None:
            body = await _whole(receive, self._largest)
            refused = _error(413, f"a request has at most {self._largest:,} bytes") if body is None else None
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, _again(body, receive), _forbidding(scope, receive, send))

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        if headers.get("host", "").lower() not in self._hosts:
            return _error(421, "this server has another name")
        if "origin" in headers:
            return _error(403, "web pages are not served")
        if scope["path"] == AGENT_CARD_WELL_KNOWN_PATH:
            return None
        caller = ANYONE
        if self._keys is not None:
            found = found_by(self._keys, headers.get("authorization", ""), headers.get("x-api-key", ""))
            if found is None:
                return _error(401, "a key is needed", {"WWW-Authenticate": 'Bearer realm="a2a"'})
            caller = found
        if (seconds := self._rates.wait(caller.name)) > 0:
            return _error(429, "too many requests", {"Retry-After": str(int(seconds) + 1)})
        scope[_CALLER] = caller
        if int(headers.get("content-length", "0") or 0) > self._largest:
            return _error(413, f"a request has at most {self._largest:,} bytes")
        return self._wrong_type(scope, headers)

    @staticmethod
    def _wrong_type(scope: Scope, headers: Headers) -> Response | None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        if scope["method"] != "POST" or kind in _JSON or (empty and not kind):
            return None
        if scope["path"].rstrip("/") != JSONRPC:
            return _error(415, "Content-Type must be application/json")
        reason = {"reason": "CONTENT_TYPE_NOT_SUPPORTED", "domain": "a2a-protocol.org", "metadata": {}}
        data = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", **reason}]
        error = {"code": -32005, "message": "Content-Type must be application/json", "data": data}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error})


def _error(code: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": text}}, code, headers)


async def _whole(receive: Receive, largest: int) -> bytes | None:
    """Return the body of a request, ``None`` where it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > largest:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bytes(body)


def _again(body: bytes | None, receive: Receive) -> Receive:
    """Return what gives a body that was read once more, and then waits for the end of the connection."""
    left = [body or b""]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


def _forbidding(scope: Scope, receive: Receive, send: Send) -> Send:
    """Return what sends an answer; 403 in its place where the key is not for what was asked (:class:`CallContexts`)."""
    over = False

    async def sending(message: Message) -> None:
        nonlocal over
        if message["type"] == "http.response.start" and (why := scope.get(_FORBIDDEN)):
            over = True
            await _error(403, why)(scope, receive, send)
        if not over:
            await send(message)

    return sending


# --- who calls, for what is behind ----------------------------------------------------------------------------------


class _Known(User):
    """A caller, as the library of the protocol sees it."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @property
    def is_authenticated(self) -> bool:
        """Whether the caller has a key."""
        return self._caller is not ANYONE

    @property
    def user_name(self) -> str:
        """The name in sessions."""
        return self._caller.principal


class CallContexts(ServerCallContextBuilder):
    """Tells what is behind the gate who calls."""

    def build(self, request: Request) -> ServerCallContext:
        """Return the context of a request."""

        def forbid(why: str) -> None:
            request.scope[_FORBIDDEN] = why

        extensions = request.headers.getlist(HTTP_EXTENSION_HEADER)
        return context_for(request.scope[_CALLER], dict(request.headers), extensions, forbid)


def context_for(
    caller: Caller, headers: dict[str, str], extensions: Iterable[str], forbid: Callable[[str], object]
) -> ServerCallContext:
    """Return the context of a call.

    Args:
        caller: who calls.
        headers: of the request.
        extensions: the extensions that are wanted.
        forbid: is called with the reason where the key is not for what is asked.
    """
    state: dict[str, Any] = {"headers": headers, "caller": caller, "forbidden": forbid}
    wanted = get_requested_extensions(list(extensions))
    return ServerCallContext(user=_Known(caller), state=state, requested_extensions=wanted)
