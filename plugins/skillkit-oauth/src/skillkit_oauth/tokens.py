"""Tokens: what gives them, renews them and ends them, and what a provider says instead.

Sources: RFC 6749, 7009 (revocation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillkit_core import SkillKitError

from .provider import require_endpoint

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session

__all__ = ["REQUEST", "Refused", "Unreachable", "client_of", "host_of", "refreshed", "refusal", "revoke", "token_from"]

REQUEST: dict[str, Any] = {"timeout": 30.0, "allow_redirects": False}


class Refused(SkillKitError):
    """The provider said no. ``code`` is the error code of RFC 6749 or 8628."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Unreachable(SkillKitError):
    """The provider did not answer, or not in the protocol."""


def refreshed(token: Mapping[str, Any], client_secret: str | None) -> dict[str, Any]:
    """Return a new token in place of ``token``, from the endpoint where a person logged in, whatever the login says today.

    Args:
        token: what ``browser_login``, ``device_login`` or this function returned.
        client_secret: the application's secret, if it has one.

    Raises:
        Refused: the provider does not renew it; a person has to log in again.
        Unreachable: the provider does not answer.
        SkillKitError: the token has nothing that renews it.
    """
    client = dict(token.get("client") or {})
    if not token.get("refresh_token"):
        raise SkillKitError("the login has ended, and nothing renews it")
    endpoint = require_endpoint(str(client.get("token_endpoint")), "the endpoint of the login")
    session = client_of(str(client.get("id")), client_secret, (), None)
    found = token_from(
        lambda: session.refresh_token(endpoint, refresh_token=token["refresh_token"], **REQUEST), endpoint
    )
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
        session: Any = client_of(str(client.get("id")), client_secret, (), None)
        answer = session.revoke_token(endpoint, token=token[kind], token_type_hint=kind, **REQUEST)
    except (SkillKitError, requests.RequestException) as error:
        return f"the provider could not be told: {type(error).__name__}"
    return "" if answer.status_code < 300 else f"the provider did not end it: HTTP {answer.status_code}"


def client_of(
    client_id: str, client_secret: str | None, scopes: tuple[str, ...], redirect: str | None
) -> OAuth2Session:
    """Return Authlib's client."""
    from authlib.integrations.requests_client import OAuth2Session

    return OAuth2Session(
        client_id, client_secret, scope=" ".join(scopes) or None, redirect_uri=redirect, code_challenge_method="S256"
    )


def token_from(call: Callable[[], Any], endpoint: str) -> dict[str, Any]:
    """Return the token that a request of Authlib gives, in plain words where it gives none."""
    import requests
    from authlib.common.errors import AuthlibBaseError

    try:
        found = dict(call())
    except AuthlibBaseError as error:
        raise refusal(str(error.error), error.description) from None
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "error"
        raise Unreachable(f"{host_of(endpoint)} answered with HTTP {status}") from None
    except requests.JSONDecodeError:
        raise Unreachable(f"{host_of(endpoint)} did not answer as OAuth says") from None
    except requests.RequestException as error:
        raise Unreachable(f"{host_of(endpoint)} cannot be reached: {type(error).__name__}") from None
    except (ValueError, TypeError, KeyError):
        raise Unreachable(f"{host_of(endpoint)} did not answer as OAuth says") from None
    if not isinstance(found.get("access_token"), str) or not found["access_token"]:
        raise Unreachable(f"{host_of(endpoint)} gave no access token")
    kept = {key: found[key] for key in ("access_token", "refresh_token", "token_type", "scope") if found.get(key)}
    until = found.get("expires_at")
    return {**kept, "expires_at": float(until)} if isinstance(until, (int, float)) else kept


def refusal(code: str, why: object) -> Refused:
    """Return a provider's no in plain words."""
    words = {"access_denied": "the login was refused", "invalid_grant": "the provider does not accept it any more"}
    said = f"{words.get(code, 'the provider refused')} ({code})"
    return Refused(f"{said}: {str(why)[:300]}" if why else said, code)


def host_of(url: str) -> str:
    """Return whom an error is about."""
    return urlsplit(url).netloc
