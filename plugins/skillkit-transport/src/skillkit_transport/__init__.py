"""What providers share: a base for adapters over HTTP, failures in words, and official SDKs as a fast transport.

Names are imported when they are first used (PEP 562); the SDK, httpx2 and aiohttp come with the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapter import HTTPAdapter as HTTPAdapter
    from .answer import AnswerWriter as AnswerWriter, value_at as value_at
    from .body import Body as Body
    from .history import PlainMessage as PlainMessage, open_calls as open_calls, plain_history as plain_history
    from .http import (
        MOST_BYTES as MOST_BYTES,
        Interrupted as Interrupted,
        LineDecoder as LineDecoder,
        Origin as Origin,
        SSEDecoder as SSEDecoder,
        Watch as Watch,
        advice as advice,
        body_in_words as body_in_words,
        classify_status as classify_status,
        exceeds_window as exceeds_window,
        parse_retry_after as parse_retry_after,
        require_url as require_url,
        too_long as too_long,
    )
    from .jsontext import clean_text as clean_text, decode as decode, dumps as dumps, encode as encode
    from .sockets import plain_cause as plain_cause
    from .transport import SDKTransport as SDKTransport

__all__ = [
    "MOST_BYTES", "AnswerWriter", "Body", "HTTPAdapter", "Interrupted", "LineDecoder", "Origin", "PlainMessage",
    "SDKTransport", "SSEDecoder", "Watch", "advice", "body_in_words", "classify_status", "clean_text", "decode", "dumps",
    "encode", "exceeds_window", "open_calls", "parse_retry_after", "plain_cause", "plain_history",
    "require_url", "too_long", "value_at",
]  # fmt: skip

_HOMES = {
    "HTTPAdapter": "adapter",
    **dict.fromkeys(("AnswerWriter", "value_at"), "answer"),
    **dict.fromkeys(("PlainMessage", "open_calls", "plain_history"), "history"),
    "Body": "body",
    "SDKTransport": "transport",
    "plain_cause": "sockets",
    **dict.fromkeys(("clean_text", "decode", "dumps", "encode"), "jsontext"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_HOMES.get(name, 'http')}", __name__), name)
    return value
