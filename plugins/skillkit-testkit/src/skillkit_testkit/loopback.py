"""A small HTTP server on loopback, each request in a thread of its own: what the servers for MCP and OAuth stand on."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from .turns import Raw

__all__ = ["Asked", "Loopback", "json_answer", "send"]


@dataclass(frozen=True)
class Asked:
    """One request.

    Attributes:
        method: ``GET``, ``POST``, ...
        path: without the query.
        query: the first value of each parameter.
        headers: by name in lower case.
        body: as it was sent.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def form(self) -> dict[str, str]:
        """The first value of each field of a form."""
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}

    @property
    def bearer(self) -> str:
        """The token that came with the request; empty: none."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")


def json_answer(data: Any, status: int = 200, **headers: str) -> Raw:
    """Return JSON as an answer; ``_`` in the name of a header stands for ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Raw(json.dumps(data).encode(), status, headers=named)


class Loopback:
    """Listens on 127.0.0.1 while its ``with`` block runs, and answers what :meth:`answer` says.

    Attributes:
        base: ``http://127.0.0.1:PORT``.
        asked: every request.
        problems: what the server met that no client may send, or that failed in the test's own functions.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.problems: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, asked: Asked, handler: BaseHTTPRequestHandler) -> Raw | None:
        """Override: return the answer, or write it to ``handler`` and return ``None``."""
        raise NotImplementedError

    def check(self) -> None:
        """Fail with what the server met that no client may send.

        Raises:
            AssertionError: there is something.
        """
        assert not self.problems, "\n".join(self.problems)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(site: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, parts.path, query, headers, body)
            site.asked.append(asked)
            with contextlib.suppress(OSError):  # the client had enough
                try:
                    answer = site.answer(asked, self)
                except Exception as error:  # noqa: BLE001 - the test is told at its end
                    site.problems.append(f"{asked.method} {asked.path}: {type(error).__name__}: {error}")
                    answer = Raw(b"", 500)
                if answer is not None:
                    send(self, answer)

        do_POST = do_DELETE = do_GET

    return Handler


def send(handler: BaseHTTPRequestHandler, answer: Raw) -> None:
    """Send an answer as it is; a ``Content-Length`` of its own is believed, and the connection ends after the body."""
    length = str(len(answer.body))
    headers = {"Content-Type": answer.content_type, "Content-Length": length, **answer.headers}
    handler.send_response(answer.status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer.body)
    if headers["Content-Length"] != length:
        handler.close_connection = True
