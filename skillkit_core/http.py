"""What every HTTP adapter decides the same way: the class of a status, how long to wait, which headers to hide."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .errors import ErrorKind

__all__ = ["classify_status", "parse_retry_after", "redact_headers"]

_STATUS = {
    400: ErrorKind.invalid_request,
    401: ErrorKind.auth,
    402: ErrorKind.quota,
    403: ErrorKind.permission,
    404: ErrorKind.not_found,
    408: ErrorKind.timeout,
    409: ErrorKind.server,
    413: ErrorKind.overflow,
    422: ErrorKind.invalid_request,
    425: ErrorKind.server,
    429: ErrorKind.rate_limit,
    503: ErrorKind.overloaded,
    504: ErrorKind.timeout,
    529: ErrorKind.overloaded,
}
_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "set-cookie"}
)


def classify_status(status: int) -> ErrorKind:
    """The kind of error that an HTTP status means when the provider's error type says nothing more exact."""
    kind = _STATUS.get(status)
    if kind is not None:
        return kind
    if status >= 500:
        return ErrorKind.server
    return ErrorKind.invalid_request if status >= 400 else ErrorKind.unknown


def parse_retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date); ``None`` when not given.

    ``now`` is the time in seconds since the epoch; default: the clock.
    """
    low = {k.lower(): v for k, v in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = low.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            if unit != 1.0:
                continue
            from email.utils import parsedate_to_datetime

            try:
                when = parsedate_to_datetime(value).timestamp()
            except (ValueError, OverflowError):
                continue
            if now is None:
                import time

                now = time.time()
            seconds = when - now
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """``headers`` with every credential replaced by ``***``."""
    return {k: "***" if k.lower() in _SECRET_HEADERS else v for k, v in headers.items()}
