"""Logins: with a browser that returns to this machine, and with a code for another device.

Authlib speaks OAuth; its requests run in threads. Sources: RFC 6749, 7636 (PKCE), 8252 (redirect to 127.0.0.1), 8628 (device
codes).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillkit_core import SkillKitError

from .provider import OAuthProvider
from .redirect import Redirect
from .tokens import REQUEST, Refused, Unreachable, client_of, host_of, refusal, token_from

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session

    from skillkit_core import UserInterface

__all__ = ["browser_login", "device_login"]

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER = 5.0  # RFC 8628, 3.5
_SHORTEST_WAIT, _LONGEST_WAIT = 0.1, 60.0


async def browser_login(
    provider: OAuthProvider,
    client_secret: str | None,
    ui: UserInterface,
    *,
    open_url: Callable[[str], Any] | None = None,
    seconds: float = 300.0,
) -> dict[str, Any]:
    """Let a person log in with a browser on this machine, and return the token.

    Args:
        provider: login with an authorization endpoint.
        client_secret: the application's secret, if it has one.
        ui: what shows the address.
        open_url: opens the address in a browser; ``None``: the person does.
        seconds: how long the person may take.

    Raises:
        SkillKitError: the login was refused, took too long, or failed.
    """
    from authlib.common.security import generate_token

    verifier, state = generate_token(64), generate_token(32)
    async with Redirect(provider.redirect_port, provider.redirect_path) as redirect:
        redirect.expect(state)
        client = await asyncio.to_thread(client_of, provider.client_id, client_secret, provider.scopes, redirect.url)
        url, _ = client.create_authorization_url(
            provider.authorization_endpoint, state=state, code_verifier=verifier, **provider.parameters
        )
        await ui.notify(f"Log in to {provider.name} in a browser on this machine: {url}")
        if open_url is not None:
            _open(open_url, url)
        try:
            answer = await redirect.answer(seconds)
        except TimeoutError:
            raise SkillKitError(f"nobody logged in to {provider.name} within {seconds:g} s") from None
    token = await asyncio.to_thread(
        token_from, lambda: client.fetch_token(provider.token_endpoint, code=answer.code, code_verifier=verifier, **REQUEST),
        provider.token_endpoint,
    )  # fmt: skip
    return _kept(provider, token)


async def device_login(
    provider: OAuthProvider,
    client_secret: str | None,
    ui: UserInterface,
    *,
    open_url: Callable[[str], Any] | None = None,
    seconds: float = 300.0,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    now: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Show a person an address and a code to log in on any device, and return the token.

    Args:
        provider: login with a device authorization endpoint.
        client_secret: the application's secret, if it has one.
        ui: what shows address and code.
        open_url: opens the address in a browser here.
        seconds: how long the person may take; the provider's own limit counts too.
        sleep: waits between two questions. now: seconds of a clock.

    Raises:
        SkillKitError: the login was refused, took too long, or failed.
    """
    assert provider.device_authorization_endpoint is not None
    client = await asyncio.to_thread(client_of, provider.client_id, client_secret, provider.scopes, None)
    begun = await asyncio.to_thread(_begin, client, provider)
    await ui.notify(
        f"Log in to {provider.name}: open {begun['verification_uri']} and enter the code {begun['user_code']}"
    )
    if open_url is not None:
        _open(open_url, begun.get("verification_uri_complete") or begun["verification_uri"])
    over = f"the code for {provider.name} has expired before anybody entered it"
    interval, until = begun["interval"], now() + min(seconds, begun["expires_in"])

    def ask() -> Any:
        return client.fetch_token(
            provider.token_endpoint, grant_type=DEVICE_GRANT, device_code=begun["device_code"], **REQUEST
        )

    while now() + interval < until:
        await sleep(interval)
        try:
            return _kept(provider, await asyncio.to_thread(token_from, ask, provider.token_endpoint))
        except Unreachable:
            interval = min(max(2 * interval, 1.0), _LONGEST_WAIT)  # RFC 8628, 3.5: wait longer after a timeout
        except Refused as error:
            if error.code == "slow_down":
                interval += _SLOWER
            elif error.code == "expired_token":
                break
            elif error.code != "authorization_pending":
                raise
    raise SkillKitError(over, hint="log in again")


def _open(open_url: Callable[[str], Any], url: str) -> None:
    """Open an address without waiting: a browser in a terminal ends when the person leaves it."""
    threading.Thread(target=open_url, args=(url,), daemon=True).start()


def _begin(client: OAuth2Session, provider: OAuthProvider) -> dict[str, Any]:
    """Return the answer of the device authorization endpoint, checked (RFC 8628, 3.2)."""
    import requests

    url = str(provider.device_authorization_endpoint)
    form = {"client_id": provider.client_id, **({"scope": " ".join(provider.scopes)} if provider.scopes else {})}
    auth: Any = client.client_auth(client.token_endpoint_auth_method)
    session: Any = client
    try:
        answer = session.post(url, data=form, auth=auth, withhold_token=True, **REQUEST)
        found = answer.json()
    except requests.RequestException as error:
        raise Unreachable(f"{host_of(url)} cannot be reached: {type(error).__name__}") from None
    except ValueError:
        raise Unreachable(f"{host_of(url)} did not answer as OAuth says (HTTP {answer.status_code})") from None
    if isinstance(found, dict) and "error" in found:
        raise refusal(str(found["error"]), found.get("error_description"))
    try:
        page = str(found["verification_uri"])
        complete = found.get("verification_uri_complete")
        if any(urlsplit(u).scheme not in ("https", "http") for u in (page, complete) if u):
            raise ValueError(page)
        return {
            "device_code": str(found["device_code"]), "user_code": str(found["user_code"]), "verification_uri": page,
            "verification_uri_complete": complete, "expires_in": float(found["expires_in"]),
            "interval": max(_SHORTEST_WAIT, float(found.get("interval", 5))),
        }  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise Unreachable(f"{host_of(url)} did not answer as RFC 8628 says (HTTP {answer.status_code})") from None


def _kept(provider: OAuthProvider, token: Mapping[str, Any]) -> dict[str, Any]:
    client = {
        "id": provider.client_id, "token_endpoint": provider.token_endpoint,
        "revocation_endpoint": provider.revocation_endpoint, "secret_env": provider.client_secret_env,
    }  # fmt: skip
    return {**token, "client": {key: value for key, value in client.items() if value}}
