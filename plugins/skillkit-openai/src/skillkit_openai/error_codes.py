"""Which error code or type of a server means which kind of error: data, and the places where servers write them.

Sources: https://platform.openai.com/docs/guides/error-codes, https://openrouter.ai/docs/api/errors,
https://platform.minimax.io/docs/api-reference/errorcode, https://cloud.google.com/apis/design/errors, and the error bodies
of the compatible servers (llama.cpp ``exceed_context_size_error``, GitHub Models ``tokens_limit_reached``, ...).
"""

from __future__ import annotations

from collections.abc import Mapping

from skillkit_core.errors import ErrorKind

__all__ = ["BY_CODE", "GENERIC", "MINIMAX", "NO_SUCH_MODEL", "NO_SUCH_PATH"]

_NAMES: Mapping[ErrorKind, tuple[str, ...]] = {
    ErrorKind.overflow: (
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "payload_too_large",
        "prompt_too_long",
        "request_too_large",
        "tokens_limit_reached",
    ),
    ErrorKind.quota: (
        "access_terminated",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_balance_error",
        "insufficient_credits",
        "insufficient_quota",
        "payment_required",
    ),
    ErrorKind.rate_limit: (
        "rate_limit_error",
        "rate_limit_exceeded",
        "rate_limit_reached_error",
        "ratelimitreached",
        "requests",
        "resource_exhausted",
        "slow_down",
        "tokens",
    ),
    ErrorKind.auth: (
        "api_key_invalid",
        "authentication",
        "authentication_error",
        "incorrect_api_key_error",
        "invalid_api_key",
        "invalid_authentication_error",
        "unauthenticated",
    ),
    ErrorKind.permission: ("permission_denied", "permission_error", "permissiondenied"),
    ErrorKind.not_found: (
        "deploymentnotfound",
        "model_not_found",
        "not_found",
        "not_found_error",
        "resource_not_found_error",
        "unknown_url",
    ),
    ErrorKind.content_filter: (
        "content_filter",
        "content_policy_violation",
        "moderation_blocked",
        "responsible_ai_policy_violation",
        "responsibleaipolicyviolation",
    ),
    ErrorKind.overloaded: (
        "engine_overloaded_error",
        "overloaded",
        "overloaded_error",
        "provider_overloaded",
        "provider_unavailable",
        "server_is_overloaded",
        "server_overloaded",
        "service_unavailable",
        "service_unavailable_error",
        "unavailable",
    ),
    ErrorKind.server: ("api_error", "internal_error", "internal_server_error", "server", "server_error"),
    ErrorKind.timeout: ("deadline_exceeded", "request_timeout", "timeout", "timeout_error"),
}

BY_CODE: Mapping[str, ErrorKind] = {name: kind for kind, names in _NAMES.items() for name in names}
"""Code or type, in lower case, to kind."""

MINIMAX: Mapping[int, ErrorKind] = {
    1000: ErrorKind.server,
    1001: ErrorKind.timeout,
    1002: ErrorKind.rate_limit,
    1004: ErrorKind.auth,
    1008: ErrorKind.quota,
    1013: ErrorKind.server,
    1024: ErrorKind.server,
    1026: ErrorKind.content_filter,
    1027: ErrorKind.content_filter,
    1033: ErrorKind.server,
    1039: ErrorKind.rate_limit,
    1041: ErrorKind.rate_limit,
    2013: ErrorKind.invalid_request,
    2049: ErrorKind.auth,
}
"""``base_resp.status_code`` of MiniMax, which comes with status 200."""

GENERIC = frozenset(
    {
        "bad_request",
        "bad_request_error",
        "badrequesterror",
        "invalid-argument",
        "invalid_argument",
        "invalid_parameter_error",
        "invalid_request",
        "invalid_request_error",
        "invalid_request_invalid_args",
        "invalid_request_prompt",
        "validation",
    }
)
"""Codes and types that say nothing beyond "the request is wrong"."""

NO_SUCH_MODEL = frozenset({"deploymentnotfound", "model_not_found"})
NO_SUCH_PATH = frozenset({"unknown_url"})
