"""The tokens of logins (OAuth) for servers over HTTP: the SDK's provider, with ``skillkit_oauth``'s private file.

A run never opens a login by itself: it uses the tokens that there are, and renews them. :mod:`.login` logs in.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError
from skillkit_oauth import PrivateFolder

from skillkit_core import ToolError

from .logins import FILE, forget

if TYPE_CHECKING:
    import httpx2

    from skillkit_core import Host

    from .connection import Connection

__all__ = ["Tokens", "auth_for", "provider_of", "tokens_file"]

_EARLY = 30.0


def tokens_file(host: Host) -> Path:
    """Return the file of tokens."""
    return host.data_dir / "mcp" / FILE


class Tokens:
    """The tokens and the registration of one server (the SDK's ``TokenStorage``), by its address."""

    def __init__(self, host: Host, url: str) -> None:
        self._host = host
        self._folder = PrivateFolder(host.data_dir, "mcp")
        self._url = url

    @property
    def kept(self) -> dict[str, Any]:
        """What is kept of the server.

        Raises:
            SkillKitError: the file cannot be read, or is not private.
        """
        found = self._folder.read(FILE).get(self._url)
        return found if isinstance(found, dict) else {}

    def keep(self, **values: Any) -> None:
        """Keep values beside those that are kept."""
        with self._folder.lock("tokens"):
            found = self._folder.read(FILE)
            self._folder.write(FILE, {**found, self._url: {**self.kept, **values}})

    def forget(self) -> bool:
        """Remove what is kept; return whether there was anything."""
        return forget(self._folder, self._url)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens, which the host never shows."""
        tokens: OAuthToken | None = _parsed(OAuthToken, self.kept.get("tokens"))
        for secret in (tokens.access_token, tokens.refresh_token) if tokens is not None else ():
            self._host.remember_secret(secret or "")
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, and when they end."""
        for secret in (tokens.access_token, tokens.refresh_token):
            self._host.remember_secret(secret or "")
        over = time.time() + tokens.expires_in if tokens.expires_in else None
        self.keep(tokens=tokens.model_dump(mode="json", exclude_none=True), over=over)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration."""
        found: OAuthClientInformationFull | None = _parsed(OAuthClientInformationFull, self.kept.get("client"))
        return found

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration."""
        self.keep(client=client_info.model_dump(mode="json", exclude_none=True))


def _parsed(model: Any, data: Any) -> Any:
    try:
        return None if data is None else model.model_validate(data)
    except ValidationError:
        return None


def provider_of(
    tokens: Tokens,
    url: str,
    port: int,
    show: Callable[[str], Awaitable[None]],
    wait: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    """Return the SDK's provider of tokens.

    Args:
        tokens: what is kept of the server.
        url: its address.
        port: where the browser comes back to.
        show: shows a person the address of the login.
        wait: waits for the browser.
    """
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
        tokens = Tokens(host, server.url)
        kept = tokens.kept
        if not kept.get("tokens"):
            return None

        async def refuse(url: str) -> None:
            raise ToolError("HTTP 401: the login has ended", hint=f"skillkit mcp login {server.name}")

        async def never() -> AuthorizationCodeResult:
            raise ToolError("nobody logs in here")

        return provider_of(tokens, server.url, int(kept.get("port") or 0) or 1, refuse, never)

    return auth
