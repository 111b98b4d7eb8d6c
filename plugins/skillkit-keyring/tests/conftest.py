"""A provider of models with an authorization server, and keyrings to test with."""

import base64
import hashlib
import json
import os
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from skillkit_testkit.turns import Fail, Reply

# what a keyring library's backend is, in a file that a test can look at
BACKEND = """
import json, os, pathlib
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

FILE = pathlib.Path(os.environ["TEST_KEYRING_FILE"])
FILE.with_name("keyring-was-imported").touch()

class Keyring(KeyringBackend):
    priority = 9
    def _all(self):
        if FILE.with_name("locked").exists():
            raise KeyringLocked("locked, and the secret was hunter2")
        return json.loads(FILE.read_text()) if FILE.exists() else {}
    def get_password(self, service, username):
        return self._all().get(f"{service} {username}")
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({**self._all(), f"{service} {username}": password}))
    def delete_password(self, service, username):
        found = self._all()
        if found.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError(username)
        FILE.write_text(json.dumps(found))
"""
BROWSER = """
import sys, urllib.request
print("browser", urllib.request.urlopen(sys.argv[1], timeout=20).read())
"""


class Site:
    """An authorization server (codes with PKCE, device codes, refresh, revocation) for the client ``skillkit-test``.

    Attributes:
        valid: access tokens that count. issued: every secret that was given out. grants: grant types that were asked for.
        polls: answers to questions about a device code, before it counts. deny: the person says no.
        expires_in: of tokens. forge: the browser is sent back with another state first.
    """

    def __init__(self):
        self.valid, self.issued, self.grants, self.codes, self.again = set(), [], [], {}, set()
        self.polls, self.deny, self.expires_in, self.forge, self.revoked = [], False, 3600, None, []
        self.broken = None
        site = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def send(self, status, data=None, **headers):
                body = b"" if data is None else data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
                assert query["client_id"] == "skillkit-test" and query["response_type"] == "code"
                assert (
                    query["redirect_uri"].startswith("http://127.0.0.1:") and query["code_challenge_method"] == "S256"
                )
                assert query["scope"] == "models offline" and query["audience"] == "api"
                code = site.secret("code")
                site.codes[code] = query["code_challenge"], query["redirect_uri"]
                back = {"error": "access_denied", "error_description": "not today"} if site.deny else {"code": code}
                if site.forge is not None:
                    site.forge(f"{query['redirect_uri']}?{urlencode({'code': 'forged', 'state': 'guessed'})}")
                return self.send(
                    302, Location=f"{query['redirect_uri']}?{urlencode({**back, 'state': query['state']})}"
                )

            def do_POST(self):
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                form = {k: v[0] for k, v in parse_qs(text).items()}
                assert form.pop("client_id") == "skillkit-test"
                if self.path == "/device":
                    assert form == {"scope": "models offline"}
                    return self.send(200, {
                        "device_code": site.secret("device"), "user_code": "WDJB-MJHT", "expires_in": 900, "interval": 0,
                        "verification_uri": f"{site.base}/activate",
                    })  # fmt: skip
                if self.path == "/revoke":
                    site.revoked.append(form["token"])
                    return self.send(200)
                site.grants.append(form["grant_type"])
                if site.broken is not None:
                    return self.send(*site.broken)
                return self.send(*site.token(form))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def secret(self, kind):
        self.issued.append(f"{kind}-{uuid.uuid4().hex}")
        return self.issued[-1]

    def token(self, form):
        if form["grant_type"] == "authorization_code":
            challenge, redirect = self.codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
            assert form["redirect_uri"] == redirect
        elif form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.again:
                return 400, {"error": "invalid_grant"}
            self.again.remove(form["refresh_token"])  # each counts once
        else:
            assert form["device_code"] in self.issued
            if self.polls:
                return 400, {"error": self.polls.pop(0)}
        access, again = self.secret("access"), self.secret("again")
        self.valid.add(access)
        self.again.add(again)
        given = {"access_token": access, "token_type": "Bearer", "refresh_token": again}
        return 200, {**given, "expires_in": self.expires_in}

    def settings(self, **others):
        ends = {"authorization_endpoint": "auth", "device_authorization_endpoint": "device", "token_endpoint": "token"}
        return {
            "client_id": "skillkit-test", "scopes": ["models", "offline"], "parameters": {"audience": "api"},
            "revocation_endpoint": f"{self.base}/revoke", **{k: f"{self.base}/{v}" for k, v in ends.items()}, **others,
        }  # fmt: skip


@pytest.fixture
def site():
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture
def acme(site, llm_server, skillkit_home, monkeypatch):
    """A provider whose models answer whoever brings a token that counts, and whose logins are those of ``site``."""
    server = {"base_url": llm_server.openai_url, "api_key_env": "ACME_TOKEN", "default_model": "scripted-model"}
    config = {"openai": {"servers": {"acme": server}}, "keyring": {"oauth": {"acme": site.settings()}}}
    skillkit_home.write_config(json.dumps(config))

    def answer(request):
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return Reply(text="You are in.") if token in site.valid else Fail(401, message=f"no: {token}")

    llm_server.always(answer)
    browser = skillkit_home.path / "browser.py"
    browser.write_text(BROWSER)
    monkeypatch.setattr("webbrowser._tryorder", None)  # BROWSER counts anew
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser} %s")
    return site


@pytest.fixture
def vault(skillkit_home, monkeypatch):
    """A keyring that works; ``locked`` beside its file locks it."""
    folder = skillkit_home.path / "backend"
    folder.mkdir()
    (folder / "test_vault_backend.py").write_text(BACKEND)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    )
    monkeypatch.setenv("TEST_KEYRING_FILE", str(folder / "secrets"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "test_vault_backend.Keyring")
    return folder / "secrets"
