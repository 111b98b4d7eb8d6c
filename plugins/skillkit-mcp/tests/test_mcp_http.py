"""Servers over HTTP that pack, cut, mix up and redirect what they send, forget sessions, or are not there."""

import gzip
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

OBJ = {"type": "object", "properties": {}}


class Site:
    """A right server of the handshake era, whose tools may be anything.

    Attributes:
        calls: by tool, a function of the handler and the message.
        asked: the headers of each request.
    """

    def __init__(self):
        self.calls, self.asked = {"ok": lambda h, m: h.result(m, "fine")}, []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def body(self, data, kind="application/json", status=200, length=None, **headers):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data) if length is None else length))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(data)

            def answer(self, m, result, **headers):
                self.body(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}).encode(), **headers)

            def result(self, m, text):
                self.answer(m, {"content": [{"type": "text", "text": text}]})

            def events(self, *messages):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for message in messages:
                    self.wfile.write(f"data: {json.dumps(message)}\r\n\r\n".encode())
                self.close_connection = True

            def do_POST(self):
                m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                site.asked.append((m.get("method"), dict(self.headers)))
                try:
                    self.handle_message(m, m.get("params") or {})
                except OSError:
                    pass  # the client had enough

            def handle_message(self, m, params):
                if m.get("method") == "initialize":
                    result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                    session = {"Mcp_Session_Id": uuid.uuid4().hex}
                    self.answer(m, {**result, "serverInfo": {"name": "s", "version": "1"}}, **session)
                elif "id" not in m:
                    self.body(b"", "text/plain", 202)
                elif m["method"] == "tools/list":
                    self.answer(m, {"tools": [{"name": name, "inputSchema": OBJ} for name in site.calls]})
                elif m["method"] == "tools/call":
                    site.calls[params["name"]](self, m)
                else:
                    error = {"code": -32601, "message": "no such method"}
                    self.body(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": error}).encode())

            def do_GET(self):
                self.body(b"", "text/plain", 405)

            def do_DELETE(self):
                self.body(b"")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tool(self, function):
        self.calls[function.__name__] = function


@pytest.fixture
def site():
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


def text_of(m, text):
    return json.dumps(
        {"jsonrpc": "2.0", "id": m["id"], "result": {"content": [{"type": "text", "text": text}]}}
    ).encode()


async def test_what_breaks_one_answer_ends_one_call_and_the_session_lives(connect, site):
    @site.tool
    def cut(h, m):
        h.body(text_of(m, "x")[:20], length=5000)
        h.close_connection = True

    @site.tool
    def bomb(h, m):
        h.body(gzip.compress(text_of(m, "a" * 60_000_000)), Content_Encoding="gzip")

    @site.tool
    def twice(h, m):
        h.body(gzip.compress(gzip.compress(b"x" * 1000)), Content_Encoding="gzip, gzip")

    @site.tool
    def packed(h, m):
        h.body(gzip.compress(text_of(m, "packed but small")), Content_Encoding="gzip")

    @site.tool
    def foreign(h, m):
        other = {"jsonrpc": "2.0", "id": 4711, "result": {"content": [{"type": "text", "text": "WRONG"}]}}
        h.events(other, json.loads(text_of(m, "right")))

    @site.tool
    def only_foreign(h, m):
        h.events({"jsonrpc": "2.0", "id": 4711, "result": {"content": [{"type": "text", "text": "WRONG"}]}})

    @site.tool
    def latin(h, m):
        h.body(text_of(m, "caf?").replace(b"?", b"\xe9"))

    @site.tool
    def away(h, m):
        h.body(b"", status=302, Location="http://192.0.2.1/elsewhere")

    client = connect({"site": {"url": site.url, "headers": {"X-Team": "bees"}, "callTimeout": 20}})
    wanted = {
        "cut": "peer closed connection", "bomb": "longer than 16,000,000 bytes", "twice": "packed as gzip, gzip",
        "only_foreign": "ended without a response", "away": "192.0.2.1",
    }  # fmt: skip
    for name, said in wanted.items():
        bad, good = await client.calls((f"mcp__site__{name}", {}), ("mcp__site__ok", {}))
        assert bad.is_error and said in bad.text and "WRONG" not in bad.text, (name, bad.text)
        assert good.text == "fine"
    read = await client.calls(*[(f"mcp__site__{n}", {}) for n in ("packed", "foreign", "latin")])
    assert tuple(result.text for result in read) == ("packed but small", "right", "caf\N{REPLACEMENT CHARACTER}")
    assert all(headers["X-Team"] == "bees" for _, headers in site.asked)
    assert [method for method, _ in site.asked].count("initialize") == 1
    await client.host.aclose()


async def test_a_server_that_forgot_the_session_is_asked_again_in_a_new_one(connect, site):
    seen = []

    @site.tool
    def once(h, m):
        seen.append(h.headers["Mcp-Session-Id"])
        if len(seen) == 1:
            h.body(b"gone", "text/plain", 404)
        else:
            h.result(m, "there")

    client = connect({"site": {"url": site.url}})
    result = await client.call("mcp__site__once")
    assert result.text == "there" and len(set(seen)) == 2
    await client.host.aclose()


async def test_a_server_that_nobody_reaches_is_said_with_its_address(connect):
    client = connect({"site": {"url": "http://127.0.0.1:9/mcp"}})
    assert await client.tools() == {}
    assert any("127.0.0.1:9 cannot be reached" in str(problem) for problem in client.host.problems)
    await client.host.aclose()
