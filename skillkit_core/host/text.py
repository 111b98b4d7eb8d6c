"""Text that leaves the host: limited in length, and without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from ..messages import AgentMessage, TextBlock

M = TypeVar("M", bound=AgentMessage)

# The names of headers with credentials end so.
_CREDENTIALS = ("authorization", "api-key", "cookie", "-token", "-secret")


def limit_text(text: str, room: int) -> str:
    """Return ``text`` in at most about ``room`` characters. A line takes the place of the middle and says how long that was."""
    if len(text) <= room:
        return text
    half = max(0, room - 60) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[len(text) - half :]}"


def without_secrets(message: M, redact: Callable[[str], str]) -> M:
    """Return ``message`` with ``redact(text)`` for its texts, or ``message`` itself where that changes nothing."""
    if all(type(b) is not TextBlock or redact(b.text) == b.text for b in message.content):
        return message
    content = tuple(replace(b, text=redact(b.text)) if type(b) is TextBlock else b for b in message.content)
    return replace(message, content=content)


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return ``headers`` with ``***`` for the values of headers that hold credentials, such as ``X-API-Key``."""
    return {name: "***" if name.lower().endswith(_CREDENTIALS) else value for name, value in headers.items()}
