"""Logging in to a server over HTTP: a person opens an address, and the browser comes back to this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult
from skillkit_oauth import Redirect

from skillkit_core import SkillKitError, ToolError, UsageError

from .connection import Connection
from .servers import Configured, Server, server_of
from .tokens import Tokens, provider_of

if TYPE_CHECKING:
    from skillkit_core import Host, UserInterface

__all__ = ["login", "logout"]

_LOGIN = 300.0  # seconds


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
    tokens = Tokens(host, server.url)
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

        provider = provider_of(tokens, server.url, redirect.port, show, wait)
        await _connect(server, provider)
    if not tokens.kept.get("tokens"):
        await person.notify(f"{one.name} works without a login.")
        return
    if provider.context.oauth_metadata is not None:
        tokens.keep(metadata=provider.context.oauth_metadata.model_dump(mode="json", exclude_none=True))


async def _connect(server: Server, provider: OAuthClientProvider) -> None:
    """Connect once, which makes the SDK log in."""
    provider.context.current_tokens = None
    connection = Connection(replace(server, connect_timeout=_LOGIN), lambda _: provider)
    connection.waiting_for = "the login"
    try:
        await connection.client()
    finally:
        await connection.close()


def logout(host: Host, one: Configured) -> bool:
    """Forget the tokens of a server; return whether there were any."""
    return one.config is not None and one.config.url is not None and Tokens(host, one.config.url).forget()
