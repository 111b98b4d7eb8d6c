"""HTTP for providers: why a request failed, server-sent events, and waits that end. Needs nothing but the core."""

from .failures import (
    Origin,
    advice,
    body_in_words,
    classify_status,
    connection_failure,
    duration,
    exceeds_window,
    host_of,
    parse_retry_after,
    require_url,
    shown,
)
from .sse import MOST_BYTES, LineDecoder, SSEDecoder, too_long
from .watch import Interrupted, Watch

__all__ = [
    "MOST_BYTES",
    "Interrupted",
    "LineDecoder",
    "Origin",
    "SSEDecoder",
    "Watch",
    "advice",
    "body_in_words",
    "classify_status",
    "connection_failure",
    "duration",
    "exceeds_window",
    "host_of",
    "parse_retry_after",
    "require_url",
    "shown",
    "too_long",
]
