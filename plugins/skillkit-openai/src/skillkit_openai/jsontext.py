"""JSON as it goes over the wire: decoding what servers send, encoding what they accept."""

from __future__ import annotations

import json
from typing import Any

import jiter

__all__ = ["clean_text", "decode", "dumps", "encode"]


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def decode(data: bytes) -> Any:
    """The value in ``data``. Lone surrogates, which the fast decoder refuses, become U+FFFD.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return jiter.from_json(data)
    except ValueError:
        value = json.loads(data)  # accepts escaped lone surrogates
        return json.loads(clean_text(json.dumps(value, ensure_ascii=False)))


def clean_text(text: str) -> str:
    """``text`` that UTF-8 can hold: surrogate pairs are joined, lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dumps(value: Any) -> str:
    """``value`` as compact JSON text in the order of its keys."""
    return _compact(value)


def encode(value: Any) -> bytes:
    """``value`` as compact JSON in UTF-8, in the order of its keys; lone surrogates become U+FFFD.

    Raises:
        ValueError: it holds a ``NaN`` or an infinity, which are not JSON.
    """
    text = dumps(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean_text(text).encode()
