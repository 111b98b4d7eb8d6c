"""What the conversion of a Chat Completions stream remembers between two chunks: immutable values, cheap to replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

__all__ = ["NOTHING", "Call", "Chain", "ChatState", "Rest", "joined"]

Chain: TypeAlias = Any
"""Fragments, newest first: ``None`` or ``(fragment, older chain)``. Appending is O(1) and changes nothing in place."""


def joined(chain: Chain) -> str:
    """The fragments of a chain as one text, oldest first."""
    parts: list[str] = []
    while chain is not None:
        part, chain = chain
        parts.append(part)
    parts.reverse()
    return "".join(parts)


class Call(NamedTuple):
    """A tool call under way. ``key`` is the wire's index; ``block`` is -1 until the name is known."""

    key: Any
    block: int
    id: str
    name: str
    args: Chain
    extra: Mapping[str, Any]


class Rest(NamedTuple):
    """What changes seldom.

    ``next`` is the index of the next block; ``refusal`` that of the refusal block or -1; ``field`` the name of the field
    in which thinking comes; ``finish`` the finish reason; ``usage`` the newest usage object.
    """

    next: int = 0
    refusal: int = -1
    refused: Chain = None
    calls: tuple[Call, ...] = ()
    field: str = ""
    details: Chain = None
    citations: tuple[Any, ...] = ()
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    response_id: str | None = None
    over: bool = False


NOTHING = Rest()


class ChatState(NamedTuple):
    """The accumulator of :data:`~skillkit_openai.chat_stream.chat_table`; ``ChatState()`` starts a stream.

    ``text_block`` and ``thought_block`` are the indices of the blocks that are open, or -1.
    """

    text_block: int = -1
    text: Chain = None
    thought_block: int = -1
    thought: Chain = None
    rest: Rest = NOTHING
