"""What stands between a server and the SDK: every message of a server is read, put right or left out here.

The SDK's client ends a call, a listing or the whole connection for some things that servers do daily: bytes that are no UTF-8,
half surrogates, one bad tool in a list, an answer with another id. The filter sees each message first, for both transports.
"""

from __future__ import annotations

import json
import re
from binascii import Error as Base64Error, a2b_base64
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any, TypeAlias

from .schemas import offered_schema
from .text import plain, shortened

__all__ = ["MessageFilter"]

MessageId: TypeAlias = int | str
_SURROGATE = re.compile(rb"\\u[dD][89abAB]")
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')
_MAX_DEPTH = 100
_MAX_NODES = 500_000
_MAX_PARTS = 1_000
_MAX_TEXT = 1_000_000
_MOMENT = 0.05
_CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}
_PASSED = frozenset(
    {
        "notifications/cancelled", "notifications/elicitation/complete", "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
    }
)  # fmt: skip
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class Malformed(ValueError):
    """A result that cannot be used; the text says why."""


class MessageFilter:
    """Reads the messages of one connection.

    Args:
        max_message: bytes of one message.
        on_change: called with ``tools``, ``prompts`` or ``resources`` when the server says that its list changed.

    Attributes:
        log: the last lines that the server logged or wrote where messages belong.
        noise: how many lines were no messages.
        left_out: what was left out of the newest list of tools, and why, by tool.
        unchecked: keywords of the tools' schemas that nobody checks, by tool.
    """

    def __init__(self, max_message: int, on_change: Callable[[str], None]) -> None:
        self.max_message = max_message
        self.log: deque[str] = deque(maxlen=20)
        self.noise = 0
        self.left_out: dict[str, str] = {}
        self.unchecked: dict[str, tuple[str, ...]] = {}
        self._on_change = on_change
        self._pending: dict[MessageId, str] = {}
        self._told: dict[MessageId, float] = {}

    def sent(self, message: Mapping[str, Any]) -> None:
        """Take note of a message to the server, so that its answer is known."""
        method, number = message.get("method"), message.get("id")
        if method == "notifications/cancelled":
            self._forget((message.get("params") or {}).get("requestId"))
        elif isinstance(method, str) and number is not None:
            self._pending[number] = method

    def _forget(self, number: Any) -> None:
        if isinstance(number, (int, str)):
            self._pending.pop(number, None)
            self._told.pop(number, None)

    def read(self, data: bytes, only: frozenset[MessageId] | None = None) -> list[dict[str, Any]]:
        """Return the messages in a line or a body, put right.

        Args:
            only: requests whose answers may come here; default: all.
        """
        data = data.strip()
        if not data:
            return []
        if data[:1] not in (b"{", b"[") or len(data) > self.max_message:
            return self.broken(data) if len(data) > self.max_message else self._no_message(data)
        try:
            found = json.loads(data.decode("utf-8", "replace"), parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            return self.broken(data, only)
        if data.count(b"{") + data.count(b"[") > _MAX_DEPTH and not _is_shallow(found):
            return self.broken(data, only, "is nested too deeply or has too many parts")
        if _SURROGATE.search(data):
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
        messages = found[:_MAX_PARTS] if isinstance(found, list) else [found]
        return [right for one in messages for right in self._message(one, only)]

    def broken(
        self, data: bytes, only: frozenset[MessageId] | None = None, problem: str | None = None
    ) -> list[dict[str, Any]]:
        """Return an error for the request that a message seems to answer, though the message cannot be read."""
        for match in _ID.finditer(data[:400] + b"\n" + data[-400:]):
            number: MessageId = json.loads(match[1])
            if (number := self._known(number)) in self._pending and (only is None or number in only):
                self._forget(number)
                if problem is None:
                    long = len(data) > self.max_message
                    problem = f"is longer than {self.max_message:,} bytes" if long else "is not JSON"
                return [_error(number, f"the answer {problem}")]
        return self._no_message(data)

    def _no_message(self, data: bytes) -> list[dict[str, Any]]:
        self.noise += 1
        if self.noise <= 1000:
            self.log.append(shortened(data[:400].decode("utf-8", "replace"), 200))
        return []

    def _known(self, number: Any) -> Any:
        """Return the id of the request that an answer's id means: some servers turn numbers into texts."""
        if isinstance(number, str) and number not in self._pending and number.isdecimal() and len(number) < 18:
            return int(number)
        return number

    def _message(self, found: Any, only: frozenset[MessageId] | None) -> Iterator[dict[str, Any]]:
        if not isinstance(found, dict):
            self.noise += 1
            return
        number, method = found.get("id"), found.get("method")
        if isinstance(number, bool) or not isinstance(number, (int, str)):
            number = None
        if isinstance(method, str):
            params = found.get("params")
            params = params if isinstance(params, dict) else {}
            if number is not None:
                yield {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            elif (passed := self._notification(method, params)) is not None:
                yield passed
        elif number is not None:
            number = self._known(number)
            if number in self._pending and (only is None or number in only):
                yield self._answer(number, self._pending[number], found)
                self._forget(number)

    def _notification(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return the notification for the SDK, or ``None``."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if method == "notifications/progress":
            token = self._known(params.get("progressToken"))
            now = monotonic()
            if not isinstance(token, (int, str)) or token not in self._pending:
                return None
            if now - self._told.get(token, 0.0) < _MOMENT:
                return None
            self._told[token] = now
            return {**message, "params": {**params, "progressToken": token}}
        if method == "notifications/message":
            data = params.get("data")
            self.log.append(shortened(data if isinstance(data, str) else json.dumps(data)[:400], 200))
            return None
        if method in _CHANGES:
            self._on_change(_CHANGES[method])
            meta = params.get("_meta")
            return message if isinstance(meta, dict) and _SUBSCRIPTION in meta else None
        return message if method in _PASSED else None

    def _answer(self, number: MessageId, method: str, found: dict[str, Any]) -> dict[str, Any]:
        error, result = found.get("error"), found.get("result")
        if ("result" in found) == (error is not None):
            return _error(number, f"the answer has {'both' if error is not None else 'neither'} a result and an error")
        if error is not None:
            error = error if isinstance(error, dict) else {"message": error}
            code, text, data = error.get("code"), error.get("message"), error.get("data")
            code = code if isinstance(code, int) and not isinstance(code, bool) else -32603
            text = shortened(text, 2000) if isinstance(text, str) and text else f"error {error.get('code', '')}".strip()
            return _error(number, text, code, data if isinstance(data, (dict, str)) else None)
        if not isinstance(result, dict):
            return _error(number, "the result is no object")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self._result(method, result)}
        except Malformed as problem:
            return _error(number, str(problem))

    def _result(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/call":
            return _call_result(result)
        kept: dict[str, Any] = {
            key: result[key] for key in ("nextCursor", "resultType", "ttlMs", "cacheScope") if key in result
        }
        if not isinstance(kept.get("nextCursor", ""), str):
            del kept["nextCursor"]
        if method == "tools/list":
            return {**kept, "tools": list(self._tools(result.get("tools")))}
        if method == "prompts/list":
            return {**kept, "prompts": list(_prompts(result.get("prompts")))}
        if method == "resources/list":
            return {**kept, "resources": list(_resources(result.get("resources"), "uri"))}
        if method == "resources/templates/list":
            return {**kept, "resourceTemplates": list(_resources(result.get("resourceTemplates"), "uriTemplate"))}
        return result

    def _tools(self, given: Any) -> Iterator[dict[str, Any]]:
        if not isinstance(given, list):
            raise Malformed("the list of tools is no list")
        for n, one in enumerate(given):
            name = one.get("name") if isinstance(one, dict) else None
            if not isinstance(name, str) or not name.strip() or len(name) > 1000:
                self.left_out[f"tool {n + 1} of the list"] = "it has no name"
                continue
            try:
                schema, unchecked = offered_schema(one.get("inputSchema"))
            except ValueError as problem:
                self.left_out[shortened(name, 100)] = str(problem)
                continue
            if unchecked:
                self.unchecked[name] = unchecked
            about, title = one.get("description"), one.get("title")
            hints = one.get("annotations")
            hints = hints if isinstance(hints, dict) else {}
            tool: dict[str, Any] = {"name": name, "inputSchema": schema}
            tool["description"] = shortened(about, 8000) if isinstance(about, str) else ""
            if isinstance(title, str):
                tool["title"] = shortened(title, 200)
            tool["annotations"] = {k: v for k, v in hints.items() if k.endswith("Hint") and isinstance(v, bool)}
            yield tool


def _is_shallow(found: Any) -> bool:
    """Return whether a JSON value is nested at most :data:`_MAX_DEPTH` deep and has at most :data:`_MAX_NODES` parts."""
    level, nodes = [found], 0
    for _ in range(_MAX_DEPTH):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        nodes += len(inner)
        if not inner:
            return True
        if nodes > _MAX_NODES:
            return False
        level = inner
    return False


def _error(number: MessageId, text: str, code: int = -32603, data: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": text} if data is None else {"code": code, "message": text, "data": data}
    return {"jsonrpc": "2.0", "id": number, "error": error}


def _call_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call with parts that the SDK takes and a model can read."""
    if result.get("resultType") == "input_required":
        return result
    content, structured = result.get("content"), result.get("structuredContent")
    if not isinstance(content, list):
        if not isinstance(structured, dict):
            raise Malformed("the result has no content")
        content = []
    room, parts = _MAX_TEXT, []
    for part in content[:_MAX_PARTS]:
        right = _part(part, room)
        if right["type"] == "text":
            room -= len(right["text"])
        parts.append(right)
        if room <= 0:
            break
    if len(parts) < len(content):
        parts.append(_text(f"[{len(content) - len(parts)} further parts of the result were left out]"))
    kept: dict[str, Any] = {"content": parts, "isError": bool(result.get("isError"))}
    if isinstance(structured, dict):
        kept["structuredContent"] = structured
    if isinstance(result.get("resultType"), str):
        kept["resultType"] = result["resultType"]
    return kept


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _part(part: Any, room: int) -> dict[str, Any]:
    """Return a part of a result. What cannot be shown becomes a text that says so."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), (str, int, float)):
        text = str(part["text"])
        cut = f"\n[{len(text) - room} characters left out]" if len(text) > room else ""
        return _text(plain(text[:room]) + cut)
    if kind in ("image", "audio"):
        data, media_type = part.get("data"), part.get("mimeType")
        if isinstance(data, str) and isinstance(media_type, str) and _is_base64(data):
            if kind == "image" and media_type in _IMAGES:
                return {"type": "image", "data": data, "mimeType": media_type}
            return _text(f"[{kind} of type {shortened(media_type, 60)}, {len(data) * 3 // 4:,} bytes, not shown]")
        return _text(f"[an {kind} that cannot be decoded]")
    if kind == "resource" and isinstance(inner := part.get("resource"), dict):
        uri, held = shortened(str(inner.get("uri", "")), 500), inner.get("text")
        if isinstance(held, str):
            return _text(f"[resource {uri}]\n{plain(held[:room])}")
        return _text(f"[resource {uri}, {len(str(inner.get('blob') or '')) * 3 // 4:,} bytes, not shown]")
    if kind == "resource_link":
        about = ": ".join(shortened(str(part[key]), 500) for key in ("name", "description") if part.get(key))
        return _text(f"[resource {shortened(str(part.get('uri', '')), 500)}] {about}".strip())
    return _text(f"[a part of kind {shortened(repr(kind), 60)}, which cannot be shown]")


def _is_base64(data: str) -> bool:
    try:
        return bool(a2b_base64(data, strict_mode=True))
    except (Base64Error, ValueError):
        return False


def _prompts(given: Any) -> Iterator[dict[str, Any]]:
    for one in given if isinstance(given, list) else ():
        if not isinstance(one, dict) or not isinstance(one.get("name"), str) or not one["name"]:
            continue
        arguments = one.get("arguments")
        yield {
            "name": one["name"],
            "description": shortened(one["description"], 500) if isinstance(one.get("description"), str) else "",
            "arguments": [
                {
                    "name": a["name"],
                    "description": shortened(a["description"], 500) if isinstance(a.get("description"), str) else "",
                    "required": a.get("required") is True,
                }
                for a in (arguments if isinstance(arguments, list) else ())
                if isinstance(a, dict) and isinstance(a.get("name"), str)
            ],
        }


def _resources(given: Any, key: str) -> Iterator[dict[str, Any]]:
    for one in given if isinstance(given, list) else ():
        if isinstance(one, dict) and isinstance(one.get(key), str):
            texts = {
                k: shortened(one[k], 500) for k in ("title", "description", "mimeType") if isinstance(one.get(k), str)
            }
            name = one.get("name")
            yield {**texts, key: one[key], "name": shortened(name, 200) if isinstance(name, str) else one[key]}
