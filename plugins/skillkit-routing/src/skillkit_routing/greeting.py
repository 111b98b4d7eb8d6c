"""Greetings, which need no skill and no model to choose one."""

from __future__ import annotations

import re

__all__ = ["is_greeting"]

_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|hiya|howdy|greetings|good\s+(?:morning|afternoon|evening))(?:\s+(?:there|again))?[\s!.]*\Z",
    re.I,
)


def is_greeting(query: str) -> bool:
    """Return whether a request is a greeting and nothing else: ``Hi there!``, not ``hey summarize this``."""
    return _GREETING.match(query) is not None
