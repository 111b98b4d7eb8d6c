"""Failures of OpenAI's wires: classified by status and by the provider's error type or code, never by text.

Overflow is the one kind that many servers have no field for. Where a server answers 400 and gives no reason but words, the
length of the request decides (see :func:`skillkit_transport.http.exceeds_window`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from skillkit_transport import Origin, advice, body_in_words, classify_status, decode, dumps, encode, parse_retry_after

from skillkit_core.errors import ErrorKind, ProviderError

from .error_codes import BY_CODE, GENERIC, MINIMAX, NO_SUCH_MODEL, NO_SUCH_PATH

__all__ = ["minimax_error", "protocol_error", "reports_error", "status_error", "stream_error"]

_MOST_WORDS = 2_000
_ERRORS = ("error", "errors", "detail")
_CODES = frozenset({"code", "error_code", "status", "status_code"})
_MESSAGES = ("msg", "error_msg", "error_message", "error_description")


class _Facts:
    """What an error body says, in any of the shapes that servers use."""

    __slots__ = ("body", "message", "names", "said")

    def __init__(self, body: Any) -> None:
        if isinstance(body, list) and body:  # Google's compatible endpoint
            body = body[0]
        self.said = body
        outer = body if isinstance(body, Mapping) else {}
        inner = _inner(outer)
        self.body: Mapping[str, Any] = inner if isinstance(inner, Mapping) else outer
        message = self.body.get("message")
        if isinstance(message, Mapping):  # Mistral's 422
            message = _details(message.get("detail"))
        words = [message, inner, _details(outer.get("detail")), *map(self.body.get, _MESSAGES), body]
        self.message = next((w for w in words if isinstance(w, str) and w.strip()), "")
        found = [self.body.get(name) for name in ("code", "type", "error_type", "error_code", "status")]
        metadata = self.body.get("metadata")
        found += [metadata.get("error_type") if isinstance(metadata, Mapping) else None, outer.get("error_type")]
        reasons = self.body.get("details")
        if isinstance(reasons, list):  # google.rpc.ErrorInfo
            found += [d.get("reason") for d in reasons if isinstance(d, Mapping)]
        self.names = [n for n in found if isinstance(n, str) or (isinstance(n, int) and not isinstance(n, bool))]

    @property
    def name(self) -> str | None:
        """The code, or else the type, as the server wrote it."""
        name = self.body.get("code") or self.body.get("type")
        return str(name) if isinstance(name, (str, int)) and name else None

    def words(self) -> Iterator[str]:
        """The names that are words, in lower case."""
        return (n.lower() for n in self.names if isinstance(n, str) and not n.isdigit())

    def number(self, name: str) -> int | None:
        """The number in field ``name``."""
        value = self.body.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def upstream(self) -> _Facts | None:
        """The error of the provider behind a router (OpenRouter's ``metadata.raw``)."""
        metadata = self.body.get("metadata")
        raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
        if isinstance(raw, str):
            try:
                raw = decode(raw.encode(errors="replace"))
            except ValueError:
                pass
        return _Facts(raw) if isinstance(raw, (str, Mapping)) and raw else None


def _inner(body: Mapping[str, Any]) -> Any:
    """The error in a body: of OpenAI, in a list (Cloudflare, watsonx, Hugging Face), or in FastAPI's ``detail``."""
    for name in _ERRORS:
        value = body.get(name)
        if isinstance(value, list) and name != "detail":
            value = next(iter(value), None)
        if isinstance(value, Mapping):
            return value.get("error") if name == "detail" and value.get("error") else value
        if isinstance(value, str) and name != "detail" and value:
            return value
    return None


def _details(detail: Any) -> str:
    """FastAPI's ``detail``: a text, or a list of what is wrong where."""
    if isinstance(detail, str):
        return detail
    if not isinstance(detail, list):
        return ""
    wrong = [d for d in detail if isinstance(d, Mapping) and isinstance(d.get("msg"), str)]
    return "; ".join(": ".join(filter(None, (".".join(map(str, d.get("loc") or ())), d["msg"]))) for d in wrong)


def _classify(facts: _Facts, status: int | None) -> ErrorKind:
    exact = _structured(facts)
    if exact is not None:
        return exact
    for name in facts.words():
        found = BY_CODE.get(name)
        if found is ErrorKind.server and status is not None and status >= 400:
            return classify_status(status)  # "server_error" with 503 is an overload, "api_error" with 401 a wrong key
        if found is not None:
            return found
    upstream = facts.upstream()
    if upstream is not None:
        inner = _structured(upstream) or next((BY_CODE[n] for n in upstream.words() if n in BY_CODE), None)
        if inner is not None and inner is not ErrorKind.server:
            return inner
    if status is None or status < 400:
        codes = (int(n) for n in facts.names if isinstance(n, int) or n.isdecimal())
        status = next((c for c in codes if 400 <= c < 600), None)
    if status is not None and status >= 400:
        return classify_status(status)
    wrong = any(n in GENERIC or n.startswith(("invalid", "unsupported")) for n in facts.words())
    return ErrorKind.invalid_request if wrong else ErrorKind.server


def _structured(facts: _Facts) -> ErrorKind | None:
    """What fields other than codes say: vLLM's parameter, llama.cpp's token counts, OpenRouter's moderation."""
    body = facts.body
    if body.get("type") == "BadRequestError" and body.get("param") in ("input_text", "input_tokens"):
        return ErrorKind.overflow
    used, window = facts.number("n_prompt_tokens"), facts.number("n_ctx")
    if used is not None and window is not None and used >= window > 0:
        return ErrorKind.overflow
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping) and "flagged_input" in metadata:
        return ErrorKind.content_filter
    return None


def _unexplained(facts: _Facts) -> bool:
    """Whether a refusal gives no reason in any field: it may then be about the length of the request."""
    about = facts.body.get("param")
    upstream = facts.upstream()
    said = [*facts.words(), *(upstream.words() if upstream is not None else ())]
    return about in (None, "", "messages", "input", "prompt", "max_tokens") and all(
        n in GENERIC or n == "bad request" or n == "error" for n in said
    )


def _retry_after(facts: _Facts, headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: the headers, Google's ``RetryInfo``, OpenRouter's time of the next window."""
    found = parse_retry_after(headers)
    if found is not None:
        return found
    details = facts.body.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,9}(\.\d+)?s", delay):
            return float(delay[:-1])
    metadata = facts.body.get("metadata")
    inner = metadata.get("headers") if isinstance(metadata, Mapping) else None
    reset = inner.get("X-RateLimit-Reset") if isinstance(inner, Mapping) else None
    if isinstance(reset, (str, int)) and str(reset).isdecimal() and len(str(reset)) == 13:  # milliseconds since 1970
        return max(0.0, int(reset) / 1000 - time.time())
    return None


def status_error(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    origin: Origin,
    *,
    too_long: Callable[[], bool] = lambda: False,
) -> ProviderError:
    """The error of an answer with another status than 2xx.

    ``too_long`` is asked where the server gives no reason: whether the request is probably longer than the window.
    """
    if 300 <= status < 400:
        return origin.redirected(status, headers)
    try:
        body = decode(content)
    except ValueError:
        body = None
    facts = _Facts(body)
    kind = _classify(facts, status)
    if kind is ErrorKind.invalid_request and status in (400, 422) and _unexplained(facts) and too_long():
        kind = ErrorKind.overflow
    message = facts.message or f"the server answered with status {status}"
    if body is None:
        what = body_in_words(next((v for k, v in headers.items() if k.lower() == "content-type"), ""), content)
        message = f"the server answered with status {status} and {what}"
    elif not facts.message and body:
        message = f"the server answered with status {status}: {dumps(body)}"
    retry_after = _retry_after(facts, headers)
    return ProviderError(
        _shortened(message),
        kind=kind,
        status=status,
        type=facts.name,
        retry_after=retry_after,
        hint=_hint(kind, facts, status, retry_after, origin, foreign=body is None),
    )


def _hint(
    kind: ErrorKind, facts: _Facts, status: int, retry_after: float | None, origin: Origin, *, foreign: bool
) -> str | None:
    if status in (404, 405):
        return _missing(facts, origin, foreign=foreign)
    if status == 407:
        return "write user and password into the proxy's URL: http://user:password@host:port"
    if foreign and status == 403:
        return f"a proxy or firewall before the server refuses the request: {origin.path_hint()}"
    if status == 413:
        return "send less: shorten the conversation, or leave out images and documents"
    usual = advice(kind, retry_after)
    upstream = facts.upstream()
    if upstream is not None and upstream.message and upstream.message != facts.message:
        metadata = facts.body["metadata"]
        name = metadata.get("provider_name") or "the provider behind it"
        said = f"{name} says: {_shortened(upstream.message)}"
        return f"{said}; {usual}" if usual else said
    return usual


def _missing(facts: _Facts, origin: Origin, *, foreign: bool) -> str:
    """Whether the path or the model is not there; without a code it may be either."""
    words = set(facts.words())
    if words & NO_SUCH_MODEL:
        return "check the name of the model"
    if foreign or words & NO_SUCH_PATH or not isinstance(facts.said, Mapping) or "error" not in facts.said:
        return origin.path_hint()
    return f"check the name of the model, and {origin.path_hint().removeprefix('check ')}"


def reports_error(payload: Mapping[str, Any]) -> bool:
    """Whether an event that no wire has is the body of an HTTP error, which some servers send in mid-stream as it is."""
    if "error" in (payload.get("type"), payload.get("object")) or any(payload.get(n) for n in _ERRORS):
        return True
    return isinstance(payload.get("message"), str) and not _CODES.isdisjoint(payload)


def stream_error(body: Any) -> ProviderError:
    """The error that a server put into a body with status 200: an error chunk, event or object."""
    facts = _Facts(body)
    kind = _classify(facts, None)
    return ProviderError(
        _shortened(facts.message) or "the server reported an error without a message",
        kind=kind,
        status=200,
        type=facts.name,
        retry_after=_retry_after(facts, {}),
        hint=advice(kind),
    )


def protocol_error(message: str, said: Any = None) -> ProviderError:
    """The error for an answer that is none, or that ends without its end; ``said`` is what came instead, if that may help."""
    if said:
        message = f"{message}: {_shortened(encode(said).decode(), 200)}"
    return ProviderError(
        message, kind=ErrorKind.protocol, status=200, hint="try again; if it stays, check base_url and api"
    )


def minimax_error(reply: Any) -> ProviderError | None:
    """The error in MiniMax's ``base_resp``, which comes instead of choices; ``None``: it reports none."""
    code = reply.get("status_code") if isinstance(reply, Mapping) else None
    if not isinstance(code, int) or not code:
        return None
    kind = MINIMAX.get(code, ErrorKind.server)
    message = reply.get("status_msg")
    said = message if isinstance(message, str) and message else f"the server reported error {code}"
    return ProviderError(_shortened(said), kind=kind, status=200, type=str(code), hint=advice(kind))


def _shortened(text: str, most: int = _MOST_WORDS) -> str:
    return text if len(text) <= most else text[:most] + "..."
