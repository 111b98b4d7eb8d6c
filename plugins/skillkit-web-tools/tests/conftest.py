"""A small site on loopback, and an agent that calls the web tools."""

import asyncio
import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import skillkit_web_tools.plugin

from skillkit_core import AgentRunner
from skillkit_core.testing import Call, Reply, ScriptedModel


class Site:
    """Answers by path; remembers what was asked.

    Attributes:
        pages: path to ``(status, headers, body)``, or a function of the request that gives it.
        asked: (method, path with query, headers, body) of each request.
    """

    def __init__(self):
        self.pages, self.asked = {}, []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                site.asked.append((self.command, self.path, dict(self.headers), body))
                found = site.pages.get(urlsplit(self.path).path, (404, {}, b"not here"))
                status, headers, data = found(parse_qs(urlsplit(self.path).query), body) if callable(found) else found
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    pass  # the client had enough

            do_POST = do_GET

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, path, body, media_type="text/html; charset=utf-8", status=200, **headers):
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"Content-Type": media_type, **headers}, data)

    def api(self, path, answer):
        """Answer with JSON what ``answer(query, body)`` gives."""
        self.pages[path] = lambda query, body: (
            200, {"Content-Type": "application/json"}, json.dumps(answer(query, json.loads(body or b"null"))).encode()
        )  # fmt: skip

    def zipped(self, path, body):
        self.page(path, gzip.compress(body), "text/plain", **{"Content-Encoding": "gzip"})


@pytest.fixture
def site():
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def call(make_host):
    """``call("web_fetch", url=...)`` gives the result's text and whether it is an error; several calls share an agent."""
    hosts = {}

    def calls(*wanted, settings=None, plugins=()):
        async def main():
            host = make_host(("web-tools", skillkit_web_tools.plugin), *plugins, settings=settings or {})
            host.configure({"tools.allow": ["web_fetch", "web_search"]})
            hosts[id(host)] = host
            async with AgentRunner(host=host) as agent:
                agent.set_adapter(ScriptedModel([*(Reply(calls=[Call(n, a)]) for n, a in wanted), "done"]))
                await agent.chat("go")
                results = [m for m in agent.messages if m.role == "tool_result"]
            await host.aclose()
            return [(m.text, m.is_error) for m in results]

        return asyncio.run(main())

    def one(name, /, settings=None, **args):
        return calls((name, args), settings={"web.private_hosts": ["127.0.0.1", "localhost"], **(settings or {})})[0]

    one.several = calls
    return one
