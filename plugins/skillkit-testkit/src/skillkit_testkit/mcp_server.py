"""A scripted MCP server: real wires (streamable HTTP on loopback, stdio through a small process), tools as functions of the test.

The functions run in the test's process, each call in a thread of its own, so that a test sees what came, holds a call back, and
goes on when something has happened.
"""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from .loopback import Asked, Loopback, json_answer, send
from .oauth_server import OAuthServer
from .turns import Raw

__all__ = ["MCPAnswer", "MCPCall", "MCPServer"]

MCPAnswer: TypeAlias = "str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Raw | Exception"
_OBJECT = {"type": "object", "properties": {}}
_ANSWER_SECONDS = 60.0


class _Line:
    """Where the messages of the server go: the pipe of a client, or the events of an answer over HTTP."""

    def __init__(self, write: Callable[[Mapping[str, Any] | Raw], None]) -> None:
        self.write = write
        self.ended = False


@dataclass(frozen=True)
class MCPCall:
    """A call of a tool.

    Attributes:
        name: the tool.
        arguments: as the client sent them.
        message: the whole message.
        headers: of the request, by name in lower case; empty over stdio.
    """

    name: str
    arguments: Mapping[str, Any]
    message: Mapping[str, Any]
    headers: Mapping[str, str]
    _server: MCPServer = field(repr=False)
    _line: _Line = field(repr=False)

    def reply(self, text: str) -> dict[str, Any]:
        """Return the message that answers the call with a text."""
        result = {"content": [{"type": "text", "text": text}]}
        return {"jsonrpc": "2.0", "id": self.message["id"], "result": result}

    def failed(self, text: str) -> dict[str, Any]:
        """Return the result of a tool that failed."""
        return {"content": [{"type": "text", "text": text}], "isError": True}

    def send(self, method: str, **params: Any) -> None:
        """Send a notification before the answer."""
        self._line.write({"jsonrpc": "2.0", "method": method, "params": params})

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the call is, if the client wants to know."""
        token = self.message["params"].get("_meta", {}).get("progressToken")
        if token is not None:
            more = {"total": total, "message": message}
            self.send(
                "notifications/progress",
                progressToken=token,
                progress=done,
                **{k: v for k, v in more.items() if v is not None},
            )

    def ask(self, text: str, schema: Mapping[str, Any]) -> Any:
        """Ask the person at the client (elicitation), and return the result: ``{"action": "accept", "content": {...}}``."""
        return self._server._asks(self._line, "elicitation/create", {"message": text, "requestedSchema": schema})


class MCPServer(Loopback):
    """An MCP server, running while its ``with`` block runs. It has one tool, ``ok``, which says ``fine``, until it gets others.

    Args:
        oauth: tokens of this server are required.

    Attributes:
        url: its address over HTTP.
        tools, resources, prompts: what it lists, by name or address.
        received: every message of a client, in order.
        capabilities: what it says that it has; by default what it has.
    """

    def __init__(self, *, oauth: OAuthServer | None = None) -> None:
        super().__init__()
        self.url = f"{self.base}/mcp"
        self.oauth = oauth
        self.tools: dict[str, dict[str, Any]] = {}
        self.resources: dict[str, str] = {}
        self.prompts: dict[str, dict[str, Any]] = {}
        self.received: list[Mapping[str, Any]] = []
        self.capabilities: dict[str, Any] = {}
        self._functions: dict[str, Callable[[MCPCall], MCPAnswer]] = {}
        self._texts: dict[str, Callable[[Mapping[str, str]], str]] = {}
        self._waiting: dict[str, queue.Queue[Any]] = {}
        self._lines: list[_Line] = []
        self._folder = Path(tempfile.mkdtemp(prefix="skillkit-mcp-"))
        self._socket: socket.socket | None = None

    # --- what it has ---------------------------------------------------------------------------------------------------

    def tool(
        self, function: Callable[[MCPCall], MCPAnswer], name: str | None = None, **fields: Any
    ) -> Callable[[MCPCall], MCPAnswer]:
        """Offer a tool: a function of the call, also as a decorator. ``fields`` go into its entry in the list.

        The function returns a text, a result, a list of messages, the bytes of the answer (``Raw``), or an exception, which
        becomes an error of the protocol. One whose name is there already is replaced.
        """
        name = name or function.__name__
        about = {"name": name, "description": (function.__doc__ or "A tool.").strip(), "inputSchema": _OBJECT}
        self.tools[name] = {**about, **fields}
        self._functions[name] = function
        return function

    def prompt(self, name: str, text: Callable[[Mapping[str, str]], str], **fields: Any) -> None:
        """Offer a prompt: a function of its arguments gives the text."""
        self.prompts[name] = {"name": name, **fields}
        self._texts[name] = text

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification to every client at a pipe, as ``notifications/tools/list_changed``."""
        for line in self._lines:
            line.write({"jsonrpc": "2.0", "method": method, "params": params})

    def methods(self) -> list[str]:
        """Return the methods of the messages that came."""
        return [message["method"] for message in self.received if "method" in message]

    # --- the wires -----------------------------------------------------------------------------------------------------

    def stdio(self) -> dict[str, Any]:
        """Return ``{"command": ..., "args": [...]}`` of a process that is this server for whoever starts it."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(str(self._folder / "socket"))
            self._socket.listen()
            threading.Thread(target=self._accept, args=(self._socket,), daemon=True).start()
        relay = Path(__file__).with_name("mcp_relay.py")
        return {"command": sys.executable, "args": ["-I", "-S", str(relay), str(self._folder / "socket")]}

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the server ends
            while True:
                client, _ = listening.accept()
                threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        """Answer the lines of one client at a pipe."""
        lock = threading.Lock()

        def write(message: Mapping[str, Any] | Raw) -> None:
            data = message.body if isinstance(message, Raw) else json.dumps(message).encode() + b"\n"
            with lock, contextlib.suppress(OSError):
                client.sendall(data)

        line = _Line(write)
        self._lines.append(line)
        with client, client.makefile("rb") as lines, contextlib.suppress(OSError):
            for text in lines:
                message = json.loads(text)
                threading.Thread(target=self._message, args=(message, line, {}), daemon=True).start()
        self._lines.remove(line)

    def answer(self, asked: Asked, handler: BaseHTTPRequestHandler) -> Raw | None:
        """Answer a request over HTTP."""
        if "/.well-known/oauth-protected-resource" in asked.path and self.oauth is not None:
            return json_answer({"resource": self.url, "authorization_servers": [self.oauth.base]})
        if asked.path != "/mcp":
            return Raw(b"", 404)
        if self.oauth is not None and asked.bearer not in self.oauth.valid:
            where = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
            return Raw(b"", 401, headers={"WWW-Authenticate": where})
        if asked.method != "POST":
            return Raw(b"", 200 if asked.method == "DELETE" else 405, "text/plain")
        message = json.loads(asked.body)
        if "id" not in message or "method" not in message:
            self._message(message, _Line(lambda _: None), asked.headers)
            return Raw(b"", 202, "text/plain")
        self._message(message, _Line(_Events(handler, message)), asked.headers)
        return None

    # --- the protocol --------------------------------------------------------------------------------------------------

    def _message(self, message: Mapping[str, Any], line: _Line, headers: Mapping[str, str]) -> None:
        self.received.append(message)
        if "method" not in message:
            if (waiting := self._waiting.pop(str(message.get("id")), None)) is not None:
                waiting.put(message.get("result", message.get("error")))
        elif "id" in message:
            try:
                answer = self._answered(message, line, headers)
            except OSError:
                return  # the client is gone
            except Exception as error:  # noqa: BLE001 - a function of the test failed; the test is told at its end
                self.problems.append(f"{message['method']}: {type(error).__name__}: {error}")
                answer = error
            for one in _messages(message, answer):
                line.write(one)

    def _answered(self, message: Mapping[str, Any], line: _Line, headers: Mapping[str, str]) -> MCPAnswer:
        params: Mapping[str, Any] = message.get("params") or {}
        match message["method"]:
            case "initialize":
                had = {"tools": True, "resources": self.resources, "prompts": self.prompts}
                has = {name: {"listChanged": True} for name, there in had.items() if there}
                info = {"serverInfo": {"name": "testkit", "version": "1"}, "capabilities": {**has, **self.capabilities}}
                return {"protocolVersion": "2025-06-18", **info}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": list(self.tools.values()) or [{"name": "ok", "inputSchema": _OBJECT}]}
            case "tools/call":
                function = self._functions.get(params["name"])
                if function is None:
                    return "fine" if not self.tools else LookupError(f"there is no tool {params['name']!r}")
                return function(MCPCall(params["name"], params.get("arguments") or {}, message, headers, self, line))
            case "resources/list" if self.resources:
                return {"resources": [{"uri": uri, "name": uri} for uri in self.resources]}
            case "resources/read" if params.get("uri") in self.resources:
                return {"contents": [{"uri": params["uri"], "text": self.resources[params["uri"]]}]}
            case "prompts/list" if self.prompts:
                return {"prompts": list(self.prompts.values())}
            case "prompts/get" if params.get("name") in self.prompts:
                text = self._texts[params["name"]](params.get("arguments") or {})
                return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        return LookupError("no such method")

    def _asks(self, line: _Line, method: str, params: Mapping[str, Any]) -> Any:
        number = f"asked-{uuid.uuid4().hex}"
        waiting = self._waiting[number] = queue.Queue()
        line.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return waiting.get(timeout=_ANSWER_SECONDS)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._socket is not None:
            self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _messages(message: Mapping[str, Any], answer: MCPAnswer) -> Sequence[Mapping[str, Any] | Raw]:
    """Return the messages that an answer becomes."""
    head = {"jsonrpc": "2.0", "id": message["id"]}
    if isinstance(answer, Exception):
        return [
            {**head, "error": {"code": -32601 if isinstance(answer, LookupError) else -32603, "message": str(answer)}}
        ]
    if isinstance(answer, str):
        answer = {"content": [{"type": "text", "text": answer}]}
    if isinstance(answer, Mapping):
        return [{**head, "result": answer}]
    return [answer] if isinstance(answer, Raw) else answer


class _Events:
    """The answer to one request over HTTP: JSON where it is one message, else events, until the answer was sent."""

    def __init__(self, handler: BaseHTTPRequestHandler, message: Mapping[str, Any]) -> None:
        self._handler = handler
        self._message = message
        self._begun = False

    def __call__(self, message: Mapping[str, Any] | Raw) -> None:
        handler = self._handler
        if isinstance(message, Raw):
            send(handler, message)
            return
        if not self._begun and message.get("id") == self._message["id"]:
            more = {"Mcp-Session-Id": uuid.uuid4().hex} if self._message["method"] == "initialize" else {}
            send(handler, Raw(json.dumps(message).encode(), headers=more))
            return
        if not self._begun:
            self._begun = True
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.close_connection = True
        handler.wfile.write(f"data: {json.dumps(message)}\r\n\r\n".encode())
        handler.wfile.flush()
