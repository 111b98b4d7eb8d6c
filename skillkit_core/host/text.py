"""Text that leaves the host: limited in length, and without secrets."""

from __future__ import annotations

from collections.abc import Mapping

# The names of headers with credentials end so.
_CREDENTIALS = ("authorization", "api-key", "cookie", "-token", "-secret")


def limit_text(text: str, room: int) -> str:
    """Return ``text`` in at most about ``room`` characters. A line takes the place of the middle and says how long that was."""
    if len(text) <= room:
        return text
    half = max(0, room - 60) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[len(text) - half :]}"


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return ``headers`` with ``***`` for the values of headers that hold credentials, such as ``X-API-Key``."""
    return {name: "***" if name.lower().endswith(_CREDENTIALS) else value for name, value in headers.items()}
