"""Logins: with a browser that returns to this machine, with a code for another device, and what renews and ends them.

Authlib speaks OAuth; its requests run in threads. Sources: RFC 6749, 7636 (PKCE), 8252 (redirect to 127.0.0.1), 8628 (device
codes), 7009 (revocation).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillkit_core.errors import SkillKitError

from .provider import OAuthProvider, require_endpoint
from .redirect import Redirect

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session

    from skillkit_core import UserInterface

__all__ = ["browser_login", "device_login", "refreshed", "revoke"]

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_REQUEST: dict[str, Any] = {"timeout": 30.0, "allow_redirects": False}
_SLOWER = 5.0  # RFC 8628, 3.5
_SHORTEST_WAIT, _LONGEST_WAIT = 0.1, 60.0


class Refused(SkillKitError):
    """The provider said no. ``code`` is the error code of RFC 6749 or 8628."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Unreachable(SkillKitError):
    """The provider did not answer, or not in the protocol."""


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
    async with Redirect(state, provider.redirect_port, provider.redirect_path) as redirect:
        client = await asyncio.to_thread(_client, provider.client_id, client_secret, provider.scopes, redirect.url)
        url, _ = client.create_authorization_url(
            provider.authorization_endpoint, state=state, code_verifier=verifier, **provider.parameters
        )
        await ui.notify(f"Log in to {provider.name} in a browser on this machine: {url}")
        if open_url is not None:
            _open(open_url, url)
        try:
            async with asyncio.timeout(seconds):
                code = await redirect.code()
        except TimeoutError:
            raise SkillKitError(f"nobody logged in to {provider.name} within {seconds:g} s") from None
    token = await asyncio.to_thread(
        _token, lambda: client.fetch_token(provider.token_endpoint, code=code, code_verifier=verifier, **_REQUEST),
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
    client = await asyncio.to_thread(_client, provider.client_id, client_secret, provider.scopes, None)
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
            provider.token_endpoint, grant_type=DEVICE_GRANT, device_code=begun["device_code"], **_REQUEST
        )

    while now() + interval < until:
        await sleep(interval)
        try:
            return _kept(provider, await asyncio.to_thread(_token, ask, provider.token_endpoint))
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


def refreshed(name: str, token: Mapping[str, Any], client_secret: str | None) -> dict[str, Any]:
    """Return a new token in place of ``token``, from the endpoint where a person logged in.

    Raises:
        SkillKitError: there is none; a person has to log in again.
    """
    hint = f"run skillkit auth login {name}"
    client = dict(token.get("client") or {})
    if not token.get("refresh_token"):
        raise SkillKitError(f"the login of {name} has ended", hint=hint)
    try:
        endpoint = require_endpoint(str(client.get("token_endpoint")), "the endpoint of the login")
        session = _client(str(client.get("id")), client_secret, (), None)
        found = _token(
            lambda: session.refresh_token(endpoint, refresh_token=token["refresh_token"], **_REQUEST), endpoint
        )
    except SkillKitError as error:
        raise SkillKitError(f"the login of {name} could not be renewed: {error.message}", hint=hint) from None
    return {"refresh_token": token["refresh_token"], **found, "client": client}


def revoke(token: Mapping[str, Any], client_secret: str | None) -> str:
    """End a token at its provider. Return what went wrong, else an empty text."""
    import requests

    client = dict(token.get("client") or {})
    endpoint = client.get("revocation_endpoint")
    if not endpoint:
        return ""
    kind = "refresh_token" if token.get("refresh_token") else "access_token"
    try:
        require_endpoint(endpoint, "the endpoint")
        session: Any = _client(str(client.get("id")), client_secret, (), None)
        answer = session.revoke_token(endpoint, token=token[kind], token_type_hint=kind, **_REQUEST)
    except (SkillKitError, requests.RequestException) as error:
        return f"the provider could not be told: {type(error).__name__}"
    return "" if answer.status_code < 300 else f"the provider did not end it: HTTP {answer.status_code}"


def _open(open_url: Callable[[str], Any], url: str) -> None:
    """Open an address without waiting: a browser in a terminal ends when the person leaves it."""
    threading.Thread(target=open_url, args=(url,), daemon=True).start()


def _client(client_id: str, client_secret: str | None, scopes: tuple[str, ...], redirect: str | None) -> OAuth2Session:
    from authlib.integrations.requests_client import OAuth2Session

    return OAuth2Session(
        client_id, client_secret, scope=" ".join(scopes) or None, redirect_uri=redirect, code_challenge_method="S256"
    )


def _begin(client: OAuth2Session, provider: OAuthProvider) -> dict[str, Any]:
    """Return the answer of the device authorization endpoint, checked (RFC 8628, 3.2)."""
    import requests

    url = str(provider.device_authorization_endpoint)
    form = {"client_id": provider.client_id, **({"scope": " ".join(provider.scopes)} if provider.scopes else {})}
    auth: Any = client.client_auth(client.token_endpoint_auth_method)
    session: Any = client
    try:
        answer = session.post(url, data=form, auth=auth, withhold_token=True, **_REQUEST)
        found = answer.json()
    except requests.RequestException as error:
        raise Unreachable(f"{_host(url)} cannot be reached: {type(error).__name__}") from None
    except ValueError:
        raise Unreachable(f"{_host(url)} did not answer as OAuth says (HTTP {answer.status_code})") from None
    if isinstance(found, dict) and "error" in found:
        raise _refused(str(found["error"]), found.get("error_description"))
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
        raise Unreachable(f"{_host(url)} did not answer as RFC 8628 says (HTTP {answer.status_code})") from None


def _token(call: Callable[[], Any], endpoint: str) -> dict[str, Any]:
    """Return the token that a request of Authlib gives, in plain words where it gives none."""
    import requests
    from authlib.common.errors import AuthlibBaseError

    try:
        found = dict(call())
    except AuthlibBaseError as error:
        raise _refused(str(error.error), error.description) from None
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "error"
        raise Unreachable(f"{_host(endpoint)} answered with HTTP {status}") from None
    except requests.JSONDecodeError:
        raise Unreachable(f"{_host(endpoint)} did not answer as OAuth says") from None
    except requests.RequestException as error:
        raise Unreachable(f"{_host(endpoint)} cannot be reached: {type(error).__name__}") from None
    except (ValueError, TypeError, KeyError):
        raise Unreachable(f"{_host(endpoint)} did not answer as OAuth says") from None
    if not isinstance(found.get("access_token"), str) or not found["access_token"]:
        raise Unreachable(f"{_host(endpoint)} gave no access token")
    kept = {key: found[key] for key in ("access_token", "refresh_token", "token_type", "scope") if found.get(key)}
    until = found.get("expires_at")
    return {**kept, "expires_at": float(until)} if isinstance(until, (int, float)) else kept


def _refused(code: str, why: object) -> Refused:
    words = {"access_denied": "the login was refused", "invalid_grant": "the provider does not accept it any more"}
    said = f"{words.get(code, 'the provider refused')} ({code})"
    return Refused(f"{said}: {str(why)[:300]}" if why else said, code)


def _kept(provider: OAuthProvider, token: Mapping[str, Any]) -> dict[str, Any]:
    client = {
        "id": provider.client_id, "token_endpoint": provider.token_endpoint,
        "revocation_endpoint": provider.revocation_endpoint, "secret_env": provider.client_secret_env,
    }  # fmt: skip
    return {**token, "client": {key: value for key, value in client.items() if value}}


def _host(url: str) -> str:
    return urlsplit(url).netloc
