"""Why a request failed: from HTTP status, the provider's error type and its error code, never by searching a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.http import classify_status, parse_retry_after

__all__ = ["error_of_body", "error_of_exception"]

# https://platform.claude.com/docs/en/api/errors
_TYPES = {
    "invalid_request_error": ErrorKind.invalid_request,
    "authentication_error": ErrorKind.auth,
    "billing_error": ErrorKind.quota,
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
_HINTS = {
    ErrorKind.auth: "set ANTHROPIC_API_KEY or pass api_key",
    ErrorKind.not_found: "check the model name and base_url",
    ErrorKind.overflow: "shorten the conversation or compact it",
}
_LONGEST = 600


def error_of_body(
    body: Any,
    *,
    status: int,
    headers: Mapping[str, str] | None = None,
    provider: str | None = None,
    hints: Mapping[ErrorKind, str] = _HINTS,
) -> ProviderError:
    """The error that a body ``{"type": "error", "error": {"type", "message", "details"}}`` reports.

    ``status`` is 200 for an error event in mid-stream. Anything else in ``body`` (an HTML page of a proxy) leaves the
    status to decide.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {}
    kind_name, details = fields.get("type"), fields.get("details")
    kind_name = kind_name if isinstance(kind_name, str) else None
    code = details.get("error_code") if isinstance(details, Mapping) else None
    outer = body.get("message") if isinstance(body, Mapping) else body
    said = (t for t in (fields.get("message"), error, outer) if isinstance(t, str) and t.strip())
    message = next(said, f"the server answered with status {status}")
    kind = _kind(status, kind_name, code if isinstance(code, str) else None, message)
    return ProviderError(
        message if len(message) <= _LONGEST else message[:_LONGEST] + "...",
        kind=kind,
        status=status,
        type=kind_name,
        retry_after=parse_retry_after(headers) if headers is not None else None,
        provider=provider,
        hint=hints.get(kind),
    )


def _kind(status: int, kind_name: str | None, code: str | None, message: str) -> ErrorKind:
    if code in _CODES:
        return _CODES[code]
    if kind_name == "invalid_request_error" and status in (200, 400) and message.startswith(_OVERFLOW_PREFIXES):
        return ErrorKind.overflow
    if status in (402, 413, 429, 503, 504, 529):  # exact whatever a compatible server writes in the body
        return classify_status(status)
    if kind_name in _TYPES:
        return _TYPES[kind_name]
    return ErrorKind.server if status == 200 else classify_status(status)


def error_of_exception(error: Exception, provider: str | None = None, secret: str | None = None) -> ProviderError:
    """The SDK's or the transport's exception as a :class:`ProviderError`; the cause is kept.

    ``secret`` is taken out of the message should the server have echoed it.
    """
    if isinstance(error, ProviderError):
        return error
    found = _of_exception(error, provider)
    if secret and secret in found.message:
        found.message = found.message.replace(secret, "***")
        found.args = (found.message,)
    found.__cause__ = error
    return found


def _of_exception(error: Exception, provider: str | None) -> ProviderError:
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        body = error.body
        return error_of_body(body, status=error.status_code, headers=dict(error.response.headers), provider=provider)
    if isinstance(error.__cause__ or error, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        text = str(error.__cause__ or error)
        return ProviderError(f"base_url cannot be used: {text}", kind=ErrorKind.invalid_request, provider=provider)
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException, TimeoutError)):
        cause = error.__cause__ or error
        return ProviderError(
            f"the server did not answer in time ({type(cause).__name__})", kind=ErrorKind.timeout, provider=provider
        )
    if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError, OSError)):
        cause = error.__cause__ or error
        text = str(cause) or type(cause).__name__
        return ProviderError(
            f"the connection failed: {text}",
            kind=ErrorKind.connection,
            provider=provider,
            hint="check the network, the proxy and base_url",
        )
    if isinstance(error, httpx2.DecodingError):
        return ProviderError(f"the answer cannot be decoded: {error}", kind=ErrorKind.protocol, provider=provider)
    if isinstance(error, anthropic.CredentialsError):
        return ProviderError(str(error), kind=ErrorKind.auth, provider=provider, hint=_HINTS[ErrorKind.auth])
    return ProviderError(f"{type(error).__name__}: {error}", provider=provider)
