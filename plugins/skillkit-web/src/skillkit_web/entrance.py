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

__all__ = ["Entrance", "is_loopback"]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STRANGER = "This page needs a token. Open the address that 'skillkit web' printed; it holds one.\n"


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
    """

    def __init__(self, token: str, *, names: Collection[str] = (), read_only: bool = False, tls: bool = False) -> None:
        self._token, self._names, self.read_only, self._tls = token.encode(), names, read_only, tls
        self._pass = hmac.new(self._token, b"cookie", sha256).hexdigest()  # the cookie is not the token itself
        self._hosts: set[str] = set()

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
        return f"{scheme}://{shown}:{port}/?token={self._token.decode()}"

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
            return PlainTextResponse("This server does not go by that name.\n", 421)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given and method == "GET" and hmac.compare_digest(given[-1].encode(), self._token):
            return self._admit(scope["path"])
        if not self._knows(headers):
            return PlainTextResponse(_STRANGER, 401)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["path"].startswith("/api/"):
            return PlainTextResponse("Pages of others may not ask this server.\n", 403)
        if method in ("GET", "HEAD"):
            return None
        if not _is_origin_of(headers.get("origin", ""), headers["host"]):
            return PlainTextResponse("Pages of others may not ask this server.\n", 403)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return JSONResponse({"error": "the body must be application/json"}, 415)
        return None

    def _admit(self, path: str) -> Response:
        """Give the cookie, and take the token out of the address."""
        # a path that begins with two slashes would name another server
        response = RedirectResponse("/" + path.lstrip("/"), 303)
        response.set_cookie(self._cookie, self._pass, httponly=True, samesite="strict", secure=self._tls)
        return response

    def _knows(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._pass.encode())
