"""An agent elsewhere in plain HTTP, written from the specification of A2A 1.0 alone: no SDK takes part."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from skillkit_testkit.loopback import Asked, Loopback, json_answer
from skillkit_testkit.turns import Raw

PNG = bytes(range(256))
ERROR = {"jsonrpc": "2.0", "id": 1}


class RawPeer(Loopback):
    """Does what the first word of a task says: ``ask``, ``choose``, ``twice``, ``work``, ``fail``, ...; else it echoes the text.

    Attributes:
        tasks: the tasks, by id.
        messages: each message that came, in order.
        canceled: ids of tasks that were canceled.
        go: set: tasks that work come to their end.
        says: what it does with every task, whatever its first word is; a text of more words is what it makes.
    """

    def __init__(self, *, streaming: bool = True, key: tuple[str, str] | None = None, cuts: bool = False) -> None:
        super().__init__()
        self.streaming, self.key, self.cuts = streaming, key, cuts
        self.tasks: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []
        self.canceled: list[str] = []
        self.go = threading.Event()
        self.says = ""
        self.interface = self.base
        self.card_pages: dict[str, Raw] = {}

    # --- the wire -----------------------------------------------------------------------------------------------------

    def card(self) -> dict[str, Any]:
        scheme = None
        if self.key is not None:
            name = self.key[0]
            own = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
            scheme = own if name == "Authorization" else {"apiKeySecurityScheme": {"location": "header", "name": name}}
        return {
            "name": "raw", "description": "Echoes.", "version": "1", "capabilities": {"streaming": self.streaming},
            "supportedInterfaces": [
                {"url": self.interface, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            ],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "echo", "name": "Echo", "description": "Echoes.", "tags": ["echo"]}],
            **({"securitySchemes": {"own": scheme}, "securityRequirements": [{"schemes": {"own": {}}}]} if scheme else {}),
        }  # fmt: skip

    def answer(self, asked: Asked, handler: BaseHTTPRequestHandler) -> Raw | None:
        if asked.method == "GET":
            usual = json_answer(self.card()) if asked.path == "/.well-known/agent-card.json" else Raw(b"no", 404)
            return self.card_pages.get(asked.path, usual)
        if self.key is not None and asked.headers.get(self.key[0].lower()) != self.key[1]:
            return Raw(b"", 401, headers={"WWW-Authenticate": "Bearer"})
        body = json.loads(asked.body)
        method, params = body["method"], body["params"]
        if method == "CancelTask":
            self.canceled.append(params["id"])
            self._state(self.tasks[params["id"]], "CANCELED")
        if method in ("GetTask", "CancelTask"):
            if (task := self.tasks.get(params["id"])) is None:
                error = {"code": -32001, "message": "Task not found"}
                return json_answer({"jsonrpc": "2.0", "id": body["id"], "error": error})
            if task.get("waits") and self.go.is_set():
                self._made(task, "worked")
            return json_answer({"jsonrpc": "2.0", "id": body["id"], "result": self._shown(task)})
        self.messages.append(params["message"])
        events = self._work(params["message"])
        if events and "code" in events[0]:
            return json_answer({"jsonrpc": "2.0", "id": body["id"], "error": events[0]})
        if method == "SendMessage":
            last = self._shown(self.tasks[self._last]) if "task" in events[0] else None
            return json_answer({"jsonrpc": "2.0", "id": body["id"], "result": {"task": last} if last else events[0]})
        self._stream(handler, body["id"], events)
        return None

    def _stream(self, handler: BaseHTTPRequestHandler, number: Any, events: list[dict[str, Any]]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for event in events:
            text = json.dumps({"jsonrpc": "2.0", "id": number, "result": event})
            handler.wfile.write(f"data: {text}\r\n\r\n".encode())
            handler.wfile.flush()
        handler.close_connection = True

    # --- the work -----------------------------------------------------------------------------------------------------

    def _work(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream."""
        text = " ".join(part.get("text", "") for part in message["parts"]).strip()
        if known := message.get("taskId"):
            return self._answered(self.tasks[known], text)
        word, _, rest = text.partition(" ")
        word = self.says or word
        if word == "plain":
            return [{"message": {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": f"plainly {rest}"}]}}]
        if word in ("ring", "depth"):
            info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "metadata": {"skillkit.error": word}}
            return [{"code": -32004, "message": f"a {word}", "data": [info]}]
        task: dict[str, Any] = {"id": f"t{len(self.tasks) + 1}", "contextId": "c1", "artifacts": [], "asked": 0}
        self.tasks[task["id"]], self._last = task, task["id"]
        self._state(task, "WORKING")
        first = {"task": json.loads(json.dumps(self._shown(task)))}
        if word in ("ask", "choose", "twice", "form", "secret"):
            self._ask(task, word)
        elif word == "work":
            task["waits"] = True
            return [first]
        elif word == "fail":
            self._state(task, "FAILED", "the sources were closed")
        elif word == "large":
            task["artifacts"] = [{"artifactId": "a1", "parts": [{"text": "x" * 3_000}]}]
            self._state(task, "COMPLETED")
        elif word == "files":
            raw = base64.b64encode(PNG).decode()
            parts = [{"raw": raw, "filename": "../../map.png", "mediaType": "image/png"}, {"data": {"rows": [1, 2]}}]
            task["artifacts"] = [{"artifactId": "a1", "name": "map", "parts": parts}]
            self._state(task, "COMPLETED")
        else:
            return self._echoed(task, first, self.says or f"echo: {text}")
        return [first, *self._end(task)]

    def _echoed(self, task: dict[str, Any], first: dict[str, Any], text: str) -> list[dict[str, Any]]:
        pieces = [text[:6], text[6:]]
        told = [
            {
                "artifactUpdate": {
                    "taskId": task["id"],
                    "contextId": "c1",
                    "append": place > 0,
                    "artifact": {"artifactId": "a1", "parts": [{"text": piece}]},
                }
            }
            for place, piece in enumerate(pieces)
        ]
        self._made(task, "".join(pieces))
        return [first, *told[:1]] if self.cuts else [first, *told, *self._end(task)]

    def _ask(self, task: dict[str, Any], word: str) -> None:
        task["asked"] += 1
        task["word"] = word
        parts: list[dict[str, Any]] = [{"text": f"Question {task['asked']}?"}]
        if word == "choose":
            parts.append({"data": {"question": "q7", "options": ["allow", "deny"]}})
        if word == "form":
            fields = {"city": {"type": "string", "title": "Where"}, "sure": {"type": "boolean"}}
            parts.append({"data": {"schema": {"type": "object", "properties": fields, "required": ["city"]}}})
        if word == "secret":
            survey = {"title": "Log in", "questions": [{"id": "password", "text": "Password?", "kind": "secret"}]}
            parts.append({"data": {"survey": survey}})
        self._state(task, "INPUT_REQUIRED", parts=parts)

    def _answered(self, task: dict[str, Any], text: str) -> list[dict[str, Any]]:
        before = {"task": json.loads(json.dumps(self._shown(task)))}  # a peer may show the question again, first
        task.setdefault("answers", []).append(text)
        if task["word"] == "twice" and task["asked"] == 1:
            self._ask(task, "twice")
        else:
            self._made(task, f"answered: {', '.join(task['answers'])}")
        return [before, *self._end(task)]

    def _end(self, task: dict[str, Any]) -> list[dict[str, Any]]:
        told = [
            {"artifactUpdate": {"taskId": task["id"], "contextId": "c1", "artifact": artifact}}
            for artifact in task["artifacts"]
        ]
        return [*told, {"statusUpdate": {"taskId": task["id"], "contextId": "c1", "status": task["status"]}}]

    def _made(self, task: dict[str, Any], text: str) -> None:
        task["artifacts"] = [{"artifactId": "a1", "name": "answer", "parts": [{"text": text}]}]
        task["waits"] = False
        self._state(task, "COMPLETED")

    @staticmethod
    def _state(task: dict[str, Any], state: str, text: str = "", parts: Any = None) -> None:
        task["status"] = {
            "state": f"TASK_STATE_{state}",
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        if text or parts:
            name = f"{task['id']}-{task['asked']}-{state}"
            said = {"messageId": name, "role": "ROLE_AGENT", "parts": parts or [{"text": text}]}
            task["status"]["message"] = said

    @staticmethod
    def _shown(task: dict[str, Any]) -> dict[str, Any]:
        return {name: task[name] for name in ("id", "contextId", "status", "artifacts")}
