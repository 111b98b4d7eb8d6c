"""Text from the outside: made legal, and short enough."""

from __future__ import annotations

__all__ = ["clean", "limit_text"]


def clean(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD; legal text comes back as it is."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def limit_text(text: str, room: int) -> str:
    """``text`` in at most about ``room`` characters; the middle is left out, with a note that says how much."""
    if len(text) <= room:
        return text
    half = max(0, room - 60) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[len(text) - half :]}"
