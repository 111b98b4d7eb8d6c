"""What the wires share in writing: the parts of an answer, the events of a stream, and errors."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..decoder import RequestDecoder
from ..turns import Call, Fail, Reply

__all__ = ["CREATED", "Answer", "Wire", "WireEvent", "line", "openai_error", "sse"]

CREATED = 1_750_000_000  # fixed, so that the same script gives the same bytes


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One event of a stream as it is sent; ``delta`` marks a piece of content (text, thinking, arguments)."""

    data: bytes
    delta: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply to one request: what the wire needs to write it."""

    reply: Reply
    body: Mapping[str, Any]
    number: int

    @property
    def model(self) -> str:
        """The model that the request named."""
        return str(self.body.get("model", "scripted"))

    def id(self, prefix: str, part: int = 0) -> str:
        """A name that is unique on the server and the same in every run."""
        return f"{prefix}{self.number:04}{part:02}"

    def calls(self, prefix: str) -> Iterator[tuple[str, Call]]:
        """The tool calls with their ids."""
        for n, call in enumerate(self.reply.tool_calls, 1):
            yield call.id or self.id(prefix, n), call


class Wire(RequestDecoder):
    """One protocol over HTTP: reads a request's conversation, writes answers and errors.

    Attributes:
        path: requests are posted to it.
        content_type: of a streamed answer.
        statuses: HTTP status of the failures that have the provider's own.
    """

    path: ClassVar[str]
    content_type: ClassVar[str] = "text/event-stream"
    statuses: ClassVar[Mapping[str, int]] = {"overflow": 400, "quota": 429}

    def status(self, fail: Fail) -> int:
        """The HTTP status of an error answer; ``overflow`` and ``quota`` have the provider's own."""
        return self.statuses.get(fail.type or "", fail.status)

    @abstractmethod
    def whole(self, answer: Answer) -> dict[str, Any]:
        """The answer as one JSON object."""

    @abstractmethod
    def events(self, answer: Answer) -> Iterable[WireEvent]:
        """The answer as a stream, its end marker included."""

    @abstractmethod
    def error(self, fail: Fail) -> dict[str, Any]:
        """The body of an error answer."""

    @abstractmethod
    def error_events(self, fail: Fail, answer: Answer) -> Iterable[WireEvent]:
        """The events that end a stream with an error."""


def sse(data: Any, event: str = "", *, delta: bool = False) -> WireEvent:
    """A server-sent event with JSON data (a string is sent as it is)."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    name = f"event: {event}\n" if event else ""
    return WireEvent(f"{name}data: {text}\n\n".encode(), delta)


def line(data: Any, *, delta: bool = False) -> WireEvent:
    """One line of a stream in lines of JSON."""
    return WireEvent(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n", delta)


ERROR: dict[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "permission_denied"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


def openai_error(fail: Fail) -> dict[str, Any]:
    """The ``error`` object of both OpenAI wires; a given type is also the code."""
    default = ("server_error" if fail.status >= 500 else "invalid_request_error", None)
    kind, code = (fail.type, fail.type) if fail.type else ERROR.get(fail.status, default)
    message = fail.message
    if kind == "overflow":
        kind, code = "invalid_request_error", "context_length_exceeded"
        message = (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
        )
    elif kind == "quota":
        kind = code = "insufficient_quota"
        message = "You exceeded your current quota, please check your plan and billing details."
    return {"message": message, "type": kind, "param": None, "code": code}
