"""Logins (OAuth) for servers over HTTP: the SDK's provider, with ``skillkit_oauth``'s redirect and private file.

A run never opens a login by itself: it uses the tokens that there are, and renews them. ``skillkit mcp login`` and ``/mcp NAME
login`` log in.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
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
from skillkit_oauth import PrivateFolder, Redirect

from skillkit_core import SkillKitError, ToolError, UsageError

from .servers import Configured, Server, server_of

if TYPE_CHECKING:
    import httpx2

    from skillkit_core import Host, UserInterface

    from .connection import Connection

__all__ = ["auth_for", "login", "logout", "tokens_file"]

_LOGIN = 300.0
_EARLY = 30.0
_FILE = "tokens.json"


def tokens_file(host: Host) -> Path:
    """Return the file of tokens."""
    return host.data_dir / "mcp" / _FILE


class _Tokens:
    """The tokens and the registration of one server (the SDK's ``TokenStorage``), by its address."""

    def __init__(self, host: Host, url: str) -> None:
        self._host = host
        self._folder = PrivateFolder(host.data_dir, "mcp")
        self._url = url

    @property
    def kept(self) -> dict[str, Any]:
        """What is kept of the server; raise :class:`SkillKitError` where the file cannot be read or is not private."""
        found = self._folder.read(_FILE).get(self._url)
        return found if isinstance(found, dict) else {}

    def keep(self, **values: Any) -> None:
        """Keep values beside those that are kept."""
        with self._folder.lock("tokens"):
            found = self._folder.read(_FILE)
            self._folder.write(_FILE, {**found, self._url: {**self.kept, **values}})

    def forget(self) -> bool:
        """Remove what is kept; return whether there was anything."""
        if self._url not in self._folder.read(_FILE):
            return False
        with self._folder.lock("tokens"):
            found = self._folder.read(_FILE)
            found.pop(self._url, None)
            self._folder.write(_FILE, found)
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
    person: UserInterface = ui
    refused: ToolError | None = None
    async with Redirect(port if isinstance(port, int) else 0, any_port=True) as redirect:
        if redirect.port != port:
            # a registration holds the address with the port
            tokens.forget()
            tokens.keep(port=redirect.port)

        async def show(url: str) -> None:
            if refused is not None:
                raise refused  # the SDK begins again with its next request; the person has said no
            redirect.expect(parse_qs(urlsplit(url).query)["state"][0])
            await person.notify(f"Log in to {one.name}: {url}")
            if open_url is not None:
                open_url(url)

        async def wait() -> AuthorizationCodeResult:
            nonlocal refused
            try:
                found = await redirect.answer(_LOGIN)
            except SkillKitError as error:
                refused = ToolError(error.message)
                raise refused from None
            return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

        provider = _provider(tokens, server.url, redirect.port, show, wait)
        await _connect(server, provider)
    if not tokens.kept.get("tokens"):
        await person.notify(f"{one.name} works without a login.")
        return
    if provider.context.oauth_metadata is not None:
        tokens.keep(metadata=provider.context.oauth_metadata.model_dump(mode="json", exclude_none=True))


async def _connect(server: Server, provider: OAuthClientProvider) -> None:
    """Connect once, which makes the SDK log in."""
    from .connection import Connection

    provider.context.current_tokens = None
    connection = Connection(replace(server, connect_timeout=_LOGIN), lambda _: provider)
    connection.waiting_for = "the login"
    try:
        await connection.client()
    finally:
        await connection.close()


def logout(host: Host, one: Configured) -> bool:
    """Forget the tokens of a server; return whether there were any."""
    return one.config is not None and one.config.url is not None and _Tokens(host, one.config.url).forget()
