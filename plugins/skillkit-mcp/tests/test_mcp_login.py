"""Logins: a small authorization server on loopback, a browser that follows its redirect, and tokens that are renewed."""

import asyncio
import base64
import hashlib
import json
import stat
import threading
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from skillkit_mcp.oauth import login, logout, tokens_file
from skillkit_mcp.servers import configured_servers

from skillkit_core import ToolError
from skillkit_core.testing import user


class Protected:
    """A protected MCP server and its authorization server in one.

    Attributes:
        tokens: access tokens that count.
        grants: the grant types that were used.
        deny: the person at the browser says no.
    """

    def __init__(self, expires_in=3600):
        self.tokens, self.grants, self.codes, self.refresh, self.deny = set(), [], {}, set(), False
        self.clients = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def send(self, status, data=None, **headers):
                body = b"" if data is None else json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                parts = urlsplit(self.path)
                if "oauth-protected-resource" in parts.path:
                    return self.send(200, {"resource": f"{site.base}/mcp", "authorization_servers": [site.base]})
                if "oauth-authorization-server" in parts.path:
                    ends = {
                        f"{n}_endpoint": f"{site.base}/{n.replace('ization', 'ize')}"
                        for n in ("authorization", "token")
                    }
                    return self.send(200, {
                        "issuer": site.base, **ends, "registration_endpoint": f"{site.base}/register",
                        "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
                    })  # fmt: skip
                if parts.path == "/authorize":
                    query = {k: v[0] for k, v in parse_qs(parts.query).items()}
                    assert query["redirect_uri"] in site.clients[query["client_id"]]
                    code = uuid.uuid4().hex
                    site.codes[code] = query["code_challenge"]
                    back = {"error": "access_denied"} if site.deny else {"code": code}
                    where = f"{query['redirect_uri']}?{urlencode({**back, 'state': query['state']})}"
                    return self.send(302, Location=where)
                return self.send(404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/register":
                    wanted, number = json.loads(body), uuid.uuid4().hex
                    site.clients[number] = wanted["redirect_uris"]
                    return self.send(201, {**wanted, "client_id": number})
                if self.path == "/token":
                    return self.token({k: v[0] for k, v in parse_qs(body.decode()).items()})
                if self.headers.get("Authorization", "").removeprefix("Bearer ") not in site.tokens:
                    where = f'Bearer resource_metadata="{site.base}/.well-known/oauth-protected-resource"'
                    return self.send(401, WWW_Authenticate=where)
                return self.message(json.loads(body))

            def token(self, form):
                site.grants.append(form["grant_type"])
                if form["grant_type"] == "authorization_code":
                    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == site.codes.pop(form["code"])
                elif form["refresh_token"] not in site.refresh:
                    return self.send(400, {"error": "invalid_grant"})
                access, again = f"access-{uuid.uuid4().hex}", f"again-{uuid.uuid4().hex}"
                site.tokens.add(access)
                site.refresh.add(again)
                given = {
                    "access_token": access,
                    "token_type": "Bearer",
                    "expires_in": expires_in,
                    "refresh_token": again,
                }
                return self.send(200, given)

            def message(self, m):
                if "id" not in m:
                    return self.send(202)
                results = {
                    "initialize": {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "p", "version": "1"},
                    },
                    "tools/list": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]},
                    "tools/call": {"content": [{"type": "text", "text": f"you are {self.headers['Authorization']}"}]},
                }
                if m["method"] not in results:
                    return self.send(200, {"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}})
                return self.send(200, {"jsonrpc": "2.0", "id": m["id"], "result": results[m["method"]]})

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def protected():
    made = []

    def make(**options):
        made.append(Protected(**options))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


class Browser(user.ScriptedUser):
    """Opens the address that it is shown, as a person's browser does."""

    async def notify(self, text, level="info"):
        await super().notify(text, level)
        if "http" in text:
            url = text[text.index("http") :]
            await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read())


async def test_a_login_keeps_tokens_that_runs_use_and_nobody_reads(connect, protected):
    site = protected()
    client = connect({"site": {"url": f"{site.base}/mcp"}})
    assert await client.tools() == {}
    said = [str(problem) for problem in client.host.problems]
    assert any("HTTP 401" in text and "skillkit mcp login site" in text for text in said)
    browser = Browser()
    await login(client.host, configured_servers(client.host)[0], browser)
    assert browser.notices[0][1].startswith(f"Log in to site: {site.base}/authorize?")
    path = tokens_file(client.host)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and site.grants == ["authorization_code"]
    await client.host.aclose()

    later = connect({"site": {"url": f"{site.base}/mcp"}})
    assert (await later.call("mcp__site__whoami")).text == "you are Bearer ***"
    assert site.grants == ["authorization_code"]
    assert logout(later.host, configured_servers(later.host)[0])
    assert json.loads(path.read_text()) == {}
    await later.host.aclose()


async def test_a_token_that_is_over_is_renewed_without_a_person(connect, protected):
    site = protected(expires_in=1)
    first = connect({"site": {"url": f"{site.base}/mcp"}})
    await login(first.host, configured_servers(first.host)[0], Browser())
    await first.host.aclose()
    site.tokens.clear()
    later = connect({"site": {"url": f"{site.base}/mcp"}})
    assert "you are" in (await later.call("mcp__site__whoami")).text
    assert site.grants[0] == "authorization_code" and "refresh_token" in site.grants
    await later.host.aclose()
    site.tokens.clear()
    site.refresh.clear()
    ended = connect({"site": {"url": f"{site.base}/mcp"}})
    assert await ended.tools() == {}
    assert any("the login has ended" in str(problem) for problem in ended.host.problems), ended.host.problems
    await ended.host.aclose()


async def test_a_login_that_is_refused_says_so_and_keeps_nothing(connect, protected):
    site = protected()
    site.deny = True
    client = connect({"site": {"url": f"{site.base}/mcp"}})
    with pytest.raises(ToolError, match="the login was refused: access_denied"):
        await login(client.host, configured_servers(client.host)[0], Browser())
    assert "access" not in tokens_file(client.host).read_text()
    await client.host.aclose()


async def test_tokens_that_others_can_read_are_not_used(connect, protected):
    site = protected()
    first = connect({"site": {"url": f"{site.base}/mcp"}})
    await login(first.host, configured_servers(first.host)[0], Browser())
    await first.host.aclose()
    tokens_file(first.host).chmod(0o644)
    later = connect({"site": {"url": f"{site.base}/mcp"}})
    assert await later.tools() == {}
    assert any("others can read it; chmod 600" in str(problem) for problem in later.host.problems)
    await later.host.aclose()
