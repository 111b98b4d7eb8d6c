"""Messages between the two processes: JSON behind its length, over one socket pair.

The host asks, the worker answers. A message of the host begins a request (``do``), aborts one (``abort``) or answers a question
of the worker (``ask`` with ``value`` or ``error``). A message of the worker belongs to the request with the same ``id``: a piece
of the answer (``item``), a question (``ask`` with ``what`` and ``body``), or the end (``value`` or ``error``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, TypeAlias

__all__ = ["LARGEST", "Frames", "Message", "encoded"]

Message: TypeAlias = dict[str, Any]
LARGEST = 1 << 26
"""Bytes of one message at most."""
_HEAD = struct.Struct("!I")
_write = json.JSONEncoder(separators=(",", ":")).encode


def encoded(message: Message) -> bytes:
    """Return a message as it travels.

    Raises:
        ValueError: it is too large.
        TypeError: it is no JSON.
    """
    body = _write(message).encode("ascii")
    if len(body) > LARGEST:
        raise ValueError(f"a message of {len(body)} bytes is larger than {LARGEST}")
    return _HEAD.pack(len(body)) + body


class Frames:
    """Makes messages of the bytes that arrive.

    Attributes:
        size: bytes of the message that came last.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self.size = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes, and yield the messages that they complete.

        Raises:
            ValueError: it is no message, or too large.
        """
        self._bytes += data
        while len(self._bytes) >= _HEAD.size:
            (size,) = _HEAD.unpack_from(self._bytes)
            if size > LARGEST:
                raise ValueError(f"a message of {size} bytes is larger than {LARGEST}")
            end = _HEAD.size + size
            if len(self._bytes) < end:
                break
            message = json.loads(self._bytes[_HEAD.size : end])
            if not isinstance(message, dict):
                raise ValueError("a message is no JSON object")
            del self._bytes[:end]
            self.size = end
            yield message
