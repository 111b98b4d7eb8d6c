"""An authorization server on loopback: the real protocol, and whatever a test wants to go wrong.

Codes with PKCE (RFC 6749, 7636), refresh tokens that count once, device codes (RFC 8628), revocation (RFC 7009), registration
(RFC 7591) and metadata (RFC 8414).
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlencode

from .loopback import Asked, Loopback, json_answer
from .turns import Raw

__all__ = ["OAuthServer"]

_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class OAuthServer(Loopback):
    """An authorization server. The person at the browser agrees at once, unless the test says otherwise.

    Args:
        client_id: the only client that there is; ``None``: clients register themselves.
        expires_in: seconds that tokens are valid, as the server says; nothing ends by itself.

    Attributes:
        valid: access tokens that count. Remove one, and it has ended.
        renewable: refresh tokens that count.
        issued: every secret that was given out.
        grants: the grant types that were asked for.
        revoked: tokens that a client ended.
        polls: errors that answer questions about a device code, one each, before it counts.
        deny: the person says no, with these words.
        broken: answers every request for a token.
        before_redirect: called with the address that the browser will return to, before it does.
    """

    def __init__(self, client_id: str | None = None, *, expires_in: int = 3600) -> None:
        super().__init__()
        self.expires_in = expires_in
        self.valid: set[str] = set()
        self.renewable: set[str] = set()
        self.issued: list[str] = []
        self.grants: list[str] = []
        self.revoked: list[str] = []
        self.polls: list[str] = []
        self.deny: str | None = None
        self.broken: Raw | None = None
        self.before_redirect: Callable[[str], object] | None = None
        self._clients: dict[str, list[str] | None] = {} if client_id is None else {client_id: None}
        self._codes: dict[str, dict[str, str]] = {}
        self._devices: set[str] = set()

    @property
    def endpoints(self) -> dict[str, str]:
        """The addresses by their names in metadata and in settings."""
        return {
            "authorization_endpoint": f"{self.base}/authorize", "token_endpoint": f"{self.base}/token",
            "device_authorization_endpoint": f"{self.base}/device", "revocation_endpoint": f"{self.base}/revoke",
        }  # fmt: skip

    def answer(self, asked: Asked, handler: BaseHTTPRequestHandler) -> Raw | None:
        """Answer by the path."""
        if "/.well-known/oauth-authorization-server" in asked.path or "/.well-known/openid" in asked.path:
            return json_answer({
                "issuer": self.base, **self.endpoints, "registration_endpoint": f"{self.base}/register",
                "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
            })  # fmt: skip
        answers = {
            "/authorize": self._authorize, "/token": self._token, "/device": self._device, "/revoke": self._revoke,
            "/register": self._register,
        }  # fmt: skip
        found = answers.get(asked.path)
        return found(asked) if found is not None else Raw(b"", 404)

    def _secret(self, kind: str) -> str:
        self.issued.append(f"{kind}-{uuid.uuid4().hex}")
        return self.issued[-1]

    def _problem(self, what: str, code: str = "invalid_request") -> Raw:
        """Keep what no client may send, and refuse it."""
        self.problems.append(what)
        return json_answer({"error": code, "error_description": what}, 400)

    def _register(self, asked: Asked) -> Raw:
        wanted, number = json.loads(asked.body), uuid.uuid4().hex
        self._clients[number] = wanted["redirect_uris"]
        return json_answer({**wanted, "client_id": number}, 201)

    def _authorize(self, asked: Asked) -> Raw:
        query = asked.query
        client, back = query.get("client_id", ""), query.get("redirect_uri", "")
        if client not in self._clients:
            return self._problem(f"the client {client!r} is not known", "invalid_client")
        if not back.startswith("http://127.0.0.1:") or back not in (self._clients[client] or [back]):
            return self._problem(f"the browser may not return to {back!r}")
        if query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            return self._problem("the request wants no code, or has no S256 challenge")
        if self.before_redirect is not None:
            self.before_redirect(back)
        code = self._secret("code")
        self._codes[code] = dict(query)
        answer = {"code": code}
        if self.deny is not None:
            answer = {"error": "access_denied", "error_description": self.deny}
        where = f"{back}?{urlencode({**answer, 'state': query['state']})}"
        return Raw(b"", 302, headers={"Location": where})

    def _device(self, asked: Asked) -> Raw:
        if asked.form.get("client_id") not in self._clients:
            return self._problem("the client is not known", "invalid_client")
        code = self._secret("device")
        self._devices.add(code)
        return json_answer({
            "device_code": code, "user_code": "WDJB-MJHT", "expires_in": 900, "interval": 0,
            "verification_uri": f"{self.base}/activate",
        })  # fmt: skip

    def _revoke(self, asked: Asked) -> Raw:
        token = asked.form["token"]
        self.revoked.append(token)
        self.valid.discard(token)
        self.renewable.discard(token)
        return Raw(b"")

    def _token(self, asked: Asked) -> Raw:
        form = asked.form
        self.grants.append(form["grant_type"])
        if self.broken is not None:
            return self.broken
        if form.get("client_id") not in self._clients:
            return self._problem("the client is not known", "invalid_client")
        refused = {"authorization_code": self._code, "refresh_token": self._again, _DEVICE: self._polled}
        if form["grant_type"] not in refused:
            return self._problem(f"there is no grant {form['grant_type']!r}", "unsupported_grant_type")
        if (error := refused[form["grant_type"]](form)) is not None:
            return json_answer({"error": error}, 400)
        access, again = self._secret("access"), self._secret("again")
        self.valid.add(access)
        self.renewable.add(again)
        given: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "refresh_token": again}
        return json_answer({**given, "expires_in": self.expires_in})

    def _code(self, form: dict[str, str]) -> str | None:
        """Return the error that a code gets, or ``None``: it counts once, with its verifier and its address."""
        wanted = self._codes.pop(form.get("code", ""), None)
        if wanted is None:
            return "invalid_grant"
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != wanted["code_challenge"]:
            self.problems.append("the verifier does not fit the challenge")
            return "invalid_grant"
        if form.get("redirect_uri") != wanted["redirect_uri"]:
            self.problems.append("the code is for another redirect_uri")
            return "invalid_grant"
        return None

    def _again(self, form: dict[str, str]) -> str | None:
        token = form.get("refresh_token", "")
        if token not in self.renewable:
            return "invalid_grant"
        self.renewable.remove(token)  # each counts once
        return None

    def _polled(self, form: dict[str, str]) -> str | None:
        if form.get("device_code") not in self._devices:
            return "invalid_grant"
        return self.polls.pop(0) if self.polls else None
