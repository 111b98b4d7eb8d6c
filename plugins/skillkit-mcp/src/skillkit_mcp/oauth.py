"""Logins (OAuth) for servers over HTTP: the SDK's provider, with tokens in a file that only its owner can read.

A run never opens a login by itself: it uses the tokens that there are, and renews them. ``skillkit mcp login`` and ``/mcp NAME
login`` log in.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from skillkit_core import ToolError, UsageError

from .importing import write_private
from .servers import Configured, server_of

if TYPE_CHECKING:
    import httpx2

    from skillkit_core import Host, UserInterface

    from .connection import Connection

__all__ = ["auth_for", "login", "logout", "tokens_file"]

_LOGIN = 300.0
_EARLY = 30.0
_PAGE = b"<!doctype html><title>SkillKit</title><p>%s You can close this window.</p>"


def tokens_file(host: Host) -> Path:
    """Return the file of tokens."""
    return host.data_dir / "mcp" / "tokens.json"


class _Tokens:
    """The tokens and the registration of one server (the SDK's ``TokenStorage``), by its address."""

    def __init__(self, host: Host, url: str) -> None:
        self._host = host
        self._path = tokens_file(host)
        self._url = url

    def _all(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise UsageError(
                f"cannot be read: {error}", where=str(self._path), hint="remove it and log in again"
            ) from None
        return found if isinstance(found, dict) else {}

    @property
    def kept(self) -> dict[str, Any]:
        """What is kept of the server."""
        found = self._all().get(self._url)
        return found if isinstance(found, dict) else {}

    def keep(self, **values: Any) -> None:
        """Keep values beside those that are kept."""
        write_private(self._path, json.dumps({**self._all(), self._url: {**self.kept, **values}}, indent=1))

    def forget(self) -> bool:
        """Remove what is kept; return whether there was anything."""
        found = self._all()
        if found.pop(self._url, None) is None:
            return False
        write_private(self._path, json.dumps(found, indent=1))
        return True

    async def get_tokens(self) -> OAuthToken | None:
        tokens: OAuthToken | None = _parsed(OAuthToken, self.kept.get("tokens"))
        for secret in (tokens.access_token, tokens.refresh_token) if tokens is not None else ():
            self._host.remember_secret(secret or "")
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        for secret in (tokens.access_token, tokens.refresh_token):
            self._host.remember_secret(secret or "")
        over = time.time() + tokens.expires_in if tokens.expires_in else None
        self.keep(tokens=tokens.model_dump(mode="json", exclude_none=True), over=over)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        found: OAuthClientInformationFull | None = _parsed(OAuthClientInformationFull, self.kept.get("client"))
        return found

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.keep(client=client_info.model_dump(mode="json", exclude_none=True))


def _parsed(model: Any, data: Any) -> Any:
    try:
        return None if data is None else model.model_validate(data)
    except ValidationError:
        return None


def _provider(
    tokens: _Tokens,
    url: str,
    port: int,
    show: Callable[[str], Awaitable[None]],
    wait: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="SkillKit",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",  # noqa: S106 - a program on a person's machine has no secret
    )
    provider = OAuthClientProvider(url, metadata, tokens, show, wait)
    kept = tokens.kept
    # the SDK reads neither when a token ends nor where it is renewed from its storage
    if isinstance(over := kept.get("over"), (int, float)):
        provider.context.token_expiry_time = over - _EARLY
    provider.context.oauth_metadata = _parsed(OAuthMetadata, kept.get("metadata"))
    return provider


def auth_for(host: Host) -> Callable[[Connection], httpx2.Auth | None]:
    """Return what gives a connection its tokens, if somebody has logged in."""

    def auth(connection: Connection) -> httpx2.Auth | None:
        server = connection.server
        if server.url is None or any(name.lower() == "authorization" for name in server.headers):
            return None
        tokens = _Tokens(host, server.url)
        kept = tokens.kept
        if not kept.get("tokens"):
            return None

        async def refuse(url: str) -> None:
            raise ToolError("HTTP 401: the login has ended", hint=f"skillkit mcp login {server.name}")

        async def never() -> AuthorizationCodeResult:
            raise ToolError("nobody logs in here")

        return _provider(tokens, server.url, int(kept.get("port") or 0) or 1, refuse, never)

    return auth


async def login(
    host: Host, one: Configured, ui: UserInterface | None, open_url: Callable[[str], Any] | None = None
) -> None:
    """Log in to a server: show a person an address, and wait until the browser comes back to this machine.

    Raises:
        UsageError: the server has no logins, or nobody is there to log in.
        ToolError: the login failed.
    """
    if one.config is None or one.config.url is None:
        raise UsageError(f"the MCP server {one.name!r} is not reached over HTTP: it has no login")
    if ui is None:
        raise UsageError("nobody is there to log in", hint=f"skillkit mcp login {one.name}")
    server = await server_of(host, one)
    assert server.url is not None
    tokens = _Tokens(host, server.url)
    port = tokens.kept.get("port")
    callback = _Callback()
    bound = await callback.listen(port if isinstance(port, int) else 0)
    if bound != port:
        # a registration holds the address with the port
        tokens.forget()
        tokens.keep(port=bound)
    person: UserInterface = ui

    async def show(url: str) -> None:
        await person.notify(f"Log in to {one.name}: {url}")
        if open_url is not None:
            open_url(url)

    from .connection import Connection

    try:
        provider = _provider(tokens, server.url, bound, show, callback.wait)
        provider.context.current_tokens = None
        connection = Connection(_with_time(server), lambda _: provider)
        connection.waiting_for = "the login"
        try:
            await connection.client()
        finally:
            await connection.close()
    finally:
        await callback.close()
    if not tokens.kept.get("tokens"):
        await person.notify(f"{one.name} works without a login.")
        return
    if provider.context.oauth_metadata is not None:
        tokens.keep(metadata=provider.context.oauth_metadata.model_dump(mode="json", exclude_none=True))


def _with_time(server: Any) -> Any:
    from dataclasses import replace

    return replace(server, connect_timeout=_LOGIN)


def logout(host: Host, one: Configured) -> bool:
    """Forget the tokens of a server; return whether there were any."""
    return one.config is not None and one.config.url is not None and _Tokens(host, one.config.url).forget()


class _Callback:
    """The address on this machine to which the browser comes back with a code."""

    def __init__(self) -> None:
        self._found: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None

    async def listen(self, port: int) -> int:
        """Listen on ``port``, or on another one where that is taken; return which."""
        try:
            self._server = await asyncio.start_server(self._answer, "127.0.0.1", port, limit=16_384)
        except OSError:
            self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=16_384)
        return int(self._server.sockets[0].getsockname()[1])

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = (await reader.readline()).decode("latin-1").split()
                while (await reader.readline()).strip():
                    pass
            parts = urlsplit(line[1] if len(line) > 1 else "")
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            known = parts.path == "/callback" and ("code" in query or "error" in query)
            text = b"You are logged in." if "code" in query else b"The login failed."
            body = _PAGE % text if known else b"not here"
            head = f"HTTP/1.1 {'200 OK' if known else '404 Not Found'}\r\nContent-Type: text/html\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
            if known and not self._found.done():
                if "code" in query:
                    self._found.set_result(
                        AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))
                    )
                else:
                    why = query.get("error_description") or query["error"]
                    self._found.set_exception(ToolError(f"the login was refused: {why[:300]}"))
        except (TimeoutError, OSError, ValueError):
            pass  # a stranger's connection; the person's browser may still come
        finally:
            writer.close()

    async def wait(self) -> AuthorizationCodeResult:
        """Return the code."""
        return await self._found

    async def close(self) -> None:
        self._found.cancel()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
