"""Why a request failed: from HTTP status, the provider's error type and its error code, never by searching a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skillkit_transport import Origin, advice, body_in_words, classify_status, decode, parse_retry_after

from skillkit_core.errors import ErrorKind, ProviderError

__all__ = ["error_of_answer", "error_of_body", "error_of_exception"]

# https://platform.claude.com/docs/en/api/errors
_TYPES = {
    "invalid_request_error": ErrorKind.invalid_request,
    "authentication_error": ErrorKind.auth,
    "billing_error": ErrorKind.quota,
    "insufficient_balance_error": ErrorKind.quota,  # MiniMax
    "permission_error": ErrorKind.permission,
    "not_found_error": ErrorKind.not_found,
    "request_too_large": ErrorKind.overflow,
    "rate_limit_error": ErrorKind.rate_limit,
    "timeout_error": ErrorKind.timeout,
    "api_error": ErrorKind.server,
    "overloaded_error": ErrorKind.overloaded,
    "conflict_error": ErrorKind.server,
}
# ``error.details.error_code``: a stable word for the cause, more exact than the type.
_CODES = {
    "contract_spend_limit_reached": ErrorKind.quota,
    "enforced_spend_limit_reached": ErrorKind.quota,
    "linked_organization_spend_limit_reached": ErrorKind.quota,
    "linked_organization_billing_unavailable": ErrorKind.quota,
    "organization_on_hold": ErrorKind.permission,
    "ramp_limit_exceeded": ErrorKind.rate_limit,
    "request_body_too_large_after_decoding": ErrorKind.overflow,
}
# The one exception from "never by text". An input beyond the model's window is a plain ``invalid_request_error`` with
# status 400: no type, code or field of its own (the details that the SDK knows, `anthropic.types.shared.error_details`,
# have none either). Only this type and status are looked at, and only the fixed beginning of the sentence, so that
# neither a rate limit that speaks of tokens nor a text quoted inside another error is taken for it.
_OVERFLOW_PREFIXES = ("prompt is too long", "input length and `max_tokens` exceed context limit")
_EXACT = frozenset({402, 413, 429, 503, 504, 529})  # whatever a compatible server writes into the body
_GENERIC = frozenset({"invalid_request_error", "bad_request_error", "invalid_request"})
_LONGEST = 2_000


def error_of_body(body: Any, *, status: int, headers: Mapping[str, str] | None = None) -> ProviderError:
    """The error that a body ``{"type": "error", "error": {"type", "message", "details"}}`` reports.

    ``status`` is 200 for an error event in mid-stream. Anything else in ``body`` leaves the status to decide.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {}
    kind_name, details = fields.get("type"), fields.get("details")
    kind_name = kind_name if isinstance(kind_name, str) else None
    code = details.get("error_code") if isinstance(details, Mapping) else None
    outer = body.get("message") or body.get("detail") if isinstance(body, Mapping) else body
    said = (t for t in (fields.get("message"), error, outer) if isinstance(t, str) and t.strip())
    message = next(said, f"the server answered with status {status}")
    kind = _kind(status, kind_name, code if isinstance(code, str) else None, message)
    retry_after = parse_retry_after(headers) if headers is not None else None
    return ProviderError(
        message if len(message) <= _LONGEST else message[:_LONGEST] + "...",
        kind=kind,
        status=status,
        type=kind_name,
        retry_after=retry_after,
        hint=advice(kind, retry_after),
    )


def error_of_answer(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    origin: Origin,
    *,
    too_long: Callable[[], bool] = lambda: False,
) -> ProviderError:
    """The error of an answer with another status than 2xx.

    ``too_long`` is asked where a server gives no reason but words: whether the request is probably longer than the window.
    """
    if 300 <= status < 400:
        return origin.redirected(status, headers)
    try:
        body = decode(content)
    except ValueError:
        body = None
    found = error_of_body(body, status=status, headers=headers)
    if body is None:
        what = body_in_words(next((v for k, v in headers.items() if k.lower() == "content-type"), ""), content)
        found = _renamed(found, f"the server answered with status {status} and {what}")
    unexplained = found.kind is ErrorKind.invalid_request and (found.type is None or found.type in _GENERIC)
    if status == 400 and unexplained and too_long():
        found.kind, found.hint = ErrorKind.overflow, advice(ErrorKind.overflow)
    if status in (404, 405):
        missing = isinstance(body, Mapping) and isinstance(body.get("error"), (Mapping, str))
        hint = origin.path_hint()
        found.hint = f"check the name of the model, and {hint.removeprefix('check ')}" if missing else hint
    elif status == 407:
        found.hint = "write user and password into the proxy's URL: http://user:password@host:port"
    elif status == 413:
        found.hint = "send less: shorten the conversation, or leave out images and documents"
    elif status == 403 and body is None:
        found.hint = f"a proxy or firewall before the server refuses the request: {origin.path_hint()}"
    return found


def _renamed(error: ProviderError, message: str) -> ProviderError:
    error.message, error.args = message, (message,)
    return error


def _kind(status: int, kind_name: str | None, code: str | None, message: str) -> ErrorKind:
    if code in _CODES:
        return _CODES[code]
    if kind_name == "invalid_request_error" and status in (200, 400) and message.startswith(_OVERFLOW_PREFIXES):
        return ErrorKind.overflow
    by_type = _TYPES.get(kind_name or "")
    if status in _EXACT and by_type is not ErrorKind.quota:
        return classify_status(status)
    if by_type is not None:
        return by_type
    return ErrorKind.server if status == 200 else classify_status(status)


def error_of_exception(
    error: Exception, origin: Origin, *, too_long: Callable[[], bool] = lambda: False
) -> ProviderError:
    """The SDK's or the transport's exception as a :class:`ProviderError`; the cause is kept."""
    if isinstance(error, ProviderError):
        return error
    found = _of_exception(error, origin, too_long)
    if found is not error.__cause__:
        found.__cause__ = error
    return found


def _of_exception(error: Exception, origin: Origin, too_long: Callable[[], bool]) -> ProviderError:
    import aiohttp
    import anthropic
    import httpx2
    from skillkit_transport import plain_cause

    if isinstance(error, anthropic.APIStatusError):
        answer = error.response
        return error_of_answer(error.status_code, dict(answer.headers), _content(answer), origin, too_long=too_long)
    if isinstance(error, anthropic.CredentialsError):
        return ProviderError(str(error), kind=ErrorKind.auth)
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) and error.__cause__ else error
    if isinstance(cause, ProviderError):  # our part of the transport refused
        return cause
    refused = next((e.status for e in (cause, cause.__cause__) if isinstance(e, aiohttp.ClientHttpProxyError)), None)
    if isinstance(cause, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        hint = "check base_url, and the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
        return ProviderError(f"no request can go there: {cause}", kind=ErrorKind.invalid_request, hint=hint)
    if isinstance(cause, (httpx2.TransportError, anthropic.APIConnectionError, aiohttp.ClientError, OSError)):
        return origin.lost(plain_cause(cause), proxy_status=refused)
    if isinstance(cause, httpx2.DecodingError):
        return ProviderError(f"the answer cannot be decoded: {cause}", kind=ErrorKind.protocol, hint="try again")
    if isinstance(cause, ValueError):
        hint = "check the headers of the configuration and of the request"
        return ProviderError(
            f"the request cannot be sent: {str(cause).rstrip('.')}", kind=ErrorKind.invalid_request, hint=hint
        )
    return ProviderError(f"{type(cause).__name__}: {cause}")


def _content(answer: Any) -> bytes:
    """The body of an answer; empty where it was not read."""
    try:
        content: bytes = answer.content
        return content
    except RuntimeError:
        return b""
