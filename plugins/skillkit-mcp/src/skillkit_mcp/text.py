"""Text of a server, made harmless: no control characters, no characters that nobody sees, no writing turned round."""

from __future__ import annotations

import re

from skillkit_core.messages import clean

__all__ = ["plain", "shortened"]

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\^_])|\x9b[0-?]*[ -/]*[@-~]"
)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """Return ``text`` without escape sequences and without characters that a person would not see."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub("", _ESCAPES.sub("", clean(text).replace("\r\n", "\n")))


def shortened(text: str, most: int) -> str:
    """Return ``text`` made harmless, in at most ``most`` characters."""
    text = plain(text[: 2 * most])
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
