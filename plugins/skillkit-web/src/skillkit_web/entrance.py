"""Who may call the server: the right name, the token, the right origin. What it answers holds strict headers."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LOOKS", "Entrance", "is_loopback"]

LOOKS = "skillkit.looks"
"""The key of a request's scope that says that its caller looks on."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STRANGER = (
    "This page needs a token. Open the address that 'skillkit web' printed when it was started: it ends with ?token=...\n"
    "Each start makes another token, unless SKILLKIT_WEB_TOKEN names one.\n"
)
_NAMES = (
    "This server does not go by the name {host!r}. Open it as {own!r}, or name it in the configuration of its user:\n\n"
    "page:\n  names: [{bare}]\n"
)


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _is_origin_of(origin: str, host: str) -> bool:
    """Return whether an origin is that of the page which is called by a name."""
    scheme, _, place = origin.partition("://")
    return scheme in ("http", "https") and place.lower() == host.lower()


class Entrance:
    """Lets in who has the token, and calls the server by one of its names.

    Args:
        token: what lets a browser in.
        names: names beside localhost by which browsers may call the server.
        read_only: nobody changes anything.
        tls: the server speaks TLS.
        share: a second token lets in who looks on.

    Attributes:
        shared: the address that lets in who looks on, once the server listens; empty: there is none.
    """

    def __init__(
        self,
        token: str,
        *,
        names: Collection[str] = (),
        read_only: bool = False,
        tls: bool = False,
        share: bool = False,
    ) -> None:
        self._token, self._names, self.read_only, self._tls = token.encode(), names, read_only, tls
        self._pass = _made_of(self._token, b"cookie")  # the cookie is not the token itself
        # who has the token of those who look on cannot find the other one
        self._second = _made_of(self._token, b"share").encode() if share else b""
        self._second_pass = _made_of(self._second, b"cookie") if share else ""
        self._hosts: set[str] = set()
        self._own = self.shared = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens, which no text may show."""
        return tuple(token.decode() for token in (self._token, self._second) if token)

    def at(self, address: str, port: int) -> str:
        """Take the place at which the server listens; return the address that lets a browser in."""
        self._cookie = f"skillkit-{port}"
        named = f"[{address}]" if ":" in address else address
        known = {"127.0.0.1", "localhost", "[::1]", *self._names}
        if not is_loopback(address) and address not in ("0.0.0.0", "::"):  # noqa: S104 - not bound here
            known.add(named)
        # a proxy in front of this server keeps its own name, with its own port or none
        self._hosts = {f"{name.lower()}:{port}" for name in known} | {name.lower() for name in self._names}
        scheme = "https" if self._tls else "http"
        shown = "127.0.0.1" if address in ("0.0.0.0", "::") else named  # noqa: S104
        self._own = f"{shown}:{port}"
        if self._second:
            self.shared = f"{scheme}://{self._own}/?token={self._second.decode()}"
        return f"{scheme}://{self._own}/?token={self._token.decode()}"

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Return the application behind the entrance."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return

            async def answer(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message).update(HEADERS)
                await send(message)

            await (self._refusal(scope) or app)(scope, receive, answer)

        return guarded

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that does not get in; ``None``: it does."""
        headers, method = Headers(scope=scope), scope["method"]
        if headers.get("host", "").lower() not in self._hosts:  # a name that somebody else made point here
            host = "".join(c for c in headers.get("host", "")[:200] if c.isprintable())
            bare = host.rpartition(":")[0] or host
            return PlainTextResponse(_NAMES.format(host=host, own=self._own, bare=bare), 421)
        known = self._knows(headers)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1].encode()
        if given and method == "GET":
            if hmac.compare_digest(given, self._token):
                return self._admit(scope["path"], self._pass)
            if self._second and hmac.compare_digest(given, self._second):  # the owner stays the owner
                return self._admit(scope["path"], self._pass if known == self._pass else self._second_pass)
        if not known:
            return PlainTextResponse(_STRANGER, 401)
        scope[LOOKS] = known != self._pass
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["path"].startswith("/api/"):
            return PlainTextResponse("Pages of others may not ask this server.\n", 403)
        if method in ("GET", "HEAD"):
            return None
        if not _is_origin_of(headers.get("origin", ""), headers["host"]):
            return PlainTextResponse("Pages of others may not ask this server.\n", 403)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return JSONResponse({"error": "the body must be application/json"}, 415)
        return None

    def _admit(self, path: str, cookie: str) -> Response:
        """Give the cookie, and take the token out of the address."""
        # a path that begins with two slashes would name another server
        response = RedirectResponse("/" + path.lstrip("/"), 303)
        response.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", secure=self._tls)
        return response

    def _knows(self, headers: Headers) -> str:
        """Return the pass of a caller; empty: a stranger."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        given = cookie.value.encode() if cookie is not None else b""
        passes = filter(None, (self._pass, self._second_pass))
        return next((one for one in passes if hmac.compare_digest(given, one.encode())), "")


def _made_of(token: bytes, what: bytes) -> str:
    return hmac.new(token, what, sha256).hexdigest()
