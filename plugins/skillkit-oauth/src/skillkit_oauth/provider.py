"""What a plugin or a setting says of the logins of a provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from skillkit_core import UsageError
from skillkit_core.fields import check_fields
from skillkit_core.frozen import FrozenDict

__all__ = ["OAuthProvider", "require_endpoint"]

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HERE = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthProvider:
    """The logins of one provider (RFC 6749, with PKCE of RFC 7636; RFC 8628 for device codes).

    Attributes:
        name: name of the provider, as for ``--provider``.
        client_id: id under which the application is registered at the provider.
        token_endpoint: where codes and refresh tokens become tokens.
        authorization_endpoint: where a person logs in with a browser; ``None``: there is no such login.
        device_authorization_endpoint: where a code for another device comes from; ``None``: there is no such login.
        revocation_endpoint: where a logout ends the tokens (RFC 7009); ``None``: a logout only forgets them.
        scopes: what the token is asked for.
        secret: variable that would hold the token; default: the first of the provider's.
        client_secret_env: variable of the application's secret, for providers that require one.
        redirect_port: port on 127.0.0.1 to which the browser returns; 0: any free one (RFC 8252).
        redirect_path: path to which the browser returns.
        parameters: further parameters of the authorization request, such as ``audience``.

    Raises:
        UsageError: a value is of a wrong type, an endpoint is neither https nor on this machine, or there is no login.
    """

    name: str
    client_id: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes: tuple[str, ...] = ()
    secret: str | None = None
    client_secret_env: str | None = None
    redirect_port: int = 0
    redirect_path: str = "/callback"
    parameters: Mapping[str, str] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        of = f"login {self.name!r}"
        check_fields(self, of)
        object.__setattr__(self, "scopes", tuple(self.scopes))
        for key in ("token", "authorization", "device_authorization", "revocation"):
            if (url := getattr(self, f"{key}_endpoint")) is not None:
                require_endpoint(url, f"{of}: {key}_endpoint")
        if self.authorization_endpoint is None and self.device_authorization_endpoint is None:
            raise UsageError(f"{of} has neither an authorization_endpoint nor a device_authorization_endpoint")
        if not self.redirect_path.startswith("/"):
            raise UsageError(f"{of}: redirect_path must begin with /")
        for name in (self.secret, self.client_secret_env):
            if name is not None and not VARIABLE.fullmatch(name):
                raise UsageError(f"{of}: {name!r} is no name of a variable")


def require_endpoint(url: str, of: str) -> str:
    """Return an address to which secrets may be sent.

    Raises:
        UsageError: the address is neither https nor on this machine.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _HERE)):
        raise UsageError(f"{of} must be an https:// address, not {url!r}")
    return url
