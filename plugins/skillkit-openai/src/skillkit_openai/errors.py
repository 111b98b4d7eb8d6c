"""Failures of OpenAI's wires, classified by status and by the provider's error type or code, never by text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.http import classify_status, parse_retry_after

__all__ = ["status_error", "stream_error"]

# Codes and types: https://platform.openai.com/docs/guides/error-codes, and the error bodies of the compatible servers
# (llama.cpp ``exceed_context_size_error``, GitHub Models ``tokens_limit_reached``, Azure ``content_filter``, ...).
_BY_CODE: dict[str, ErrorKind] = {
    **dict.fromkeys(
        (
            "context_length_exceeded",
            "context_window_exceeded",
            "exceed_context_size_error",
            "model_max_prompt_tokens_exceeded",
            "prompt_too_long",
            "request_too_large",
            "tokens_limit_reached",
        ),
        ErrorKind.overflow,
    ),
    **dict.fromkeys(
        (
            "access_terminated",
            "billing_hard_limit_reached",
            "billing_not_active",
            "exceeded_current_quota_error",
            "insufficient_balance",
            "insufficient_credits",
            "insufficient_quota",
            "payment_required",
        ),
        ErrorKind.quota,
    ),
    **dict.fromkeys(
        ("rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "requests", "tokens", "slow_down"),
        ErrorKind.rate_limit,
    ),
    **dict.fromkeys(
        ("authentication_error", "incorrect_api_key_error", "invalid_api_key", "invalid_authentication_error"),
        ErrorKind.auth,
    ),
    **dict.fromkeys(("permission_denied", "permission_error"), ErrorKind.permission),
    **dict.fromkeys(("model_not_found", "not_found_error", "resource_not_found_error"), ErrorKind.not_found),
    **dict.fromkeys(
        ("content_filter", "content_policy_violation", "moderation_blocked", "responsible_ai_policy_violation"),
        ErrorKind.content_filter,
    ),
    **dict.fromkeys(
        ("engine_overloaded_error", "overloaded", "overloaded_error", "server_overloaded", "service_unavailable"),
        ErrorKind.overloaded,
    ),
    **dict.fromkeys(("api_error", "internal_error", "internal_server_error", "server_error"), ErrorKind.server),
    **dict.fromkeys(("request_timeout", "timeout", "timeout_error"), ErrorKind.timeout),
}
_WEAK = {"invalid_request_error": ErrorKind.invalid_request, "invalid_value": ErrorKind.invalid_request}


def _facts(body: Any) -> dict[str, Any]:
    """``message``, ``type``, ``code`` and ``param`` of an error body in any of the shapes that servers use."""
    if isinstance(body, list) and body:  # Google's compatible endpoint
        body = body[0]
    if not isinstance(body, Mapping):
        return {"message": body if isinstance(body, str) else ""}
    inner = body.get("error")
    if isinstance(inner, Mapping):
        body = inner
    facts = {name: body.get(name) for name in ("message", "type", "code", "param")}
    if not facts["message"]:
        other = inner if isinstance(inner, str) else body.get("detail")
        facts["message"] = other if isinstance(other, str) else ""
    return facts


def _classify(facts: Mapping[str, Any], status: int | None) -> ErrorKind:
    kind, code = facts.get("type"), facts.get("code")
    if kind == "BadRequestError" and facts.get("param") in ("input_text", "input_tokens"):
        return ErrorKind.overflow  # vLLM
    for name in (code, kind):
        found = _BY_CODE.get(name.lower()) if isinstance(name, str) else None
        if found is ErrorKind.server and status is not None and status >= 400:
            return classify_status(status)  # "server_error" with 503 is an overload, "api_error" with 401 a wrong key
        if found is not None:
            return found
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if (status is None or status < 400) and isinstance(code, int) and 400 <= code < 600:
        status = code
    if status is not None and status >= 400:
        return classify_status(status)
    for name in (code, kind):
        if isinstance(name, str) and name in _WEAK:
            return _WEAK[name]
    return ErrorKind.server


def _hint(kind: ErrorKind, key_hint: str | None) -> str | None:
    if kind is ErrorKind.auth:
        return key_hint
    if kind is ErrorKind.overflow:
        return "shorten the conversation, or use a model with a larger context window"
    return None


def status_error(
    status: int,
    headers: Mapping[str, str],
    body: Any,
    *,
    provider: str,
    secret: str = "",
    key_hint: str | None = None,
) -> ProviderError:
    """The error of an answer with an HTTP error status; ``secret`` is cut out of the provider's words."""
    facts = _facts(body)
    kind = _classify(facts, status)
    name = facts.get("code") or facts.get("type")
    return ProviderError(
        _redact(str(facts.get("message") or ""), secret) or f"HTTP status {status}",
        kind=kind,
        status=status,
        type=None if name is None else str(name),
        retry_after=parse_retry_after(headers),
        provider=provider,
        hint=_hint(kind, key_hint),
    )


def stream_error(body: Any, *, provider: str = "") -> ProviderError:
    """The error that a server put into a body with status 200: an error chunk, event or object."""
    facts = _facts(body)
    kind = _classify(facts, None)
    name = facts.get("code") or facts.get("type")
    return ProviderError(
        str(facts.get("message") or "") or "the server reported an error without a message",
        kind=kind,
        status=200,
        type=None if name is None else str(name),
        provider=provider or None,
        hint=_hint(kind, None),
    )


def _redact(text: str, secret: str) -> str:
    return text.replace(secret, "***") if len(secret) >= 8 else text
