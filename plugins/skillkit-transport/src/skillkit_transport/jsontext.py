"""JSON as it goes over the wire: decoding what servers send, encoding what they take."""

from __future__ import annotations

import json
import math
from typing import Any

import jiter

__all__ = ["clean_text", "decode", "dumps", "encode"]


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def decode(data: bytes) -> Any:
    """The value in ``data``. What the fast decoder refuses becomes U+FFFD: lone surrogates, and bytes that are no UTF-8.

    Raises:
        ValueError: it is not JSON, or nested more than 200 deep.
    """
    try:
        return jiter.from_json(data)
    except ValueError:
        pass
    try:
        loaded = json.loads(data.decode("utf-8-sig", "replace"))  # accepts escaped lone surrogates
        text = json.dumps(loaded, ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return jiter.from_json(clean_text(text).encode())


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
    """``value`` as compact JSON in UTF-8, in the order of its keys.

    What is no JSON becomes something that is: lone surrogates U+FFFD, ``NaN`` and infinities null. A server may have sent
    them in something that goes back to it.

    Raises:
        ValueError: it holds something that is not JSON.
    """
    try:
        text = dumps(value)
    except TypeError as error:
        raise ValueError(str(error)) from None
    except ValueError:
        text = dumps(_finite(value))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean_text(text).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value
